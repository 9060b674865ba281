"""Data loaders with worker processes, random splits, inference mode."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split


class Data(Dataset):
    def __init__(self):
        self.x = torch.randn(96, 6)
        self.y = (self.x.sum(1) > 0).long()

    def __len__(self):
        return 96

    def __getitem__(self, i):
        return self.x[i] + 0.01 * torch.randn(6), self.y[i]


def main():
    torch.manual_seed(9)
    train, test = random_split(Data(), [80, 16])
    loader = DataLoader(train, 16, shuffle=True, num_workers=2, drop_last=True, persistent_workers=False)
    net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.BatchNorm1d(24), nn.Linear(24, 2))
    opt = torch.optim.Adamax(net.parameters(), 1e-2)
    for _e in range(2):
        net.train()
        for x, y in loader:
            loss = nn.functional.nll_loss(nn.functional.log_softmax(net(x), 1), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            print(loss.item())
        net.eval()
        with torch.inference_mode():
            print(sum((net(x).argmax(1) == y).sum().item() for x, y in DataLoader(test, 8)))


if __name__ == "__main__":
    main()
