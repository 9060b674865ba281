"""A data set, a shuffling loader, an averaged model, half precision by autocast."""

import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(8)
data = TensorDataset(torch.randn(48, 10), torch.randint(0, 4, (48,)))
model = nn.Sequential(nn.Linear(10, 32), nn.GroupNorm(4, 32), nn.SiLU(), nn.Dropout(0.1), nn.Linear(32, 4))
average = copy.deepcopy(model)
opt = torch.optim.Adagrad(model.parameters(), lr=0.05)
for epoch in range(2):
    model.train()
    for x, y in DataLoader(data, batch_size=16, shuffle=True):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad(set_to_none=False)
        loss.backward()
        opt.step()
        with torch.no_grad():
            for a, p in zip(average.parameters(), model.parameters()):
                a.lerp_(p, 0.1)
    average.eval()
    with torch.no_grad():
        print(epoch, loss.item(), average(data.tensors[0]).logsumexp(1).mean().item())
