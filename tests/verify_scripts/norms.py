"""Group, instance and local response norm, PReLU, unfold, centered RMSprop."""

import torch
from torch import nn

torch.manual_seed(3)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 12, 3, padding=1, padding_mode="reflect")
        self.gn = nn.GroupNorm(3, 12)
        self.lrn = nn.LocalResponseNorm(3)
        self.unfold = nn.Unfold(2, stride=2)
        self.inorm = nn.InstanceNorm2d(12, affine=True, track_running_stats=True)
        self.head = nn.Linear(48, 5)
        self.pr = nn.PReLU(12)
        self.pool = nn.AdaptiveAvgPool2d(8)

    def forward(self, x):
        x = self.pr(self.gn(self.conv(x)))
        x = self.inorm(self.lrn(x))
        x = self.pool(x)
        return self.head(self.unfold(x).transpose(1, 2)).mean(1)


net = Net()
opt = torch.optim.RMSprop(net.parameters(), 1e-3, momentum=0.5, centered=True)
x, y = torch.randn(12, 3, 16, 16), torch.randint(0, 5, (12,))
for _i in range(6):
    loss = nn.functional.multi_margin_loss(net(x), y) + nn.functional.cross_entropy(
        net(x), y, label_smoothing=0.1
    )
    opt.zero_grad(set_to_none=False)
    loss.backward()
    opt.step()
    print(loss.item())
