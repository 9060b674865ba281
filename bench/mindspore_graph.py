"""Graph mode against PyNative on MindSpore: a training step of LeNet, and its inference."""

import argparse
import statistics
import time
import warnings

import ms_adapter.pytorch as torch
from ms_adapter.pytorch import nn
from ms_adapter.pytorch.nn import functional as F


class LeNet(nn.Module):
    """The classic, on images of 28 by 28."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2, self.fc3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)

    def forward(self, x):
        """Ten numbers for each image."""
        x = F.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = torch.flatten(F.max_pool2d(torch.relu(self.conv2(x)), 2), 1)
        return self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(x)))))


def training(device, graph):
    """A step of SGD with momentum, as a function of images and classes."""
    net = LeNet().to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return torch.compile(step, backend="mindspore") if graph else step


def inference(device, graph):
    """The net's result."""
    net = LeNet().to(device).eval()
    run = torch.compile(net, backend="mindspore") if graph else net

    def call(x, _y):
        with torch.no_grad():
            return run(x).sum()

    return call


def main():
    """Take the ways in turns, so that the machine's moods meet both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=30)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # samplers fall back
    x, y = torch.randn(arguments.batch, 1, 28, 28), torch.randint(0, 10, (arguments.batch,))
    ways = {"cpu": ("cpu", False), "PyNative": ("mindspore", False), "graph": ("mindspore", True)}
    for what in (training, inference):
        runs = {name: what(*way) for name, way in ways.items()}
        data = {name: (x.to(way[0]), y.to(way[0])) for name, way in ways.items()}
        spent = {name: [] for name in ways}
        for number in range(arguments.rounds + 5):
            for name, run in runs.items():
                started = time.perf_counter()
                run(*data[name]).item()
                if number >= 5:  # by then the graph is compiled
                    spent[name].append((time.perf_counter() - started) * 1e3)
        ratios = [a / b for a, b in zip(spent["PyNative"], spent["graph"])]
        for name, times in spent.items():
            print(f"{what.__name__:10} {name:9} {statistics.median(times):8.2f} ms, least {min(times):8.2f}")
        print(f"{what.__name__:10} PyNative / graph: {statistics.median(ratios):.2f} (median of the rounds)")


if __name__ == "__main__":
    main()
