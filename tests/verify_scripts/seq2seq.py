"""Packed sequences, attention, teacher forcing by Python's random numbers."""

import random

import torch
import torch.nn.functional as F
from torch import nn


class Encoder(nn.Module):
    def __init__(self, vocab, d):
        super().__init__()
        self.emb = nn.Embedding(vocab, d, padding_idx=0)
        self.rnn = nn.GRU(d, d, batch_first=True, bidirectional=True)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(
            self.emb(x), lengths, batch_first=True, enforce_sorted=False
        )
        out, h = self.rnn(packed)
        out, _ = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
        return out, torch.cat([h[0], h[1]], -1)


class Decoder(nn.Module):
    def __init__(self, vocab, d):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.cell = nn.GRUCell(d + 2 * d, 2 * d)
        self.att = nn.Linear(2 * d, 2 * d)
        self.out = nn.Linear(4 * d, vocab)

    def step(self, tok, h, memory, mask):
        scores = torch.bmm(memory, self.att(h)[:, :, None])[:, :, 0].masked_fill(mask, -1e9)
        ctx = (scores.softmax(-1)[:, :, None] * memory).sum(1)
        h = self.cell(torch.cat([self.emb(tok), ctx], -1), h)
        return self.out(torch.cat([h, ctx], -1)), h


torch.manual_seed(5)
random.seed(5)
enc, dec = Encoder(30, 12), Decoder(30, 12)
params = list(enc.parameters()) + list(dec.parameters())
opt = torch.optim.Adam(params, 5e-3)
src = torch.randint(1, 30, (8, 9))
lengths = torch.tensor([9, 9, 8, 7, 5, 4, 9, 2])
for i, n in enumerate(lengths):
    src[i, n:] = 0
tgt = src.flip(1)
for it in range(5):
    memory, h = enc(src, lengths)
    mask = src[:, : memory.size(1)] == 0
    tok = torch.zeros(8, dtype=torch.long)
    loss = 0
    for t in range(9):
        logits, h = dec.step(tok, h, memory, mask)
        loss = loss + F.cross_entropy(logits, tgt[:, t], ignore_index=0)
        tok = tgt[:, t] if random.random() < 0.5 else logits.argmax(-1)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(params, 0.5)
    opt.step()
    print(it, float(loss))
