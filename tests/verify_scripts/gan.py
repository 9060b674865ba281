"""Two modules, two optimizers, detach."""

import torch
from torch import nn

torch.manual_seed(0)
make = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.BatchNorm1d(16), nn.Linear(16, 2))
judge = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Dropout(0.2), nn.Linear(16, 1))
opt_make = torch.optim.Adam(make.parameters(), lr=1e-3, betas=(0.5, 0.999))
opt_judge = torch.optim.RMSprop(judge.parameters(), lr=1e-3)
loss_of = nn.BCEWithLogitsLoss()
real = torch.randn(32, 2) * 0.5 + 1
for _ in range(6):
    fake = make(torch.randn(32, 4))
    opt_judge.zero_grad()
    loss = loss_of(judge(real), torch.ones(32, 1)) + loss_of(judge(fake.detach()), torch.zeros(32, 1))
    loss.backward()
    opt_judge.step()
    opt_make.zero_grad()
    loss_of(judge(fake), torch.ones(32, 1)).backward()
    opt_make.step()
    print(loss.item())
