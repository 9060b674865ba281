"""torchdiffeq: solvers with fixed and adaptive steps, and gradients through the adjoint."""

import torch
from checks import check
from torchdiffeq import odeint, odeint_adjoint

torch.set_default_dtype(torch.float64)
times = torch.linspace(0, 1, 5)


class Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.net = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))

    def forward(self, t, y):
        return self.net(y) + t


for method in (
    "dopri5",
    "dopri8",
    "bosh3",
    "adaptive_heun",
    "euler",
    "midpoint",
    "rk4",
    "explicit_adams",
    "implicit_adams",
):
    with check(method) as c:
        field = Field()
        y = odeint(field, torch.tensor([1.0, -1.0]), times, method=method)
        y.pow(2).sum().backward()
        c.values = [y, field.net[0].weight.grad]
        c.tolerance = 1e-7

with check("adjoint") as c:
    field, start = Field(), torch.tensor([1.0, -1.0], requires_grad=True)
    y = odeint_adjoint(field, start, times, rtol=1e-8, atol=1e-8)
    y[-1].sum().backward()
    c.values = [y, start.grad, field.net[2].bias.grad]
    c.tolerance = 1e-7
