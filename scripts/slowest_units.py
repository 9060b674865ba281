"""Prints the slowest translation units of a ninja build, so that a slow one is noticed when it appears."""

from __future__ import annotations

import sys
from pathlib import Path


def compile_times(log: Path) -> dict[str, float]:
    """Seconds that each object took when it was last built, by its path in the build folder."""
    times: dict[str, float] = {}
    for line in log.read_text().splitlines():
        fields = line.split("\t")
        if len(fields) == 5 and fields[3].endswith((".o", ".gch")):
            times[fields[3]] = (int(fields[1]) - int(fields[0])) / 1000
    return times


def main() -> None:
    build = Path(sys.argv[1] if len(sys.argv) > 1 else "build")
    times = compile_times(build / ".ninja_log")
    print(f"ten slowest of {len(times)} translation units ({sum(times.values()):.0f} s in all):")
    for name, seconds in sorted(times.items(), key=lambda item: -item[1])[:10]:
        print(f"{seconds:8.1f} s  {name}")


if __name__ == "__main__":
    main()
