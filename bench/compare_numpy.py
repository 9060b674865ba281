"""`ms_adapter.tools.compare` against the loop over NumPy that one would write: time and peak memory.

Each runs in a process of its own on the same folders of npy files, which are in the system's cache for both.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

TENSORS = 16


def write_tensors(folder: str, gigabytes: float) -> None:
    """Two folders of float32 tensors that differ by rounding, here and there by more."""
    import numpy as np

    count = int(gigabytes * (1 << 30) / 4 / 2 / TENSORS)
    random = np.random.default_rng(0)
    for side in "ab":
        os.makedirs(os.path.join(folder, side))
    for i in range(TENSORS):
        a = random.standard_normal(count, dtype=np.float32)
        np.save(os.path.join(folder, "a", f"layer{i:02}.npy"), a)
        a *= np.float32(1 + 1e-7)
        a[:: count // 7] += np.float32(0.01)
        np.save(os.path.join(folder, "b", f"layer{i:02}.npy"), a)


def compare_with_numpy(folder: str) -> float:
    """The same figures, file by file; the largest error of all."""
    import numpy as np

    worst = 0.0
    for name in sorted(os.listdir(os.path.join(folder, "a"))):
        a = np.load(os.path.join(folder, "a", name))
        b = np.load(os.path.join(folder, "b", name))
        distance = np.abs(b - a)
        larger = np.maximum(np.abs(a), np.abs(b))
        relative = np.divide(distance, larger, out=np.zeros_like(distance), where=larger != 0)
        x, y = a.view(np.int32).astype(np.int64), b.view(np.int32).astype(np.int64)
        lowest = np.int64(-(2**31))
        ulps = np.abs(np.where(x < 0, lowest - x, x) - np.where(y < 0, lowest - y, y))
        place = np.unravel_index(distance.argmax(), distance.shape)
        figures = (
            distance.max(), distance.mean(dtype=np.float64), relative.max(), relative.mean(dtype=np.float64),
            float(a.ravel() @ b.ravel()) / float(np.linalg.norm(a) * np.linalg.norm(b)),
            ulps.max(), ulps.mean(), a[place], b[place], np.isclose(b, a, rtol=1.3e-6, atol=1e-5).mean(),
            np.isnan(a).sum(), np.isnan(b).sum(), np.isinf(a).sum(), np.isinf(b).sum(),
        )  # fmt: skip
        worst = max(worst, float(figures[0]))
    return worst


def compare_with_core(folder: str) -> float:
    """The tool."""
    from ms_adapter.tools import compare

    return compare(os.path.join(folder, "a"), os.path.join(folder, "b")).rows[0].max_abs


WAYS = {"numpy": compare_with_numpy, "ms_adapter": compare_with_core}


def _peak_kib() -> int:
    """Of this process alone: what getrusage says includes the parent until the program was loaded."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def run_one(way: str, folder: str) -> None:
    """Print seconds, MiB at the peak, and the result."""
    started = time.perf_counter()
    worst = WAYS[way](folder)
    seconds = time.perf_counter() - started
    peak_mib = _peak_kib() / 1024
    print(f"{seconds:.3f} {peak_mib:.0f} {worst:.6g}")


def main() -> None:
    """Measure both and print them side by side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=4, help="of tensors, both sides together")
    parser.add_argument("--folder", help="where to write them (default: a temporary folder)")
    parser.add_argument("--one", nargs=2, metavar=("WAY", "FOLDER"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        return run_one(*arguments.one)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        write_tensors(folder, arguments.gigabytes)
        seconds = {}
        for way in WAYS:
            command = [sys.executable, __file__, "--one", way, folder]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            seconds[way], peak, worst = (float(word) for word in done.stdout.split())
            print(f"{way:12} {seconds[way]:8.2f} s  peak {peak:6.0f} MiB  largest error {worst:g}")
        print(f"ms_adapter is {seconds['numpy'] / seconds['ms_adapter']:.1f} times faster")


if __name__ == "__main__":
    main()
