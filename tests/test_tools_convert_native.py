"""convert --to mindspore: identical names are MindSpore's, the rest is marked, twice is once.

The map is made up here, so that what it says of a name stays; tests/mindspore_device runs what comes of the
real one.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

pytest.importorskip("libcst")

from ms_adapter import cli  # noqa: E402
from ms_adapter.tools import mapping  # noqa: E402
from ms_adapter.tools.converting.native import cell_names  # noqa: E402
from ms_adapter.tools.converting.project import convert, write_in_place  # noqa: E402

IDENTICAL = {
    "torch.cat": "mint.cat",
    "torch.sqrt": "mint.sqrt",
    "torch.ger": "ops.outer",
    "torch.nn.functional.relu": "mint.nn.functional.relu",
    "torch.nn.SiLU": "mint.nn.SiLU",
    "torch.Tensor.view": "Tensor.view",
    "torch.Tensor.numpy": "Tensor.asnumpy",
}
DIFFERS = {
    "torch.nn.Module": ("nn.Cell", "semantics"),
    "torch.nn.Linear": ("mint.nn.Linear", "order"),
    "torch.sum": ("mint.sum", "dtypes"),
    "torch.Tensor.__matmul__": ("Tensor.__matmul__", "results"),
    "torch.Tensor.__add__": ("Tensor.__add__", "dtypes"),
}


def made_up(name: str) -> mapping.Record | None:
    if name in IDENTICAL:
        best = mapping.Counterpart(f"mindspore.{IDENTICAL[name]}", "identical")
    elif name in DIFFERS:
        to, kind = DIFFERS[name]
        best = mapping.Counterpart(
            f"mindspore.{to}", "differs", differences=(mapping.Difference(kind, "so"),)
        )
    else:
        return mapping.Record(name, "function", (), ()) if name == "torch.no_grad" else None
    return mapping.Record(name, "function", (), (best,))


@pytest.fixture(autouse=True)
def made_up_map(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapping, "lookup", made_up)


def converted(folder: Path, loud: bool = False, **files: str) -> dict[str, str]:
    """The files after a conversion, which a second one leaves as they are."""
    for name, text in files.items():
        (folder / f"{name}.py").write_bytes(text.encode())
    write_in_place(convert(folder, "mindspore", loud))
    after = {name: (folder / f"{name}.py").read_bytes().decode() for name in files}
    again = convert(folder, "mindspore", loud)
    assert [o.path.name for o in again if o.after != o.before] == []
    for text in after.values():
        ast.parse(text)
    return after


def test_a_file_of_identical_names_needs_nothing_else(tmp_path: Path) -> None:
    text = """\
import torch  # the library
import os, torch.nn.functional as F
from torch import (
    sqrt,  # roots
    cat,
)

def f(x: float, y):
    return F.relu(sqrt(x)) + torch.ger(cat([x, y]), x)  # as before
"""
    assert (
        converted(tmp_path, f=text)["f"]
        == """\
import mindspore  # the library
import os

def f(x: float, y):
    return mindspore.mint.nn.functional.relu(mindspore.mint.sqrt(x)) + \
mindspore.ops.outer(mindspore.mint.cat([x, y]), x)  # as before
"""
    )


def test_the_rest_stays_and_is_marked(tmp_path: Path) -> None:
    text = """\
import torch
from torch import nn

def f(x):
    with torch.no_grad():
        a = torch.sum(torch.sqrt(torch.cat([x]))); é = "ü"; b = torch.sqrt(a)
        if é: return (a @ b + b).view(-1).numpy()
"""
    assert (
        converted(tmp_path, f=text)["f"]
        == """\
import mindspore
import ms_adapter.pytorch as torch
from ms_adapter.pytorch import nn

def f(x):
    # mindspore: torch.no_grad is missing in MindSpore
    with torch.no_grad():
        # mindspore: torch.sum differs in dtypes (mindspore.mint.sum)
        a = torch.sum(mindspore.mint.sqrt(mindspore.mint.cat([x]))); é = "ü"; b = mindspore.mint.sqrt(a)
        # mindspore: torch.Tensor.__matmul__ differs in results (mindspore.Tensor.__matmul__)
        if é: return (a @ b + b).view(-1).asnumpy()
"""
    )


def test_what_a_later_scan_presumes_is_not_marked(tmp_path: Path) -> None:
    """Where MindSpore's names stand, types are no longer known: tensors are presumed that were not before."""
    marked = (
        "import mindspore\n\ndef f(x):\n    # mindspore: torch.no_grad is missing in MindSpore\n    pass\n"
    )
    text = "def g(x):\n    return x.unsqueeze(0) @ x\n"
    assert converted(tmp_path, f=marked + text)["f"] == marked + text
    assert "# mindspore: torch.Tensor.__matmul__" in converted(tmp_path, g=text)["g"]


def test_a_program_that_was_converted_to_ms_adapter(tmp_path: Path) -> None:
    text = """\
import ms_adapter.pytorch as torch, ms_adapter.pytorch.nn.functional as F
from ms_adapter import pytorch as th
from ms_adapter.pytorch import sqrt

y = F.relu(torch.cat([th.sqrt(sqrt(x))]))
"""
    assert (
        converted(tmp_path, f=text)["f"]
        == """\
import mindspore
from ms_adapter import pytorch as th

y = mindspore.mint.nn.functional.relu(mindspore.mint.cat([mindspore.mint.sqrt(mindspore.mint.sqrt(x))]))
"""
    )


def test_loud_differences_are_taken_where_asked(tmp_path: Path) -> None:
    text = "import torch\r\ny = torch.sum(torch.cat([1]))\r\n"
    assert converted(tmp_path, loud=True, f=text)["f"] == (
        "import mindspore\r\n# mindspore: torch.sum differs in dtypes (mindspore.mint.sum)\r\n"
        "y = mindspore.mint.sum(mindspore.mint.cat([1]))\r\n"
    )


def test_modules_are_cells_over_the_whole_project(tmp_path: Path) -> None:
    base = """\
import torch.nn as nn

class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.SiLU()

    def forward(self, x):
        return self.act(x)
"""
    net = """\
from base import Base

class Net(Base):
    def forward(self, x):
        return super().forward(x) + self.act(x)

class Other:
    def forward(self, x):
        return x
"""
    after = converted(tmp_path, base=base, net=net)
    assert (
        after["base"]
        == """\
import mindspore

# mindspore: torch.nn.Module differs in semantics (mindspore.nn.Cell)
class Base(mindspore.nn.Cell):
    def __init__(self):
        super().__init__()
        self.act = mindspore.mint.nn.SiLU()

    def construct(self, x):
        return self.act(x)
"""
    )
    assert after["net"].count("construct") == 2
    assert "super().construct(x)" in after["net"]
    assert "class Other:\n    def forward" in after["net"]


def test_classes_that_become_cells() -> None:
    tree = ast.parse("class A(B): pass\nclass B(C): pass\nclass C(D, E): pass\nclass F(G): pass\n")
    assert cell_names([(tree, [])]) == frozenset()


def test_the_command_lists_what_is_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "f.py").write_text("import torch\ntorch.no_grad()\ntorch.cat([1]).forward()\ntorch.abs(1)\n")
    out = tmp_path / "out.py"
    assert cli.main(["convert", str(tmp_path / "f.py"), "--to", "mindspore", "-o", str(out), "--json"]) == 1
    (told,) = json.loads(capsys.readouterr().out)["files"]
    remarks = [(r["line"], r["why"]) for r in told["remarks"]]
    assert remarks[0] == (2, "torch.no_grad is missing in MindSpore")
    assert remarks[-1] == (4, "torch.abs is not in the map")
    assert "mindspore.mint.cat([1])" in out.read_text()
    assert out.read_text().count("# mindspore: ") == 1
    assert (tmp_path / "f.py").read_text().startswith("import torch\n")
