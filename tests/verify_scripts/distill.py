"""A teacher, in-place operations, indexing, reductions, a scaled loss."""

import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(9)
teacher = nn.Sequential(nn.Linear(12, 24), nn.Tanh(), nn.Linear(24, 6)).eval()
student = nn.Sequential(nn.Linear(12, 8), nn.Hardswish(inplace=True), nn.LayerNorm(8), nn.Linear(8, 6))
for p in teacher.parameters():
    p.requires_grad_(False)
opt = torch.optim.SGD(
    [{"params": student[0].parameters(), "lr": 0.1}, {"params": student[3].parameters()}], lr=0.02
)
x = torch.randn(40, 12)
for step in range(6):
    part = x[torch.randperm(40)[:20]]
    part[part > 2] = 2.0
    wanted = F.softmax(teacher(part) / 2, -1)
    loss = F.kl_div(F.log_softmax(student(part) / 2, -1), wanted, reduction="batchmean") * 4
    loss = loss + 1e-3 * sum(p.square().sum() for p in student.parameters())
    opt.zero_grad()
    (loss * 128).backward()
    for p in student.parameters():
        p.grad.div_(128)
    opt.step()
    print(step, loss.item(), math.isfinite(loss.item()))
