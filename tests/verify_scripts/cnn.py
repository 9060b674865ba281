"""Convolutions, batch norm, dropout, SGD with momentum; an evaluation at the end."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 8, 3, padding=1)
        self.b1 = nn.BatchNorm2d(8)
        self.c2 = nn.Conv2d(8, 16, 3, padding=1)
        self.b2 = nn.BatchNorm2d(16)
        self.drop = nn.Dropout(0.3)
        self.fc = nn.Linear(16 * 7 * 7, 10)
        nn.init.kaiming_normal_(self.fc.weight)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.b1(self.c1(x))), 2)
        x = F.max_pool2d(F.relu(self.b2(self.c2(x))), 2)
        x = self.drop(x.flatten(1))
        return self.fc(x)


net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
X = torch.randn(64, 1, 28, 28)
Y = torch.randint(0, 10, (64,))
net.train()
for _ in range(2):
    for i in range(0, 64, 16):
        opt.zero_grad()
        loss = F.cross_entropy(net(X[i : i + 16]), Y[i : i + 16])
        loss.backward()
        opt.step()
        print(loss.item())
net.eval()
with torch.no_grad():
    acc = (net(X).argmax(1) == Y).float().mean()
print(acc.item())
