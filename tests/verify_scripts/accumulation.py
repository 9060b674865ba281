"""Accumulated gradients, clipping by value, a one-cycle schedule, a moving average of weights."""

import torch
from torch import nn

torch.manual_seed(6)
net = nn.Sequential(
    nn.Linear(10, 32), nn.Hardswish(), nn.Dropout(0.1), nn.Linear(32, 32), nn.ReLU6(), nn.Linear(32, 1)
)
ema = {k: v.clone() for k, v in net.state_dict().items()}
opt = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9, nesterov=True)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, 0.1, total_steps=8)
x = torch.randn(128, 10)
y = (x**2).sum(1, keepdim=True)
for step in range(8):
    for k in range(4):
        b = slice(32 * k, 32 * k + 32)
        loss = nn.functional.smooth_l1_loss(net(x[b]), y[b]) / 4
        loss.backward()
    nn.utils.clip_grad_value_(net.parameters(), 0.5)
    opt.step()
    sched.step()
    opt.zero_grad()
    with torch.no_grad():
        for k, v in net.state_dict().items():
            ema[k].lerp_(v, 0.1)
    print(step, loss.item(), ema["0.weight"].norm().item())
