"""Residual blocks with many kinks and a cosine schedule."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(16)


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a = nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.na = nn.BatchNorm2d(c)
        self.b = nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.nb = nn.BatchNorm2d(c)

    def forward(self, x):
        return F.relu(x + self.nb(self.b(F.relu(self.na(self.a(x))))))


net = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1),
    *[Block(16) for _ in range(4)],
    nn.AdaptiveMaxPool2d(2),
    nn.Flatten(),
    nn.Linear(64, 10),
)
opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9, weight_decay=5e-4)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 12)
x, y = torch.randn(32, 3, 16, 16), torch.randint(0, 10, (32,))
for _i in range(12):
    b = torch.randperm(32)[:16]
    loss = F.cross_entropy(net(x[b]), y[b])
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    print(loss.item())
net.eval()
print(net(x).argmax(1).eq(y).float().mean().item())
