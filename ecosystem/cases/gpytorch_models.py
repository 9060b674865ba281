"""gpytorch: kernels, several outputs, inducing points, deep and multi-class models, samples, likelihoods."""

import gpytorch
import torch
from checks import check
from gpytorch import kernels

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
x = torch.linspace(0, 1, 18)
y = torch.sin(6 * x)
plane = torch.stack([x, x.flip(0).square()], 1)

KERNELS = {
    "RBF, one scale a dimension": lambda: kernels.RBFKernel(ard_num_dims=2),
    "Matern 0.5": lambda: kernels.MaternKernel(nu=0.5),
    "Matern 2.5": lambda: kernels.MaternKernel(nu=2.5),
    "Periodic": lambda: kernels.PeriodicKernel(),
    "Cosine": lambda: kernels.CosineKernel(),
    "Linear": lambda: kernels.LinearKernel(),
    "Polynomial": lambda: kernels.PolynomialKernel(power=2),
    "Rational quadratic": lambda: kernels.RQKernel(),
    "Spectral mixture": lambda: kernels.SpectralMixtureKernel(num_mixtures=2, ard_num_dims=2),
    "Random features": lambda: kernels.RFFKernel(num_samples=6, num_dims=2),
    "Arc": lambda: kernels.ArcKernel(kernels.MaternKernel()),
    "Piecewise polynomial": lambda: kernels.PiecewisePolynomialKernel(q=2),
    "a product": lambda: kernels.RBFKernel(active_dims=[0]) * kernels.LinearKernel(active_dims=[1]),
    "additive": lambda: kernels.AdditiveStructureKernel(kernels.RBFKernel(), num_dims=2),
    "gradients": lambda: kernels.RBFKernelGrad(),
}


class Model(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood, mean, covariance, joint=gpytorch.distributions.MultivariateNormal):
        super().__init__(x, y, likelihood)
        self.mean_module, self.covar_module, self.joint = mean, covariance, joint

    def forward(self, x):
        return self.joint(self.mean_module(x), self.covar_module(x))


def fit(model, likelihood, objective, inputs, targets, steps=3):
    optimizer = torch.optim.Adam({*model.parameters(), *likelihood.parameters()}, lr=0.1)
    losses = []
    model.train(), likelihood.train()
    for _ in range(steps):
        optimizer.zero_grad()
        loss = -objective(model(inputs), targets).sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval(), likelihood.eval()
    return losses


def exact(mean, covariance, inputs=x, targets=y, likelihood=None, **options):
    torch.manual_seed(0)
    likelihood = likelihood or gpytorch.likelihoods.GaussianLikelihood()
    model = Model(inputs, targets, likelihood, mean, covariance, **options)
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    losses = fit(model, likelihood, objective, inputs, targets)
    with torch.no_grad():
        answer = likelihood(model(inputs[:4] * 0.9))
    return [losses, answer.mean, answer.variance]


for name, make in KERNELS.items():
    with check(f"kernel: {name}") as c:
        torch.manual_seed(0)
        kernel, points = make(), plane.clone().requires_grad_()
        matrix = kernel(points, points[:5]).to_dense()
        matrix.sin().sum().backward()
        c.values = [matrix, points.grad, [p.grad for p in kernel.parameters() if p.grad is not None]]
        c.tolerance = 1e-7

constant, rbf = gpytorch.means.ConstantMean, kernels.RBFKernel
MODELS = {
    "a linear mean": lambda: exact(gpytorch.means.LinearMean(1), rbf(), x[:, None], y),
    "inducing points": lambda: exact(
        constant(),
        kernels.InducingPointKernel(
            rbf(), x[::3, None].clone(), likelihood := gpytorch.likelihoods.GaussianLikelihood()
        ),
        x[:, None],
        y,
        likelihood,
    ),
    "a grid": lambda: exact(
        constant(),
        kernels.GridInterpolationKernel(rbf(), grid_size=12, num_dims=1, grid_bounds=[(-0.1, 1.1)]),
    ),
    "two tasks": lambda: exact(
        gpytorch.means.MultitaskMean(constant(), num_tasks=2),
        kernels.MultitaskKernel(rbf(), num_tasks=2, rank=1),
        x,
        torch.stack([y, y.cos()], -1),
        gpytorch.likelihoods.MultitaskGaussianLikelihood(num_tasks=2),
        joint=gpytorch.distributions.MultitaskMultivariateNormal,
    ),
    "known noise": lambda: exact(
        constant(),
        rbf(),
        likelihood=gpytorch.likelihoods.FixedNoiseGaussianLikelihood(torch.full((18,), 0.1)),
    ),
    "a prior": lambda: exact(constant(), rbf(lengthscale_prior=gpytorch.priors.GammaPrior(3.0, 6.0))),
}

for name, run in MODELS.items():
    with check(f"model: {name}") as c:
        c.values = run()
        c.tolerance = 1e-5


class Approximate(gpytorch.models.ApproximateGP):
    def __init__(self, distribution=gpytorch.variational.CholeskyVariationalDistribution):
        points = torch.linspace(0, 1, 6)
        strategy = gpytorch.variational.VariationalStrategy(self, points, distribution(6))
        super().__init__(strategy)
        self.mean_module, self.covar_module = constant(), kernels.ScaleKernel(rbf())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


LIKELIHOODS = {
    "Bernoulli": (gpytorch.likelihoods.BernoulliLikelihood, (y > 0).double()),
    "Beta": (gpytorch.likelihoods.BetaLikelihood, (y + 1.1) / 2.2),
    "Laplace": (gpytorch.likelihoods.LaplaceLikelihood, y),
    "Student's t": (gpytorch.likelihoods.StudentTLikelihood, y),
}

for name, (make, targets) in LIKELIHOODS.items():
    with check(f"likelihood: {name}") as c:
        torch.manual_seed(0)
        model, likelihood = Approximate(), make()
        objective = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=18)
        c.values = fit(model, likelihood, objective, x, targets)
        c.tolerance = 1e-5

for name in (
    "MeanFieldVariationalDistribution",
    "DeltaVariationalDistribution",
    "NaturalVariationalDistribution",
):
    with check(name) as c:
        torch.manual_seed(0)
        model = Approximate(getattr(gpytorch.variational, name))
        likelihood = gpytorch.likelihoods.GaussianLikelihood()
        objective = gpytorch.mlls.PredictiveLogLikelihood(likelihood, model, num_data=18)
        c.values = fit(model, likelihood, objective, x, y)
        c.tolerance = 1e-5

with check("samples of a prior and a posterior") as c:
    torch.manual_seed(0)
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Model(x, y, likelihood, constant(), rbf()).eval()
    with torch.no_grad(), gpytorch.settings.fast_pred_var():
        answer = model(x[:5] + 0.01)
        c.values = [answer.mean, answer.variance, answer.rsample(torch.Size([2])), answer.confidence_region()]
    c.tolerance = 1e-3

with check("conjugate gradients") as c, gpytorch.settings.max_cholesky_size(1):
    c.values = exact(constant(), rbf())[1]
    c.tolerance = 1e-2
