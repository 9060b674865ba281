"""python bench/mindspore_overhead.py: what a call on the device `mindspore` costs over MindSpore's own.

Each operator is timed both ways in turns, in one process, MindSpore synchronised after each call. A call here
goes through our parser, rules, backend table and result; the callable that ran is asserted. Runs in the
environment of `make test-mindspore`.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import ms_adapter.pytorch as torch  # before mindspore, which leaves no static TLS for libraries after it
from ms_adapter import _C

import mindspore as ms  # isort: skip

LIMIT_US = 4.0
# (name, MindSpore callable that serves it, how many operands, further arguments)
CASES: list[tuple[str, str, int, tuple[Any, ...]]] = [
    ("neg", "ops.neg", 1, ()),
    ("sqrt", "ops.sqrt", 1, ()),
    ("sin", "ops.sin", 1, ()),
    ("add", "ops.add", 2, ()),
    ("sub", "ops.sub", 2, ()),
    ("mul", "ops.mul", 2, ()),
    ("div", "ops.div", 2, ()),
    ("maximum", "ops.maximum", 2, ()),
    ("lt", "ops.lt", 2, ()),
    ("eq", "ops.eq", 2, ()),
]


def timed_ns(call: Callable[[], Any], wait: Callable[[], None]) -> int:
    """One call until its result is there."""
    begin = time.perf_counter_ns()
    call()
    wait()
    return time.perf_counter_ns() - begin


def measure(case: tuple[str, str, int, tuple[Any, ...]], size: int, calls: int) -> tuple[float, float]:
    """(ours, MindSpore's) median in us."""
    name, path, n, rest = case
    operands = [torch.rand(size, size, device="mindspore") + 0.5 for _ in range(n)]
    theirs = [_C.package_tensor(t) for t in operands]
    ours = getattr(torch, name)
    direct = getattr(ms.ops, path.rpartition(".")[2])
    wait = ms.runtime.synchronize
    runs = (lambda: ours(*operands, *rest)), (lambda: direct(*theirs, *rest))
    for run in runs * 50:
        run()
    _C.take_call_counts("mindspore")
    spent: tuple[list[int], list[int]] = ([], [])
    for _ in range(calls):
        for run, times in zip(runs, spent):
            times.append(timed_ns(run, wait))
    ran = _C.take_call_counts("mindspore")
    assert ran == {name: {path: calls}}, f"{name} was served by {ran}"
    return statistics.median(spent[0]) / 1000, statistics.median(spent[1]) / 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=4, help="operands are size x size, float32")
    parser.add_argument("--calls", type=int, default=2000)
    options = parser.parse_args()
    print(
        "| operator | callable | ours, us | MindSpore's, us | over it, us |\n| --- | --- | --- | --- | --- |"
    )
    worst = 0.0
    for case in CASES:
        ours, theirs = measure(case, options.size, options.calls)
        worst = max(worst, ours - theirs)
        print(f"| {case[0]} | `{case[1]}` | {ours:.1f} | {theirs:.1f} | {ours - theirs:.1f} |", flush=True)
    print(f"\nworst {worst:.1f} us, limit {LIMIT_US} us")
    return int(worst >= LIMIT_US)


if __name__ == "__main__":
    raise SystemExit(main())
