"""torch.compile, functional_call, lists of modules and parameters, Rprop."""

import torch
from torch import nn

torch.manual_seed(19)


@torch.compile
def act(x):
    return x * torch.tanh(nn.functional.softplus(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.ModuleList([nn.Linear(12, 12) for _ in range(3)])
        self.s = nn.ParameterList([nn.Parameter(torch.ones(12)) for _ in range(3)])

    def forward(self, x):
        for layer, s in zip(self.l, self.s):
            x = x + act(layer(x)) * s
        return x


net = Net()
opt = torch.optim.Rprop(net.parameters(), 1e-2)
x = torch.randn(20, 12)
y = x.roll(1, 1)
for _i in range(8):
    loss = (torch.func.functional_call(net, dict(net.named_parameters()), (x,)) - y).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())
