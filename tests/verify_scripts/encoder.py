"""The library's own transformer, with padding masks and a warm-up."""

import torch
from torch import nn

torch.manual_seed(6)
embed = nn.Embedding(30, 16, padding_idx=0)
layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, batch_first=True, norm_first=True)
encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
head = nn.Linear(16, 3)
parameters = [*embed.parameters(), *encoder.parameters(), *head.parameters()]
opt = torch.optim.AdamW(parameters, lr=1e-3)
warm = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: min(1.0, (step + 1) / 4))
ids = torch.randint(1, 30, (6, 10))
ids[:, 7:] = 0
labels = torch.randint(0, 3, (6,))
for _ in range(5):
    hidden = encoder(embed(ids), src_key_padding_mask=ids == 0)
    loss = nn.functional.cross_entropy(head(hidden.mean(1)), labels, label_smoothing=0.1)
    opt.zero_grad()
    loss.backward()
    opt.step()
    warm.step()
    print(loss.item())
encoder.eval()
with torch.no_grad():
    print(head(encoder(embed(ids), src_key_padding_mask=ids == 0).mean(1)).argmax(1).tolist())
