"""Transposed convolution, bilinear interpolation, a dice loss."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(13)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.d1 = nn.Conv2d(1, 8, 3, padding=1)
        self.d2 = nn.Conv2d(8, 16, 3, padding=1, stride=2)
        self.up = nn.ConvTranspose2d(16, 8, 2, 2)
        self.u1 = nn.Conv2d(16, 8, 3, padding=1)
        self.out = nn.Conv2d(8, 2, 1)
        self.drop = nn.Dropout2d(0.2)

    def forward(self, x):
        a = F.relu(self.d1(x))
        b = F.relu(self.d2(a))
        c = self.drop(self.up(b))
        u = F.relu(self.u1(torch.cat([a, c], 1)))
        return F.interpolate(self.out(u), scale_factor=2, mode="bilinear", align_corners=False)


net = UNet()
opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
x = torch.randn(4, 1, 16, 16)
y = (F.interpolate(x, scale_factor=2) > 0)[:, 0].long()
for _i in range(8):
    p = net(x)
    inter = (p.softmax(1)[:, 1] * y).sum()
    dice = 1 - (2 * inter + 1) / (p.softmax(1)[:, 1].sum() + y.sum() + 1)
    loss = F.cross_entropy(p, y) + dice
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())
