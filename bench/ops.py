"""Each operator's time against PyTorch's, at a small and a large shape; generated from the registry.

    python bench/ops.py                       # all rows: about ten minutes on a quiet machine
    python bench/ops.py --only '^softmax'     # rows whose name matches
    python bench/ops.py --json ops.json       # with --only: replaces these rows' records in the file

Two processes, one for each side, are asked in turn for the same call; the one that waits sleeps. A figure
is the best of the rounds, because whatever else the machine does only adds time. Both results are compared
before a time counts. A ratio below 1 means that we are faster. A row that PyTorch has no public name for,
or no call at these shapes, is listed, not timed. `--clock cpu` counts processor seconds of one thread
instead: what to use while the machine does other work.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import multiprocessing as mp
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from op_causes import cause_of  # noqa: E402
from op_inputs import CALLED_AS, SIZES, arguments, whole  # noqa: E402

from opgen.emit_tables import public_names  # noqa: E402
from opgen.load import Row, load  # noqa: E402

SIDES = {"ours": "ms_adapter.pytorch", "torch": "torch"}
DIRECTIONS = ("forward", "backward")
RANDOM = re.compile(
    "rand|normal|bernoulli|dropout|multinomial|empty|rrelu|poisson|binomial|cauchy|exponential|geometric"
)


# --- one side, in its own process ---
class Side:
    """The calls of one module: prepared, then timed on demand."""

    def __init__(self, module: str, clock: str) -> None:
        self.t = importlib.import_module(module)
        self.clock = time.process_time if clock == "cpu" else time.perf_counter
        if clock == "cpu":
            self.t.set_num_threads(1)
        self.steps: dict[str, Callable[[], Any]] = {}

    def tensor(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return self.t.from_numpy(value.copy())
        if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
            return [self.tensor(v) for v in value]
        return getattr(self.t, value) if value == "float64" else value

    def prepare(self, name: str, kind: str, call: dict[str, Any]) -> tuple[list[np.ndarray], bool]:
        """Makes the steps; returns the forward results and whether there is a backward."""
        self.steps.clear()
        values = {k: self.tensor(v) for k, v in call.items()}
        function = self.find(name, kind)
        invoke = lambda: function(*values.values())  # noqa: E731
        try:
            results = self.flat(invoke())
        except TypeError:  # keyword-only parameters
            first, *rest = values
            invoke = lambda: function(values[first], **{k: values[k] for k in rest})  # noqa: E731
            results = self.flat(invoke())
        self.steps["forward"] = invoke
        leaves = [v for v in values.values() if isinstance(v, self.t.Tensor) and v.is_floating_point()]
        for leaf in leaves:
            leaf.requires_grad_(True)
        try:
            outputs = [r for r in self.flat(invoke()) if r.requires_grad and r.grad_fn is not None][:1]
            if outputs:
                seed = [self.t.ones_like(r) for r in outputs]
                back = lambda: self.t.autograd.grad(
                    outputs, leaves, seed, retain_graph=True, allow_unused=True
                )  # noqa: E731
                back()
                self.steps["backward"] = back
        except (RuntimeError, NotImplementedError):
            pass  # not differentiable here; the other side says the same or the case shows as missing
        if "backward" not in self.steps:
            for leaf in leaves:
                leaf.requires_grad_(False)
        else:  # forward is timed without recording
            values = {k: v.detach() if isinstance(v, self.t.Tensor) else v for k, v in values.items()}
        shown = [r.float() if r.dtype == self.t.bfloat16 else r for r in results]
        return [r.detach().numpy() for r in shown], "backward" in self.steps

    def find(self, name: str, kind: str) -> Callable[..., Any]:
        owner = self.t.Tensor if kind == "method" else self.t
        for part in name.split("."):
            owner = getattr(owner, part)
        return owner

    def flat(self, result: Any) -> list[Any]:
        items = result if isinstance(result, (tuple, list)) else [result]
        return [r for r in items if isinstance(r, self.t.Tensor)]

    def time_s(self, direction: str, budget_s: float) -> float:
        """Seconds of one call: the best of batches that are long enough for the clock."""
        step, count = self.steps[direction], 1
        while True:
            start = self.clock()
            for _ in range(count):
                step()
            spent = self.clock() - start
            if spent > budget_s / 4:
                return spent / count
            count = max(count * 2, int(count * budget_s / 2 / max(spent, 1e-9)))


def serve(module: str, clock: str, pipe: Connection) -> None:
    side = Side(module, clock)
    while (request := pipe.recv()) is not None:
        try:
            pipe.send((True, getattr(side, request[0])(*request[1:])))
        except Exception as err:  # noqa: BLE001 - whatever the call raises is the answer
            pipe.send((False, f"{type(err).__name__}: {str(err).splitlines()[0][:90] if str(err) else ''}"))


class Remote:
    """A side as the parent sees it."""

    def __init__(self, module: str, clock: str) -> None:
        self.module = module
        self.clock = clock
        self.start()

    def start(self) -> None:
        self.pipe, theirs = mp.Pipe()
        context = mp.get_context("spawn")
        self.process = context.Process(target=serve, args=(self.module, self.clock, theirs), daemon=True)
        self.process.start()
        theirs.close()

    def ask(self, *request: Any) -> Any:
        self.pipe.send(request)
        try:
            good, answer = self.pipe.recv()
        except EOFError:
            self.process.join()
            exit_code = self.process.exitcode
            self.start()
            raise LookupError(f"ours: {self.module} ended with exit code {exit_code}") from None
        if not good:
            raise RuntimeError(answer)
        return answer


# --- the table ---
def targets(rows: list[Row]) -> Iterator[tuple[Row, str, str]]:
    """(row, public name, function or method), once for each row with a public name."""
    functions, methods = public_names(rows)
    done: set[int] = set()
    for kind, table in (("function", functions), ("method", methods)):
        for name, overloads in table.items():
            for row, form in overloads:
                called = CALLED_AS.get(row.label, name)
                if form == "Function" and id(row) not in done and not called.startswith("_"):
                    done.add(id(row))
                    yield row, called, kind


def as_integers(call: dict[str, Any]) -> dict[str, Any]:
    return {
        k: whole(10, *v.shape) if isinstance(v, np.ndarray) and v.dtype == np.float32 else v
        for k, v in call.items()
    }


def same(ours: np.ndarray, theirs: np.ndarray) -> bool:
    """Equal but for rounding; which of equal elements an index names is left open, as in an unstable sort."""
    if ours.ndim and ours.dtype == theirs.dtype == np.int64:
        return bool(np.mean(ours == theirs) > 0.9)
    return bool(np.allclose(ours, theirs, 1e-3, 1e-4, equal_nan=True))


def prepare(sides: dict[str, Remote], row: Row, name: str, kind: str, size: str) -> set[str]:
    """Both sides ready for the call; raises with the reason where one is not, or their results differ."""
    call = arguments(row, size)
    try:
        theirs, back = sides["torch"].ask("prepare", name, kind, call)
    except RuntimeError:
        call = as_integers(call)  # bitwise operators and the like
        theirs, back = sides["torch"].ask("prepare", name, kind, call)
    try:
        ours, our_back = sides["ours"].ask("prepare", name, kind, call)
    except RuntimeError as err:
        raise LookupError(f"ours: {err}") from None
    if len(ours) != len(theirs) or any(a.shape != b.shape for a, b in zip(ours, theirs)):
        raise LookupError("ours: other shapes")
    if not RANDOM.search(row.name) and not all(map(same, ours, theirs)):
        raise LookupError("ours: other values")
    if back and not our_back:
        raise LookupError("ours: no backward")
    return {"forward", "backward"} if back else {"forward"}


def measure(sides: dict[str, Remote], direction: str, rounds: int, budget_s: float) -> dict[str, float]:
    best = dict.fromkeys(sides, math.inf)
    for _ in range(rounds):
        for name, side in sides.items():
            best[name] = min(best[name], side.ask("time_s", direction, budget_s))
    return best


def run(args: argparse.Namespace) -> list[dict[str, Any]]:
    sides = {name: Remote(module, args.clock) for name, module in SIDES.items()}
    records = []
    for row, name, kind in targets(load(ROOT / "ops")):
        if not re.search(args.only, row.label):
            continue
        for size in args.sizes.split(","):
            record: dict[str, Any] = {"op": row.label, "name": name, "size": size, "file": row.file}
            try:
                for direction in sorted(prepare(sides, row, name, kind, size), reverse=True):
                    best = measure(sides, direction, args.rounds, args.budget_ms / 1000)
                    record[direction] = {
                        **{k: v * 1e6 for k, v in best.items()},
                        "ratio": best["ours"] / best["torch"],
                    }
            except (RuntimeError, LookupError) as err:
                record["missing"] = str(err)
            records.append(record)
            if args.verbose:
                print(record, flush=True)
    for remote in sides.values():
        remote.pipe.send(None)
    return records


def geomean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def report(records: list[dict[str, Any]], over: float) -> None:
    print(f"{'size':6} {'direction':9} {'cases':>5} {'geomean':>8} {'over 1.5x':>9} {'over 5x':>8}")
    for size in SIZES:
        for direction in DIRECTIONS:
            ratios = [r[direction]["ratio"] for r in records if r["size"] == size and direction in r]
            if ratios:
                counts = f"{sum(x > 1.5 for x in ratios):9} {sum(x > 5 for x in ratios):8}"
                print(f"{size:6} {direction:9} {len(ratios):5} {geomean(ratios):8.3f} {counts}")
    slow = sorted(((r[d]["ratio"], r, d) for r in records for d in DIRECTIONS if d in r), key=lambda x: -x[0])
    print(f"\nslower than {over} times PyTorch:")
    for ratio, record, direction in slow:
        if ratio > over and record["size"] == "large":
            took = record[direction]
            pair = f"{took['ours']:10.1f} us, PyTorch {took['torch']:10.1f} us"
            print(f"  {ratio:6.2f}  {record['op']:40} {direction:9} {pair}")
    missing = {r["op"]: r["missing"] for r in records if "missing" in r}
    ours = {k: v for k, v in missing.items() if v.startswith("ours")}
    print(
        f"\n{len(ours)} rows fail or differ here; {len(missing) - len(ours)} have no call that PyTorch takes:"
    )
    for name, cause in sorted(missing.items(), key=lambda item: not item[1].startswith("ours")):
        print(f"  {name:40} {cause}")


def write_page(records: list[dict[str, Any]], over: float, clock: str, path: Path) -> None:
    """The figures as a page, each slow case with the cause that `op_causes` gives."""
    clocks = {"wall": "wall time, all threads", "cpu": "processor time of one thread"}
    lines = [
        "# Speed of each operator against PyTorch",
        "",
        f"Written by `python bench/ops.py --page` ({clocks[clock]}); below 1 we are faster.",
        "What is timed, at which shapes, is in `bench/op_inputs.py`; the causes are in `bench/op_causes.py`.",
        "",
        f"| size | direction | cases | geometric mean | over {over} | over 5 |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for size in SIZES:
        for direction in DIRECTIONS:
            ratios = [r[direction]["ratio"] for r in records if r["size"] == size and direction in r]
            if ratios:
                counts = f"{sum(x > over for x in ratios)} | {sum(x > 5 for x in ratios)}"
                lines.append(f"| {size} | {direction} | {len(ratios)} | {geomean(ratios):.2f} | {counts} |")
    lines += ["", f"Slower than {over} times PyTorch at the large shape:", ""]
    lines += ["| ratio | operator | direction | ours, us | PyTorch, us | cause |", "| --- " * 6 + "|"]
    slow = sorted(((r[d]["ratio"], r, d) for r in records for d in DIRECTIONS if d in r), key=lambda x: -x[0])
    for ratio, record, direction in slow:
        if ratio > over and record["size"] == "large":
            times = f"{record[direction]['ours']:.0f} | {record[direction]['torch']:.0f}"
            cause = cause_of(record["op"], direction)
            lines.append(f"| {ratio:.1f} | `{record['op']}` | {direction} | {times} | {cause} |")
    missing = sorted(f"`{r['op']}`" for r in records if "missing" in r and r["size"] == "large")
    lines += ["", f"Not timed, for want of a call that both sides take: {', '.join(missing)}."]
    path.write_text("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="regular expression searched in the row's name")
    parser.add_argument("--sizes", default="small,large")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--budget-ms", type=float, default=10, help="least time of one measurement")
    parser.add_argument(
        "--over", type=float, default=1.5, help="list what is slower than this at the large shape"
    )
    parser.add_argument("--json", type=Path, help="write every record here")
    parser.add_argument("--page", type=Path, help="write the table with causes here (docs/speed.md)")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # the side that waits must not spin
    records = run(args)
    if args.json and args.only and args.json.exists():
        fresh = {record["op"] for record in records}
        records += [r for r in json.loads(args.json.read_text()) if r["op"] not in fresh]
    report(records, args.over)
    if args.page:
        write_page(records, args.over, args.clock, args.page)
    if args.json:
        args.json.write_text(json.dumps(records, indent=1))


if __name__ == "__main__":
    main()
