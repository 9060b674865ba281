"""Embedding bags, sparse gradients, SparseAdam beside Adagrad."""

import torch
from torch import nn

torch.manual_seed(2)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(100, 16, mode="mean", sparse=True)
        self.max = nn.EmbeddingBag(100, 16, mode="max")
        self.fc = nn.Linear(32, 3)

    def forward(self, t, o):
        return self.fc(torch.cat([self.bag(t, o), self.max(t, o)], 1))


net = Net()
sparse = torch.optim.SparseAdam(list(net.bag.parameters()), 1e-2)
dense = torch.optim.Adagrad([*net.max.parameters(), *net.fc.parameters()], 1e-2)
text = torch.randint(0, 100, (60,))
offsets = torch.tensor([0, 5, 11, 20, 33, 34, 50])
y = torch.randint(0, 3, (7,))
for _i in range(5):
    loss = nn.functional.cross_entropy(net(text, offsets), y)
    sparse.zero_grad()
    dense.zero_grad()
    loss.backward()
    sparse.step()
    dense.step()
    print(loss.item())
