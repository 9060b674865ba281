"""Command line: python -m opgen --ops OPS --out FOLDER [--list] | --stub FILE | --reference FILE."""
from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import emit_ops, emit_python, emit_tables
from .formula import Library
from .load import Row, load
from .schema import RegistryError


def outputs(rows: list[Row], library: Library) -> dict[str, str]:
    """Every generated file: name -> content."""
    files = {}
    for file in dict.fromkeys(row.file for row in rows):
        mine, stem = [r for r in rows if r.file == file], emit_ops.stem(file)
        files[f"ops_{stem}.h"] = emit_ops.ops_header(file, mine)
        for space in emit_ops.SPACES:
            if text := emit_ops.declarations(file, mine, space):
                files[f"{space}_{stem}.h"] = text
        files[f"ops_{stem}.cpp"] = emit_ops.ops_source(file, mine, library)
        files[f"boxed_{stem}.cpp"] = emit_tables.info_source(file, mine)
    files["op_infos.cpp"] = emit_tables.infos_source(rows)
    files["sparse.cpp"] = emit_tables.sparse_source(rows)
    files["batched.cpp"] = emit_tables.batch_source(rows)
    files["bindings.cpp"] = emit_tables.bindings_source(rows)
    return files


def main() -> int:
    parser = argparse.ArgumentParser(prog="opgen", description=__doc__)
    parser.add_argument("--ops", type=Path, required=True, help="folder of the registry's .toml files")
    parser.add_argument("--out", type=Path, help="folder for the generated files")
    parser.add_argument("--list", action="store_true", help="print the .cpp files that a run writes, and write nothing")
    parser.add_argument("--stub", type=Path, help="write the .pyi of the operators here")
    parser.add_argument("--reference", type=Path, help="write the operator reference here")
    args = parser.parse_args()
    try:
        rows = load(args.ops)
        library = Library(rows, args.ops.parent / "core/autograd/formulas.h")
        files = outputs(rows, library)
    except RegistryError as err:
        print(err, file=sys.stderr)
        return 1
    for path, make in ((args.stub, emit_python.stub), (args.reference, emit_python.reference)):
        if path:
            path.write_text(make(rows))
    if not args.out:
        return 0
    if args.list:
        print("\n".join(str(args.out / name) for name in files if name.endswith(".cpp")))
        return 0
    args.out.mkdir(parents=True, exist_ok=True)
    for path in args.out.iterdir():  # of an earlier run: a source that still includes it must not compile
        if path.name not in files:
            path.unlink()
    for name, text in files.items():
        path = args.out / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
