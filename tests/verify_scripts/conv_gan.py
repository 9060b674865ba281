"""A GAN of convolutions: spectral norm, a gradient penalty, two optimizers."""

import torch
from torch import nn

torch.manual_seed(7)


class G(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.ConvTranspose2d(8, 16, 4, 1, 0),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.ConvTranspose2d(16, 8, 4, 2, 1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.ConvTranspose2d(8, 1, 4, 2, 1),
            nn.Tanh(),
        )

    def forward(self, z):
        return self.net(z[:, :, None, None])


class D(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.utils.spectral_norm(nn.Conv2d(1, 8, 4, 2, 1)),
            nn.LeakyReLU(0.2),
            nn.Conv2d(8, 16, 4, 2, 1),
            nn.LeakyReLU(0.2),
            nn.Flatten(),
            nn.Linear(256, 1),
        )

    def forward(self, x):
        return self.net(x)


g, d = G(), D()
og = torch.optim.Adam(g.parameters(), 2e-4, betas=(0.5, 0.999))
od = torch.optim.AdamW(d.parameters(), 2e-4)
real = torch.rand(16, 1, 16, 16) * 2 - 1
for i in range(6):
    z = torch.randn(16, 8)
    fake = g(z)
    loss_d = torch.relu(1 - d(real)).mean() + torch.relu(1 + d(fake.detach())).mean()
    a = torch.rand(16, 1, 1, 1)
    mid = (a * real + (1 - a) * fake.detach()).requires_grad_()
    (grad,) = torch.autograd.grad(d(mid).sum(), mid, create_graph=True)
    loss_d = loss_d + 10 * ((grad.flatten(1).norm(dim=1) - 1) ** 2).mean()
    od.zero_grad()
    loss_d.backward()
    od.step()
    loss_g = -d(g(z)).mean()
    og.zero_grad()
    loss_g.backward()
    og.step()
    print(i, loss_d.item(), loss_g.item())
