"""Runs the demo, a CNN, an LSTM and a transformer with `--device cpu` and `--device mindspore --strict`, and
compares their losses; prints a table. Strict: an operator that would be computed on `cpu` ends the training.

make compare-mindspore
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMITS = {"float64": 1e-9, "float32": 1e-4}  # relative
STEPS = 20
SCRIPTS = {
    "demo": ["examples/digits/train.py", "--save", os.devnull],
    **{name: ["examples/mindspore/train.py", "--model", name] for name in ("cnn", "lstm", "transformer")},
}
# The runner, and what fell back, as its last line.
RUN = """
import json, sys
from ms_adapter import fallback_report, run
code = run.main(sys.argv[1:])
print(json.dumps([row for row, _, _ in fallback_report()]))
sys.exit(code)
"""


def losses(name, device, dtype, *options, steps=STEPS):
    """(losses, the operators that fell back) of a training in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.json"
        arguments = ["--device", device, *options, *SCRIPTS[name]]
        arguments += ["--steps", str(steps), "--dtype", dtype, "--json", str(file)]
        env = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-c", RUN, *arguments]
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{name} on {device}: {done.stderr.strip()}")
        return json.loads(file.read_text())["losses"], json.loads(done.stdout.splitlines()[-1])


def difference(name, dtype, *options, steps=STEPS):
    """(the greatest relative difference between the devices' losses, the operators that fell back)."""
    cpu, _ = losses(name, "cpu", dtype, steps=steps)
    there, fell_back = losses(name, "mindspore", dtype, *options, steps=steps)
    assert len(cpu) == len(there) == steps and len(set(cpu)) == steps
    return max(abs(a - b) / abs(a) for a, b in zip(cpu, there)), fell_back


def main():
    print("| training | dtype | greatest relative difference of a loss | limit | computed on `cpu` |")
    print("| --- | --- | --- | --- | --- |")
    failed = False
    for name in SCRIPTS:
        for dtype, limit in LIMITS.items():
            found, fell_back = difference(name, dtype, "--strict")
            failed |= found > limit
            listed = ", ".join(f"`{row}`" for row in fell_back) or "nothing"
            print(f"| {name} | {dtype} | {found:.1e} | {limit:.0e} | {listed} |", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
