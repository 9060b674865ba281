"""ms-adapter convert: imports are rewritten, the rest stays byte for byte, twice is once."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("libcst")

from ms_adapter import cli  # noqa: E402
from ms_adapter.tools.converting.rewrite import rewrite  # noqa: E402


def converted(text: str) -> str:
    once = rewrite(text.encode()).data
    assert rewrite(once).data == once
    assert rewrite(once).changed == ()
    return once.decode()


IMPORTS = {
    "import torch": "import ms_adapter.pytorch as torch",
    "import torch as th  # why": "import ms_adapter.pytorch as th  # why",
    "import os,torch , sys": "import os,ms_adapter.pytorch as torch , sys",
    "import torch.nn as nn": "import ms_adapter.pytorch.nn as nn",
    "import torch.utils.data": "import ms_adapter.pytorch as torch, ms_adapter.pytorch.utils.data",
    "from torch import (\n    nn,  # layers\n)": "from ms_adapter.pytorch import (\n    nn,  # layers\n)",
    "from torch.nn import functional as F": "from ms_adapter.pytorch.nn import functional as F",
    "from torchvision import models": "from ms_adapter.torchvision import models",
    "import torchvision": "import ms_adapter.torchvision as torchvision",
    "from .torch import x\nfrom torch_utils import y": "from .torch import x\nfrom torch_utils import y",
    "if 1:\n\timport torch; a = 1": "if 1:\n\timport ms_adapter.pytorch as torch; a = 1",
    "importlib.import_module('torch.nn')": "importlib.import_module('ms_adapter.pytorch.nn')",
    "x = 'import torch'": "x = 'import torch'",
}


def test_cells_with_lines_of_ipythons(tmp_path: Path) -> None:
    lines = ["%matplotlib inline", "import torch", "!pip install \\", "  x", "x?", "for i in x:", "    %time"]
    given = "\n".join([*lines, "t = %timeit -o 1", ""])
    cell = {"cell_type": "code", "source": given}
    (tmp_path / "book.ipynb").write_text(json.dumps({"cells": [cell]}))
    assert cli.main(["convert", str(tmp_path / "book.ipynb"), "--in-place", "--json"]) == 0
    after = json.loads((tmp_path / "book.ipynb").read_text())["cells"][0]["source"]
    assert after == given.replace("import torch", "import ms_adapter.pytorch as torch")


@pytest.mark.parametrize("text", IMPORTS)
def test_imports(text: str) -> None:
    assert converted(text + "\n") == IMPORTS[text] + "\n"


@pytest.mark.parametrize(
    "data",
    [
        b"import torch\r\nx=1\r\n",
        b"\xef\xbb\xbfimport torch",
        b"# coding: latin-1\nimport torch\nx = '\xe9'\n",
    ],
)
def test_line_ends_marks_and_encodings_stay(data: bytes) -> None:
    assert rewrite(data).data == data.replace(b"import torch", b"import ms_adapter.pytorch as torch")


def test_libraries_that_import_torch_get_the_alias_before_them() -> None:
    text = '"""What it does."""\nfrom __future__ import annotations\n\n# models\nimport timm\nimport torch\n'
    assert converted(text) == (
        '"""What it does."""\nfrom __future__ import annotations\n\n# models\n'
        "import ms_adapter.as_torch  # timm imports torch\nimport timm\nimport ms_adapter.pytorch as torch\n"
    )


def test_what_a_person_must_look_at_is_said() -> None:
    text = "import sys, importlib, torch\nif 'torch' in sys.modules: pass\nimportlib.import_module(name)\n"
    assert [r.line for r in rewrite(text.encode()).remarks] == [2, 3]


def test_a_project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "project", tmp_path / "out"
    source.mkdir()
    (source / "net.py").write_text("import torch.nn as nn\ndef net(): return nn.Linear(2, 1)\n")
    (source / "train.py").write_text(
        textwrap.dedent("""\
        import torch
        from net import net
        torch.manual_seed(0)
        print(type(net()(torch.ones(1, 2))).__module__, torch.__name__)
        """)
    )
    (source / "broken.py").write_text("import torch\ntorch.ones(1\n")
    (source / "data.txt").write_text("import torch\n")
    cell = {"cell_type": "code", "source": ["import torch\n", "torch.ones(1)"]}
    (source / "book.ipynb").write_text(json.dumps({"cells": [cell]}, indent=1) + "\n")
    assert cli.main(["convert", str(source), "-o", str(out), "--json"]) == 2  # one file is broken
    told = {Path(f["path"]).name: f for f in json.loads(capsys.readouterr().out)["files"]}
    assert told["broken.py"]["error"].startswith("left as it is")
    assert (out / "broken.py").read_bytes() == (source / "broken.py").read_bytes()
    assert (out / "data.txt").read_text() == "import torch\n"
    assert (
        "ms_adapter.pytorch as torch" in json.loads((out / "book.ipynb").read_text())["cells"][0]["source"][0]
    )
    ran = subprocess.run([sys.executable, "train.py"], cwd=out, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["torch", "ms_adapter.pytorch"]
    before = {p: p.read_bytes() for p in sorted(out.rglob("*")) if p.is_file()}
    assert cli.main(["convert", str(out), "--in-place", "--json"]) == 2
    assert {p: p.read_bytes() for p in sorted(out.rglob("*")) if p.is_file()} == before


def test_libraries_that_pytorchs_own_library_runs() -> None:
    new = rewrite(b"try:\n    import torch_scatter\nexcept ImportError:\n    pass\n")
    assert not new.changed and [r.line for r in new.remarks] == [2]


def test_bad_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["convert", str(tmp_path / "nothing"), "--diff", "--json"]) == 2
    (tmp_path / "a.py").write_text("import torch\n")
    assert cli.main(["convert", str(tmp_path), "-o", str(tmp_path / "inside"), "--json"]) == 2
    assert "lies in" in capsys.readouterr().out
