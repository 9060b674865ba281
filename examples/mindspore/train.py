"""Trains a CNN with BatchNorm, an LSTM or a transformer on made-up data, in plain PyTorch.

ms-adapter run --device mindspore examples/mindspore/train.py --model lstm
"""

import argparse
import json
from pathlib import Path

import torch
from torch import nn


def cnn():
    """Convolutions, BatchNorm, pooling, dropout: images of three channels, ten classes."""
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3, padding=1, groups=2),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Dropout(0.1),
        nn.Linear(8, 10),
    )
    return model, lambda: (torch.randn(8, 3, 8, 8), torch.randint(0, 10, (8,)))


class Lstm(nn.Module):
    """An embedding and an LSTM."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 6)
        self.lstm = nn.LSTM(6, 8, batch_first=True)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        return self.head(self.lstm(self.embedding(x))[0][:, -1])


def lstm():
    """Sequences of tokens, five classes."""
    return Lstm(), lambda: (torch.randint(0, 20, (6, 7)), torch.randint(0, 5, (6,)))


class Transformer(nn.Module):
    """Two encoder layers with dropout."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(16, 5)

    def forward(self, x):
        return self.head(self.encoder(x).mean(1))


def transformer():
    """Sequences of vectors, five classes."""
    return Transformer(), lambda: (torch.randn(4, 6, 16), torch.randint(0, 5, (4,)))


MODELS = {"cnn": cnn, "lstm": lstm, "transformer": transformer}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=MODELS, default="cnn")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    parser.add_argument("--json", type=Path, help="write the losses here")
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dtype = getattr(torch, options.dtype)
    torch.manual_seed(0)
    model, batch = MODELS[options.model]()
    model = model.to(dtype).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(options.steps):
        x, y = batch()
        x = x.to(dtype) if x.is_floating_point() else x
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"{options.model} on {device}: loss {losses[0]:.4f} -> {losses[-1]:.4f}")
    if options.json:
        options.json.write_text(json.dumps({"losses": losses}))


if __name__ == "__main__":
    main()
