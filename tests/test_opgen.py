"""The generator's checks: each fault of the registry is refused with file, row and cause."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from opgen.formula import Library, declarations
from opgen.load import load
from opgen.schema import parse

ROOT = Path(__file__).parent.parent

GOOD = """
[[op]]
schema = "double(Tensor input) -> Tensor"
kind = "elementwise"
dtype = "promote"
gradient = { input = "grad * 2" }

[[op]]
schema = "mul(Tensor input, Tensor other) -> Tensor"
kind = "elementwise"
dtype = "promote"
gradient = "none"
"""

FAULTS = {
    "unknown operator 'halve'": ('"grad * 2"', '"halve(grad)"'),
    "unknown name 'outpu'": ('"grad * 2"', '"grad * outpu"'),
    "'mul' takes 2 arguments, the formula gives 3": ('"grad * 2"', '"mul(grad, 2, 3)"'),
    "'mul' misses its argument 'other'": ('"grad * 2"', '"mul(grad)"'),
    "is no expression": ('"grad * 2"', '"grad *"'),
    "'size' is not a Tensor parameter": ('{ input = "grad * 2" }', '{ size = "grad" }'),
    "gradient missing": ('gradient = { input = "grad * 2" }\n', ""),
    "neither a table nor one of": ('{ input = "grad * 2" }', '"later"'),
    "duplicate name": ('"double(Tensor input)', '"mul(Tensor input)'),
    "the schema does not parse": ('"double(Tensor input) -> Tensor"', '"double(Tensor input)"'),
    "unknown type 'Tensr'": ('"double(Tensor input)', '"double(Tensr input)'),
    "two parameters share a name": ('"double(Tensor input)', '"double(Tensor input, int input)'),
    "kind 'elementwize' is none of": (
        'kind = "elementwise"\ndtype = "promote"\ngradient = {',
        'kind = "elementwize"\ndtype = "promote"\ngradient = {',
    ),
    "dtype 'widest' is none of": ('dtype = "promote"\ngradient = {', 'dtype = "widest"\ngradient = {'),
    "autocast is one of": (
        'dtype = "promote"\ngradient = {',
        'autocast = "higher"\ndtype = "promote"\ngradient = {',
    ),
    "unknown field ['colour']": (
        'kind = "elementwise"\ndtype = "promote"\ngradient = {',
        'kind = "elementwise"\ncolour = "red"\ndtype = "promote"\ngradient = {',
    ),
    "'shape' means nothing in a row of kind 'elementwise'": (
        'dtype = "promote"\n',
        'dtype = "promote"\nshape = "like(input)"\n',
    ),
    "an elementwise row has one Tensor": (
        '"double(Tensor input) -> Tensor"',
        '"double(Tensor input) -> (Tensor, Tensor)"',
    ),
    "forms is a list of strings": ('dtype = "promote"\n', 'dtype = "promote"\nforms = "method"\n'),
    "'like(inptu)' names no Tensor parameter": (
        'kind = "elementwise"\ndtype = "promote"\n',
        'kind = "kernel"\nshape = "like(inptu)"\n',
    ),
    "'mask' is not 'Tensor name'": (
        'kind = "elementwise"\ndtype = "promote"\n',
        'kind = "kernel"\nshape = "like(input)"\nsave = ["mask"]\n',
    ),
    "a view has no out form": (
        'kind = "elementwise"\ndtype = "promote"\n',
        'kind = "view"\nlayout = "alias"\nforms = ["out"]\n',
    ),
    "outside the formula language": ('"grad * 2"', '"[x for x in grad]"'),
}


def generate(tmp_path: Path, text: str) -> subprocess.CompletedProcess[str]:
    ops = tmp_path / "ops"
    ops.mkdir()
    (ops / "sample.toml").write_text(text)
    command = [sys.executable, "-m", "opgen", "--ops", str(ops), "--out", str(tmp_path / "out")]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_good_registry_generates(tmp_path: Path) -> None:
    done = generate(tmp_path, GOOD)
    assert done.returncode == 0, done.stderr
    assert "DoubleBackward0" in (tmp_path / "out/ops_sample.cpp").read_text()


@pytest.mark.parametrize("cause", FAULTS)
def test_a_fault_names_file_row_and_cause(tmp_path: Path, cause: str) -> None:
    old, new = FAULTS[cause]
    assert old in GOOD
    done = generate(tmp_path, GOOD.replace(old, new, 1))
    assert done.returncode == 1
    assert cause in done.stderr
    assert "ops/sample.toml" in done.stderr and ("double" in done.stderr or "mul" in done.stderr)


def test_output_is_stable(tmp_path: Path) -> None:
    """A second run writes nothing, so that ninja builds nothing."""
    generate(tmp_path, GOOD)
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "out").iterdir()}
    command = [sys.executable, "-m", "opgen", "--ops", str(tmp_path / "ops"), "--out", str(tmp_path / "out")]
    subprocess.run(command, cwd=ROOT, check=True)
    assert before == {p: p.stat().st_mtime_ns for p in (tmp_path / "out").iterdir()}


def test_schema_defaults_and_types() -> None:
    schema = parse(
        "f.x(Tensor|Scalar a, int[2] stride=1, *, str mode='mean', dtype? dtype=None) -> (Tensor, Tensor)"
    )
    a, stride, mode, dtype = schema.params
    assert (schema.name, schema.overload, schema.results) == ("f", "x", ["Tensor", "Tensor"])
    assert a.takes_number and not a.keyword_only
    assert stride.cpp_default() == "{1, 1}"
    assert mode.keyword_only and mode.cpp_default() == '"mean"'
    assert dtype.cpp_default() == "{}"


def test_helpers_are_read_from_their_header() -> None:
    header = "Tensor spread(const Tensor& grad, const Dims& sizes, bool keep = false);  // comment"
    ((name, params, result),) = declarations(header)
    assert (name, [p.type for p in params], result) == ("spread", ["Tensor", "int[]", "bool"], "Tensor")


def test_the_registry_itself() -> None:
    rows = load(ROOT / "ops")
    library = Library(rows, ROOT / "core/autograd/formulas.h")
    assert len(rows) > 30 and "mul" in library.known


def test_the_operator_reference_is_up_to_date(tmp_path):
    written = tmp_path / "operators.md"
    command = [sys.executable, "-m", "opgen", "--ops", "ops", "--reference", str(written)]
    subprocess.run(command, cwd=ROOT, check=True)
    assert written.read_text() == (ROOT / "docs" / "operators.md").read_text(), "run: make reference"
