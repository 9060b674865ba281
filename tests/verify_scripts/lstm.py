"""A tagger with a running mean, masks, accumulated gradients, clipping, Adam."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)


class Tagger(nn.Module):
    def __init__(self, vocab=50, dim=16, hidden=24, classes=5):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.norm = nn.LayerNorm(dim, eps=1e-5)
        self.lstm = nn.LSTM(dim, hidden, num_layers=2, batch_first=True, dropout=0.2)
        self.head = nn.Linear(hidden, classes)
        self.register_buffer("mean", torch.zeros(hidden))
        for name, p in self.lstm.named_parameters():
            if "weight" in name:
                nn.init.orthogonal_(p)
        nn.init.xavier_uniform_(self.head.weight)

    def forward(self, tokens, state=None):
        x = self.norm(self.embed(tokens))
        h, state = self.lstm(x, state)
        if self.training:
            self.mean.mul_(0.9).add_(h.detach().mean((0, 1)), alpha=0.1)
        h = h - self.mean
        return self.head(h), state


model = Tagger()
opt = torch.optim.Adam(model.parameters(), lr=1e-2, betas=(0.9, 0.99), eps=1e-8)
data = torch.randint(0, 50, (4, 8, 12))
labels = torch.randint(0, 5, (4, 8, 12))
lengths = torch.tensor([12, 10, 9, 8, 7, 6, 5, 4])
accumulate = 2
for epoch in range(2):
    model.train()
    for i in range(4):
        scores, _ = model(data[i])
        mask = torch.arange(12)[None, :] < lengths[:, None]
        losses = F.cross_entropy(scores.flatten(0, 1), labels[i].flatten(), reduction="none")
        losses = losses * mask.flatten()
        loss = losses.sum() / mask.sum()
        loss = loss / accumulate
        loss.backward()
        if i % accumulate == 1:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            opt.zero_grad()
    model.eval()
    with torch.no_grad():
        scores, _ = model(data[0])
        print(epoch, loss.item(), F.cross_entropy(scores.flatten(0, 1), labels[0].flatten()).item())
