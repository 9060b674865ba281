"""Attention written out, a schedule, AdamW; a divergence between two batches at the end."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)


class Attention(nn.Module):
    def __init__(self, dim, heads, p=0.1):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(dim, dim)
        self.k = nn.Linear(dim, dim)
        self.v = nn.Linear(dim, dim)
        self.w = nn.Parameter(torch.randn(dim, dim) / math.sqrt(dim))
        self.drop = nn.Dropout(p)

    def split(self, x):
        b, n, d = x.shape
        return x.view(b, n, self.heads, d // self.heads).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        mask = torch.triu(torch.ones(x.size(1), x.size(1), dtype=torch.bool), diagonal=1)
        scores = scores.masked_fill(mask, float("-inf"))
        probs = self.drop(F.softmax(scores, dim=-1))
        y = (probs @ v).transpose(1, 2).reshape(x.shape)
        return y @ self.w


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.ln1 = nn.LayerNorm(dim)
        self.attn = Attention(dim, 4)
        self.ln2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class LM(nn.Module):
    def __init__(self, vocab=64, dim=32, layers=2, length=16):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.register_buffer("pos", self.positions(length, dim))
        self.blocks = nn.ModuleList(Block(dim) for _ in range(layers))
        self.ln = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, vocab)
        self.apply(self.init)

    @staticmethod
    def positions(length, dim):
        t = torch.arange(length)[:, None] / 10000 ** (torch.arange(0, dim, 2) / dim)
        return torch.cat([t.sin(), t.cos()], 1)

    def init(self, m):
        if isinstance(m, nn.Linear):
            nn.init.normal_(m.weight, std=0.02)

    def forward(self, ids):
        x = self.tok(ids) * math.sqrt(32)
        x = x + self.pos[: ids.size(1)]
        for b in self.blocks:
            x = b(x)
        return self.out(self.ln(x))


model = LM()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
sched = torch.optim.lr_scheduler.LinearLR(opt, 0.5, total_iters=4)
data = torch.randint(0, 64, (8, 4, 17))
for step in range(6):
    batch = data[step]
    logits = model(batch[:, :-1])
    loss = F.cross_entropy(logits.transpose(1, 2), batch[:, 1:])
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    print(step, loss.item())
model.eval()
with torch.no_grad():
    p = F.log_softmax(model(data[6][:, :-1]), -1)
    q = F.log_softmax(model(data[7][:, :-1]), -1)
    kl = F.kl_div(p, q, log_target=True, reduction="batchmean")
print("kl", kl.item())
