"""How a case reports: one JSON line for each check, with numbers to compare or the error that ended it."""

import contextlib
import json
import sys
import time
import traceback


class Check:
    """What one check found: numbers, and how far they may part from the other side's."""

    def __init__(self):
        self.values = None
        self.tolerance = 1e-9


def _plain(value):
    """Numbers, text and containers, of tensors too."""
    if hasattr(value, "detach"):
        value = value.detach()
        value = value.to(float) if value.is_floating_point() else value
        return value.resolve_conj().tolist()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (bool, int, float, str)) or value is None:
        return value
    return value.item() if hasattr(value, "item") else str(value)


@contextlib.contextmanager
def check(name):
    """Runs a check; an error in it is reported and the next one runs."""
    found, start, error = Check(), time.perf_counter(), None
    try:
        yield found
    except Exception as raised:
        error = f"{type(raised).__name__}: {raised}"
        traceback.print_exc()
    line = {"check": name, "error": error, "values": _plain(found.values), "tolerance": found.tolerance}
    print("\n@check " + json.dumps(line | {"seconds": time.perf_counter() - start}), flush=True)


def train(torch, model, loss_of, steps=3, lr=0.01):
    """The losses of a few steps of SGD."""
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


if __name__ == "__main__":
    sys.exit("checks.py is imported by the cases")
