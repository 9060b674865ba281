"""Trains a small convolutional network on scikit-learn's handwritten digits, in plain PyTorch.

python examples/digits/train.py               # PyTorch
ms-adapter run examples/digits/train.py       # ms_adapter, the same file
"""

import argparse
import json
import time
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from terminal import loss_curve, progress_bar
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(32)
        self.pool = nn.MaxPool2d(2)
        self.dropout = nn.Dropout(0.25)
        self.fc1 = nn.Linear(32 * 4 * 4, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.pool(F.relu(self.bn2(self.conv2(x))))
        x = self.dropout(torch.flatten(x, 1))
        return self.fc2(F.relu(self.fc1(x)))


def load_data(dtype):
    """Training and test set: images (N, 1, 8, 8) scaled to 0..1, labels (N,)."""
    digits = load_digits()
    images = torch.from_numpy(digits.images / 16.0).to(dtype).unsqueeze(1)
    labels = torch.from_numpy(digits.target).long()
    train, test = train_test_split(range(len(labels)), test_size=0.2, stratify=digits.target, random_state=0)
    return TensorDataset(images[train], labels[train]), TensorDataset(images[test], labels[test])


def evaluate(model, loader, device):
    """Fraction of the images that the model gets right."""
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            correct += (model(x).argmax(dim=1) == y).sum().item()
    return correct / len(loader.dataset)


def train(model, loader, optimizer, device, epochs, max_steps):
    """Train for `epochs`, or `max_steps` if fewer; returns the loss and the seconds of each step."""
    losses, seconds = [], []
    total = min(epochs * len(loader), max_steps or epochs * len(loader))
    for epoch in range(epochs):
        model.train()
        for x, y in loader:
            if len(losses) == total:
                break
            start = time.perf_counter()
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            seconds.append(time.perf_counter() - start)
            progress_bar(len(losses), total, f"epoch {epoch + 1}/{epochs}  loss {losses[-1]:.4f}")
    return losses, seconds


def main():
    parser = argparse.ArgumentParser(description="Train a small CNN on handwritten digits.")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--steps", type=int, help="stop after so many steps")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    parser.add_argument("--json", type=Path, help="write losses, times and accuracy here")
    parser.add_argument("--save", type=Path, default=Path(__file__).parent / "out" / "digits.pt")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dtype = getattr(torch, args.dtype)
    train_set, test_set = load_data(dtype)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=256)

    model = Net().to(device=device, dtype=dtype)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    size = sum(p.numel() for p in model.parameters())
    print(f"{torch.__name__} {torch.__version__} on {device}, {args.dtype}, {size:,} parameters")
    print(f"{len(train_set):,} images to train on, {len(test_set)} to test with")

    losses, seconds = train(model, train_loader, optimizer, device, args.epochs, args.steps)
    accuracy = evaluate(model, test_loader, device)
    print(loss_curve(losses))
    speed = args.batch_size * len(losses) / sum(seconds)
    print(f"test accuracy {accuracy:.2%} after {len(losses)} steps")
    print(f"{sum(seconds):.1f} s of training, {speed:,.0f} images/s")

    args.save.parent.mkdir(parents=True, exist_ok=True)
    torch.save(model.state_dict(), args.save)
    print(f"weights saved to {args.save}")
    if args.json:
        results = {"module": torch.__name__, "losses": losses, "seconds": seconds, "accuracy": accuracy}
        args.json.write_text(json.dumps(results))


if __name__ == "__main__":
    main()
