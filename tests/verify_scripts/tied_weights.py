"""Tied weights, PyTorch's own transformer layers, groups of parameters."""

import torch
from torch import nn

torch.manual_seed(10)


class LM(nn.Module):
    def __init__(self, v=40, d=16):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        layer = nn.TransformerEncoderLayer(d, 2, 32, 0.1, batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(d, v, bias=False)
        self.out.weight = self.emb.weight

    def forward(self, x):
        m = nn.Transformer.generate_square_subsequent_mask(x.size(1))
        return self.out(self.enc(self.emb(x), mask=m, is_causal=True))


net = LM()
decay = [p for p in net.parameters() if p.dim() > 1]
rest = [p for p in net.parameters() if p.dim() < 2]
opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], 3e-3)
x = torch.randint(0, 40, (8, 13))
for _i in range(5):
    loss = nn.functional.cross_entropy(net(x[:, :-1]).reshape(-1, 40), x[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())
