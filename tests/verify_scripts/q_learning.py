"""Q-learning: a copied target network, gather, updates through .data."""

import copy

import torch
from torch import nn

torch.manual_seed(18)
q = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 3))
target = copy.deepcopy(q)
opt = torch.optim.Adam(q.parameters(), 1e-2)
s, a, r, s2 = torch.randn(200, 4), torch.randint(0, 3, (200,)), torch.randn(200), torch.randn(200, 4)
for i in range(20):
    b = torch.randint(0, 200, (32,))
    with torch.no_grad():
        best = q(s2[b]).argmax(1)
        y = r[b] + 0.9 * target(s2[b]).gather(1, best[:, None])[:, 0]
    loss = nn.functional.smooth_l1_loss(q(s[b]).gather(1, a[b][:, None])[:, 0], y)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(q.parameters(), 1.0)
    opt.step()
    for p, t in zip(q.parameters(), target.parameters()):
        t.data.copy_(0.05 * p.data + 0.95 * t.data)
    if i % 5 == 0:
        target.load_state_dict(q.state_dict())
        print(loss.item())
