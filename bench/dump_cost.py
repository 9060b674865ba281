"""What `ms_adapter.tools.dump` costs a training step of a ResNet-18: switched off, statistics, tensors."""

import argparse
import os
import shutil
import statistics
import tempfile
import time

import ms_adapter.pytorch as torch
from ms_adapter.pytorch import nn
from ms_adapter.pytorch.nn import functional as F
from ms_adapter.tools import dump


class Block(nn.Module):
    """Two convolutions and the way around them."""

    def __init__(self, before, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.around = None
        if stride > 1 or before != width:
            self.around = nn.Sequential(
                nn.Conv2d(before, width, 1, stride, bias=False), nn.BatchNorm2d(width)
            )

    def forward(self, x):
        """The block's output."""
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (x if self.around is None else self.around(x)))


def resnet18():
    """The usual widths and depths."""
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    before = 64
    for width in (64, 128, 256, 512):
        layers += [Block(before, width, 1 if width == 64 else 2), Block(width, width, 1)]
        before = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


def main():
    """Take the ways in turns, so that the machine's moods meet all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--size", type=int, default=128, help="of the images")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    model = resnet18()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    images = torch.randn(arguments.batch, 3, arguments.size, arguments.size)
    labels = torch.randint(0, 1000, (arguments.batch,))

    def step():
        started = time.process_time()  # of all threads: other programs on the machine do not count
        optimizer.zero_grad()
        F.cross_entropy(model(images), labels).backward()
        optimizer.step()
        return time.process_time() - started

    folder = tempfile.mkdtemp()
    ways = {
        "off": None,
        "off again": None,
        "modules, statistics": dict(level="module"),
        "operators, statistics": dict(level="operator", tensors="outputs"),
        "modules, tensors": dict(level="module", what="tensor"),
    }
    times = {name: [] for name in ways}
    step()
    for _ in range(arguments.rounds):
        for name, settings in ways.items():
            if settings is None:
                times[name].append(step())
                continue
            with dump(path=os.path.join(folder, "dump"), **settings):
                times[name].append(step())
            shutil.rmtree(os.path.join(folder, "dump"))
    shutil.rmtree(folder)
    base = statistics.median(times["off"])
    for name, found in times.items():
        middle = statistics.median(found)
        print(f"{name:24} {middle * 1e3:8.1f} ms of CPU a step  {middle / base - 1:+7.1%}")


if __name__ == "__main__":
    main()
