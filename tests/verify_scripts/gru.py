"""Recurrence by hand and by the library, a loop over time, gradient clipping."""

import torch
from torch import nn

torch.manual_seed(5)


class Net(nn.Module):
    """A GRU, then a cell stepped by hand."""

    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(6, 12, bidirectional=True, batch_first=True)
        self.cell = nn.LSTMCell(24, 10)
        self.out = nn.Linear(10, 1)

    def forward(self, x):
        y, _ = self.gru(x)
        h = c = torch.zeros(x.size(0), 10)
        for t in range(y.size(1)):
            h, c = self.cell(y[:, t], (h, c))
        return self.out(h)


net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.5, momentum=0.9, nesterov=True)
x = torch.randn(8, 9, 6)
target = x.sum((1, 2))[:, None]
for _ in range(6):
    loss = nn.functional.smooth_l1_loss(net(x), target)
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    opt.step()
    print(loss.item())
