"""LBFGS: an optimizer that calls a closure between its own changes; float64."""

import torch
from torch import nn

torch.manual_seed(8)
net = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1)).double()
x = torch.linspace(-2, 2, 90, dtype=torch.float64).view(30, 3)
y = torch.sin(x.sum(1, keepdim=True))
opt = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=6, line_search_fn="strong_wolfe")
for i in range(4):

    def closure():
        opt.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        return loss

    print(i, opt.step(closure).item())
