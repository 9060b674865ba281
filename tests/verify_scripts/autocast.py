"""Autocast to bfloat16, a gradient scaler that is off."""

import torch
from torch import nn

torch.manual_seed(4)
net = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1),
    nn.BatchNorm2d(8),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(8 * 36, 32),
    nn.LayerNorm(32),
    nn.GELU(),
    nn.Linear(32, 4),
)
opt = torch.optim.AdamW(net.parameters(), 2e-3)
scaler = torch.amp.GradScaler("cpu", enabled=False)
x, y = torch.randn(24, 1, 12, 12), torch.randint(0, 4, (24,))
for _i in range(6):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
    print(loss.item())
