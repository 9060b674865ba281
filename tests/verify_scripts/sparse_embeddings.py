"""Sparse embeddings with SGD."""

import torch
from torch import nn

torch.manual_seed(15)
user, item = nn.Embedding(50, 8, sparse=True), nn.Embedding(80, 8, sparse=True)
opt = torch.optim.SGD([*user.parameters(), *item.parameters()], 0.5)
u, p, n = torch.randint(0, 50, (64,)), torch.randint(0, 80, (64,)), torch.randint(0, 80, (64,))
for _i in range(6):
    loss = -nn.functional.logsigmoid((user(u) * item(p)).sum(1) - (user(u) * item(n)).sum(1)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())
