"""gpytorch: exact and variational Gaussian processes, trained and asked."""

import gpytorch
import torch
from checks import check

torch.set_default_dtype(torch.float64)
x = torch.linspace(0, 1, 20)
y = torch.sin(6 * x)


class Exact(gpytorch.models.ExactGP):
    def __init__(self, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(
            gpytorch.kernels.RBFKernel() + gpytorch.kernels.MaternKernel()
        )

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


class Variational(gpytorch.models.ApproximateGP):
    def __init__(self):
        points = torch.linspace(0, 1, 6)
        inner = gpytorch.variational.CholeskyVariationalDistribution(6)
        super().__init__(gpytorch.variational.VariationalStrategy(self, points, inner))
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = gpytorch.kernels.RBFKernel()

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def fit(model, likelihood, objective):
    optimizer = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.1)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = -objective(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval(), likelihood.eval()
    with torch.no_grad():
        answer = likelihood(model(torch.tensor([0.3, 0.9])))
    return [losses, answer.mean, answer.variance]


with check("exact") as c:
    torch.manual_seed(0)
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Exact(likelihood)
    c.values = fit(model, likelihood, gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model))
    c.tolerance = 1e-6

with check("variational") as c:
    torch.manual_seed(0)
    likelihood, model = gpytorch.likelihoods.GaussianLikelihood(), Variational()
    c.values = fit(model, likelihood, gpytorch.mlls.VariationalELBO(likelihood, model, num_data=20))
    c.tolerance = 1e-5
