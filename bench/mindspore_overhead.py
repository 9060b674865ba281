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
# The operators whose callable is called as it is, by the dtype of the operands; others go through an adapter.
DIRECT = {
    "float32": "neg sqrt floor ceil trunc round frac reciprocal relu isfinite "
    "add sub mul div maximum minimum eq ne lt le gt ge",
    "int64": "bitwise_and bitwise_or bitwise_xor",
    "bool": "logical_not logical_and logical_or logical_xor",
}
ADAPTED = {"float32": "exp tanh sigmoid matmul sum"}
UNARY = frozenset(
    "neg sqrt floor ceil trunc round frac reciprocal relu isfinite logical_not exp tanh sigmoid sum".split()  # noqa: SIM905
)


def timed_ns(call: Callable[[], Any], wait: Callable[[], None]) -> int:
    """One call until its result is there."""
    begin = time.perf_counter_ns()
    call()
    wait()
    return time.perf_counter_ns() - begin


def measure(name: str, dtype: str, size: int, calls: int) -> tuple[float, float]:
    """(ours, MindSpore's) median in us."""
    made = [torch.rand(size, size) + 0.5 for _ in range(1 if name in UNARY else 2)]
    operands = [t.to(getattr(torch, dtype)).to("mindspore") for t in made]
    theirs = [_C.package_tensor(t) for t in operands]
    ours, direct = getattr(torch, name), getattr(ms.ops, name)
    wait = ms.runtime.synchronize
    runs = (lambda: ours(*operands)), (lambda: direct(*theirs))
    for run in runs * 50:
        run()
    _C.take_call_counts("mindspore")
    spent: tuple[list[int], list[int]] = ([], [])
    for _ in range(calls):
        for run, times in zip(runs, spent):
            times.append(timed_ns(run, wait))
    ran = _C.take_call_counts("mindspore")
    assert ran == {name: {f"ops.{name}": calls}}, f"{name} was served by {ran}"
    return statistics.median(spent[0]) / 1000, statistics.median(spent[1]) / 1000


def table(names: dict[str, str], size: int, calls: int) -> float:
    """Prints a table; the greatest difference in us."""
    print(
        "| operator | operands | ours, us | MindSpore's, us | over it, us |\n| --- | --- | --- | --- | --- |"
    )
    worst = 0.0
    for dtype, words in names.items():
        for name in words.split():
            ours, theirs = measure(name, dtype, size, calls)
            worst = max(worst, ours - theirs)
            print(f"| {name} | {dtype} | {ours:.1f} | {theirs:.1f} | {ours - theirs:.1f} |", flush=True)
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=4, help="operands are size x size")
    parser.add_argument("--calls", type=int, default=2000)
    options = parser.parse_args()
    print("Called as they are:\n")
    worst = table(DIRECT, options.size, options.calls)
    print(f"\nworst {worst:.1f} us, limit {LIMIT_US} us\n\nThrough an adapter, which computes in float64:\n")
    table(ADAPTED, options.size, options.calls // 10)
    return int(worst >= LIMIT_US)


if __name__ == "__main__":
    raise SystemExit(main())
