"""DataLoader throughput beside PyTorch's: the same data sets, two worker processes, in one run.

    python bench/data.py [--workers 2] [--seconds 2] [--rounds 5] [CASE ...]

The sides take turns, so that what else the machine does meets both. A ratio is ours / PyTorch's in batches
per second: above 1 ours is faster. `pass` cases start their workers anew, the others keep them.
"""

import argparse
import statistics
import sys
import time
import warnings

import numpy
import torch

import ms_adapter.pytorch as ours

SIDES = {"PyTorch": torch, "ours": ours}


def tensors(t, count, *shape):
    """Slices of two tensors, as TensorDataset gives them."""
    t.manual_seed(0)
    return t.utils.data.TensorDataset(t.randn(count, *shape), t.randint(10, (count,)))


class Arrays:
    """Samples of NumPy arrays with a number as target, made in ``__getitem__`` as decoding an image would."""

    def __init__(self, count, *shape):
        self.source = numpy.random.default_rng(0).integers(0, 255, (64, *shape), dtype=numpy.uint8)
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.source[index % 64].astype(numpy.float32) / 255, index % 10


class Records:
    """Dictionaries of a text, two tensors and a number: what language models and detectors read."""

    def __init__(self, t, count):
        self.tokens = t.arange(512)
        self.mask = t.ones(512, dtype=t.bool)
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return {"text": "some words " * 10, "ids": self.tokens, "mask": self.mask, "label": index}


def stream(t, count, *shape):
    """An IterableDataset, each worker giving its share."""

    class Stream(t.utils.data.IterableDataset):
        def __iter__(self):
            sample = t.zeros(shape)
            return iter([sample] * (count // t.utils.data.get_worker_info().num_workers))

    return Stream()


# name -> (makes the data set, batch size, options)
CASES = {
    "rows 16x20": (lambda t: tensors(t, 8192, 20), 16, {}),
    "rows 256x20": (lambda t: tensors(t, 65536, 20), 256, {}),
    "digits 64x1x28x28": (lambda t: tensors(t, 16384, 1, 28, 28), 64, {}),
    "cifar 128x3x32x32": (lambda t: tensors(t, 16384, 3, 32, 32), 128, {}),
    "cifar shuffled": (lambda t: tensors(t, 16384, 3, 32, 32), 128, {"shuffle": True}),
    "images 16x3x224x224": (lambda t: tensors(t, 512, 3, 224, 224), 16, {}),
    "images 64x3x224x224": (lambda t: tensors(t, 512, 3, 224, 224), 64, {}),
    "arrays 64x3x32x32": (lambda t: Arrays(8192, 3, 32, 32), 64, {}),
    "arrays 32x3x224x224": (lambda t: Arrays(1024, 3, 224, 224), 32, {}),
    "records 32x512": (lambda t: Records(t, 4096), 32, {}),
    "numbers 256": (lambda t: range(65536), 256, {}),
    "samples 3x32x32": (lambda t: tensors(t, 4096, 3, 32, 32), None, {}),
    "stream 32x1000": (lambda t: stream(t, 8192, 1000), 32, {}),
    "out of order": (lambda t: tensors(t, 8192, 3, 32, 32), 64, {"in_order": False}),
    "pass of 32 batches": (lambda t: tensors(t, 2048, 3, 32, 32), 64, {"persistent_workers": False}),
}


def batches_per_second(loader, seconds):
    """Whole passes until the time is up; the first, which starts the workers, does not count with
    persistent ones.
    """
    if loader.persistent_workers:
        for _ in loader:
            pass
    count, begin = 0, time.perf_counter()
    while (passed := time.perf_counter() - begin) < seconds:
        for _ in loader:
            count += 1
    return count / passed


def measure(name, workers, seconds, rounds):
    """{side: [batches per second of each round]}, the sides taking turns."""
    make, batch_size, options = CASES[name]
    options = {"persistent_workers": True, "num_workers": workers, **options}
    loaders = {
        side: t.utils.data.DataLoader(make(t), batch_size=batch_size, **options) for side, t in SIDES.items()
    }
    found = {side: [] for side in SIDES}
    for number in range(rounds):
        for side in list(SIDES)[:: 1 if number % 2 else -1]:
            found[side].append(batches_per_second(loaders[side], seconds / rounds))
    return found


def main():
    """Print a line for each case, and the mean."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cases", nargs="*", help="beginnings of the names of cases; default: all")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each side of a case")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    warnings.filterwarnings("ignore", message="This DataLoader will create")
    chosen = [name for name in CASES if not args.cases or name.startswith(tuple(args.cases))]
    if not chosen:
        sys.exit(f"no such case; there are: {', '.join(CASES)}")
    ratios = []
    heads = f"{'batches per second':24}{'PyTorch':>10}{'ours':>10}{'ratio':>8}"
    print(f"{heads}   lowest to highest of {args.rounds} rounds")
    for name in chosen:
        found = measure(name, args.workers, args.seconds, args.rounds)
        each = [b / a for a, b in zip(found["PyTorch"], found["ours"], strict=True)]
        ratios.append(statistics.median(each))
        theirs, mine = (statistics.median(found[side]) for side in SIDES)
        span = f"{min(each):.2f} to {max(each):.2f}"
        print(f"{name:24}{theirs:10.1f}{mine:10.1f}{ratios[-1]:8.2f}   {span}", flush=True)
    print(f"geometric mean {statistics.geometric_mean(ratios):.2f}, lowest {min(ratios):.2f}")


if __name__ == "__main__":
    main()
