"""convert_sweep.py [COUNT]: files that need no change come out of `ms-adapter convert` byte for byte.

Takes COUNT files (1,000 unless told), spread over the standard library and this interpreter's site-packages,
puts each through the parser and back, and prints those that differ or cannot be parsed. Exit code 1: a file
differs.
"""

from __future__ import annotations

import ast
import sys
import sysconfig
import warnings
from pathlib import Path

import libcst

from ms_adapter.tools.converting.rewrite import rewrite


def chosen(count: int) -> list[Path]:
    """The same share of each folder of packages, evenly spread."""
    found: list[Path] = []
    for kind in ("stdlib", "purelib"):
        inside = sorted(Path(sysconfig.get_path(kind)).rglob("*.py"))
        if kind == "stdlib":
            inside = [p for p in inside if "site-packages" not in p.parts]
        half = count // 2
        found += inside[:: max(len(inside) // half, 1)][:half]
    return found


def main() -> int:
    same = changed = unparsed = 0
    for path in chosen(int(sys.argv[1]) if len(sys.argv) > 1 else 1000):
        data = path.read_bytes()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ast.parse(data)
        except (SyntaxError, ValueError):
            continue  # a broken file of a test suite
        try:
            new = rewrite(data, always=True)
        except libcst.ParserSyntaxError as error:
            unparsed += 1
            print(f"{path}: {str(error).splitlines()[0]}")
            continue
        if new.data == data:
            same += 1
        elif new.changed:
            changed += 1  # a package that imports torch
        else:
            print(f"{path}: differs")
            return 1
    print(
        f"{same} files the same byte for byte, {changed} that import torch rewritten, {unparsed} not parsed"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
