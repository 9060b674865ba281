"""A small diffusion model: training, then sampling in a loop."""

import torch
from torch import nn

torch.manual_seed(17)
T = 50
beta = torch.linspace(1e-4, 0.02, T)
abar = torch.cumprod(1 - beta, 0)
net = nn.Sequential(nn.Linear(3, 64), nn.Mish(), nn.Linear(64, 64), nn.Mish(), nn.Linear(64, 2))
opt = torch.optim.RAdam(net.parameters(), 1e-2)
x0 = torch.randn(128, 2) * torch.tensor([1.0, 0.2])
for _i in range(8):
    t = torch.randint(0, T, (128,))
    e = torch.randn_like(x0)
    a = abar[t][:, None]
    xt = a.sqrt() * x0 + (1 - a).sqrt() * e
    loss = nn.functional.huber_loss(net(torch.cat([xt, t[:, None] / T], 1)), e)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())
with torch.no_grad():
    x = torch.randn(16, 2)
    for t in reversed(range(T)):
        eps = net(torch.cat([x, torch.full((16, 1), t / T)], 1))
        x = (x - beta[t] / (1 - abar[t]).sqrt() * eps) / (1 - beta[t]).sqrt()
        if t:
            x = x + beta[t].sqrt() * torch.randn_like(x)
print(x.std().item())
