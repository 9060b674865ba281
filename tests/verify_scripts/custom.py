"""A gradient of one's own, double precision, a second derivative, L-BFGS."""

import torch


class Swish(torch.autograd.Function):
    """x * sigmoid(x)."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad * (s + x * s * (1 - s))


torch.manual_seed(7)
w = torch.randn(5, 5, dtype=torch.float64, requires_grad=True)
x = torch.randn(20, 5, dtype=torch.float64)
y = torch.sin(x)
opt = torch.optim.LBFGS([w], lr=0.5, max_iter=4)


def closure():
    opt.zero_grad()
    loss = ((Swish.apply(x @ w) - y) ** 2).mean()
    loss.backward()
    return loss


for _ in range(3):
    print(opt.step(closure).item())
z = torch.tensor([0.3, 0.7], requires_grad=True)
(first,) = torch.autograd.grad((z**3).sum(), z, create_graph=True)
print(torch.autograd.grad(first.sum(), z)[0])
