"""Random numbers inside the model, transposed convolution."""

import torch
import torch.nn.functional as F
from torch import nn


class VAE(nn.Module):
    """Convolutions in, transposed convolutions out."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 8, 4, 2, 1), nn.ELU(), nn.Conv2d(8, 16, 4, 2, 1), nn.ELU())
        self.mu, self.logvar = nn.Linear(16 * 16, 8), nn.Linear(16 * 16, 8)
        self.up = nn.Linear(8, 16 * 16)
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(16, 8, 4, 2, 1), nn.ELU(), nn.ConvTranspose2d(8, 1, 4, 2, 1)
        )

    def forward(self, x):
        h = self.encoder(x).flatten(1)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.decoder(self.up(z).view(-1, 16, 4, 4)), mu, logvar


torch.manual_seed(4)
model = VAE()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
x = torch.rand(16, 1, 16, 16)
for _ in range(5):
    y, mu, logvar = model(x)
    loss = F.binary_cross_entropy_with_logits(y, x) - 0.001 * (1 + logvar - mu**2 - logvar.exp()).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())
