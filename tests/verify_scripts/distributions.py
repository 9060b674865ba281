"""A VAE by torch.distributions: rsample, kl_divergence, log_prob."""

import torch
from torch import distributions as D
from torch import nn

torch.manual_seed(11)
enc = nn.Sequential(nn.Linear(20, 32), nn.SiLU(), nn.Linear(32, 8))
dec = nn.Sequential(nn.Linear(4, 32), nn.SiLU(), nn.Linear(32, 20))
opt = torch.optim.NAdam([*enc.parameters(), *dec.parameters()], 1e-3)
x = (torch.rand(64, 20) > 0.5).float()
for i in range(6):
    mu, s = enc(x).chunk(2, -1)
    q = D.Normal(mu, nn.functional.softplus(s) + 1e-4)
    z = q.rsample()
    kl = D.kl_divergence(q, D.Normal(torch.zeros_like(mu), torch.ones_like(s))).sum(-1)
    ll = D.Bernoulli(logits=dec(z)).log_prob(x).sum(-1)
    loss = (kl - ll).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item())
