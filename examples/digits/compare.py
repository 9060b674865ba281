"""Runs train.py under PyTorch and under ms_adapter, each in its own process, and prints them side by side.

Exit code 1 when they differ by more than they may: in float64 1e-9 over the first 20 losses; in float32
three times what PyTorch differs from itself, with oneDNN on and off, in the same run; 0.3 points of accuracy,
or, in float32, as much as PyTorch's two runs are apart.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

TRAIN = Path(__file__).with_name("train.py")
FIRST = 20
PYTORCH = [sys.executable, str(TRAIN)]
PYTORCH_WITHOUT_ONEDNN = [
    sys.executable,
    "-c",
    "import sys, runpy, torch; torch.backends.mkldnn.set_flags(False); sys.argv.pop(0);"
    "sys.path[0] = sys.argv[0].rpartition('/')[0]; runpy.run_path(sys.argv[0], run_name='__main__')",
    str(TRAIN),
]
OURS = [sys.executable, "-m", "ms_adapter.run", str(TRAIN)]
MAX_FLOAT64 = 1e-9
MAX_SPREADS = 3
MAX_ACCURACY = 0.003


def result_of(title: str, command: list[str], dtype: str, extra: list[str]) -> dict:
    """Run one training and read what it measured."""
    print(f"running {title}, {dtype} ...", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "result.json"
        args = ["--dtype", dtype, "--json", str(out), "--save", f"{folder}/weights.pt", *extra]
        done = subprocess.run([*command, *args], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{title} failed:\n{done.stderr}")
        return json.loads(out.read_text())


def difference(a: dict, b: dict) -> float:
    """Largest relative difference of the first losses."""
    pairs = zip(a["losses"][:FIRST], b["losses"][:FIRST], strict=True)
    return max(abs(x - y) / max(abs(x), abs(y)) for x, y in pairs)


def step_ms(result: dict) -> float:
    return statistics.median(result["seconds"]) * 1e3


def print_losses(columns: dict[str, dict]) -> None:
    print(f"\n{'step':>4}" + "".join(f"{title:>24}" for title in columns))
    for step in range(min(FIRST, *(len(c["losses"]) for c in columns.values()))):
        print(f"{step + 1:4}" + "".join(f"{c['losses'][step]:24.16f}" for c in columns.values()))


def print_totals(columns: dict[str, dict]) -> None:
    print(f"\n{'':24}{'ms per step':>12}{'seconds':>10}{'accuracy':>10}")
    for title, c in columns.items():
        print(f"{title:24}{step_ms(c):12.2f}{sum(c['seconds']):10.2f}{c['accuracy']:10.2%}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare the example under PyTorch and ms_adapter.")
    parser.add_argument("train_args", nargs="*", help="passed on to train.py (after --)")
    extra = parser.parse_args().train_args
    runs = {
        "PyTorch float64": result_of("PyTorch", PYTORCH, "float64", extra),
        "ms_adapter float64": result_of("ms_adapter", OURS, "float64", extra),
        "PyTorch float32": result_of("PyTorch", PYTORCH, "float32", extra),
        "ms_adapter float32": result_of("ms_adapter", OURS, "float32", extra),
        "PyTorch without oneDNN": result_of("PyTorch", PYTORCH_WITHOUT_ONEDNN, "float32", extra),
    }
    torch64, ours64, torch32, ours32, plain32 = runs.values()
    print_losses(runs)
    print_totals(runs)

    spread = difference(torch32, plain32)
    may_differ = max(MAX_ACCURACY, abs(torch32["accuracy"] - plain32["accuracy"]))
    checks = [
        ("float64: largest relative difference", difference(torch64, ours64), MAX_FLOAT64),
        ("float32: largest relative difference", difference(torch32, ours32), MAX_SPREADS * spread),
        ("float64: difference in accuracy", abs(torch64["accuracy"] - ours64["accuracy"]), MAX_ACCURACY),
        (
            "float32: difference in accuracy",
            abs(torch32["accuracy"] - ours32["accuracy"]),
            may_differ,
        ),
    ]
    print(f"\nfloat32: PyTorch differs from itself by {spread:.2g} (first {FIRST} losses, oneDNN on and off)")
    for what, value, limit in checks:
        print(f"{what} {value:.2g}, may be {limit:.2g}: {'ok' if value <= limit else 'TOO FAR'}")
    print(f"time: ms_adapter/PyTorch {step_ms(ours32) / step_ms(torch32):.2f} in float32")
    return int(any(value > limit for _, value, limit in checks))


if __name__ == "__main__":
    sys.exit(main())
