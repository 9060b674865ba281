"""ms-adapter scan: what it finds in small programs, by name and place, and what it says of the rest."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from ms_adapter import cli
from ms_adapter.tools.scanning import api
from ms_adapter.tools.scanning.findings import Findings, scan
from ms_adapter.tools.scanning.targets import MISSING, WORKS, standing


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return folder


def called(found: Findings, file: str = "main.py") -> list[str]:
    """`line: name` of each sure call, in order."""
    (one,) = (f for f in found.files if f.path.endswith(file))
    return [f"{u.line}: {u.name.removeprefix('torch.')}" for u in one.sure if u.kind == "call"]


PROGRAMS = {
    "aliases": (
        """\
        import torch as t, torch.nn.functional as F
        from torch import nn as layers
        x = t.zeros(2)
        y = F.relu(x).view(1, 2)
        net = layers.Linear(2, 2)
        net(y).sum().backward()
        """,
        ["3: zeros", "4: nn.functional.relu", "4: Tensor.view", "5: nn.Linear", "6: nn.Module.__call__"]
        + ["6: Tensor.sum", "6: Tensor.backward"],
    ),
    "a view that is no tensor's": (
        """\
        import numpy as np, torch
        a = np.zeros(3)
        a.view(1, 3)
        "a".split(",")
        torch.from_numpy(a).view(1, 3)
        """,
        ["5: from_numpy", "5: Tensor.view"],
    ),
    "a module's forward": (
        """\
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
            def forward(self, x):
                return self.body(x.flatten(1)).softmax(-1)
        """,
        ["4: nn.Module.__init__", "5: nn.Sequential", "5: nn.Linear", "5: nn.ReLU", "7: nn.Module.__call__"]
        + ["7: Tensor.flatten", "7: Tensor.softmax"],
    ),
    "flow through functions, containers and loops": (
        """\
        import torch
        def make(n):
            return [torch.ones(n) for _ in range(3)], {"loss": torch.zeros(())}
        def last(items):
            return items[-1]
        tensors, named = make(4)
        last(tensors).mul_(2)
        named["loss"].item()
        for i, (a, b) in enumerate(zip(tensors, tensors)):
            a.add(b)
        """,
        ["3: ones", "3: zeros", "7: Tensor.mul_", "8: Tensor.item", "10: Tensor.add"],
    ),
    "a data loader's batches": (
        """\
        import torch
        from torch.utils.data import DataLoader, Dataset
        class Points(Dataset):
            def __len__(self): return 8
            def __getitem__(self, i): return torch.rand(3), {"label": i, "name": "x"}
        for points, more in DataLoader(Points(), batch_size=2):
            points.mean()
            more["label"].float()
            more["name"].count("x")
        """,
        ["5: rand", "6: utils.data.DataLoader", "7: Tensor.mean", "8: Tensor.float"],
    ),
    "annotations and narrowing": (
        """\
        from __future__ import annotations
        from typing import Optional
        import torch
        from torch import Tensor
        def f(x: Optional[Tensor], y: "list[torch.Tensor]", z):
            x.unsqueeze(0)
            y[0].clone()
            if isinstance(z, torch.Tensor):
                z.detach()
        """,
        ["6: Tensor.unsqueeze", "7: Tensor.clone", "9: Tensor.detach"],
    ),
    "an own autograd function": (
        """\
        import torch
        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x ** 3
            @staticmethod
            def backward(ctx, g):
                x, = ctx.saved_tensors
                return g * x.square()
        Cube.apply(torch.ones(2)).sum()
        """,
        [
            "5: autograd.function.FunctionCtx.save_for_backward",
            "10: Tensor.square",
            "11: autograd.Function.apply",
        ]
        + ["11: ones", "11: Tensor.sum"],
    ),
    "what was saved is loaded": (
        """\
        import torch
        net = torch.nn.Linear(2, 1)
        torch.save(net, "net.pt")
        torch.save({"a": 1}, "other.pt")
        torch.load("net.pt").eval()
        """,
        ["2: nn.Linear", "3: save", "4: save", "5: load", "5: nn.Module.eval"],
    ),
    "attributes of a data set, a scaled loss": (
        """\
        import torch, torchvision
        torchvision.datasets.FashionMNIST(".").train_data.float()
        torch.amp.GradScaler().scale(torch.ones(())).backward()
        """,
        ["2: torchvision.datasets.FashionMNIST", "2: Tensor.float", "3: GradScaler"]
        + ["3: GradScaler.scale", "3: ones", "3: Tensor.backward"],
    ),
    "a list of modules that grows": (
        """\
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList([])
                self.layers.append(nn.ModuleList([nn.Linear(1, 1), nn.ReLU()]))
            def forward(self, x):
                for one, two in self.layers:
                    x = two(one(x))
                return x
        """,
        ["4: nn.Module.__init__", "5: nn.ModuleList", "6: nn.ModuleList.append", "6: nn.ModuleList"]
        + ["6: nn.Linear", "6: nn.ReLU", "9: nn.Module.__call__", "9: nn.Module.__call__"],
    ),
    "a traced graph": (
        """\
        import torch
        net = torch.fx.symbolic_trace(torch.nn.Linear(2, 1))
        for node in net.graph.nodes:
            net.graph.erase_node(node)
        """,
        ["2: fx.symbolic_trace", "2: nn.Linear", "4: fx.Graph.erase_node"],
    ),
    "an option's default names the class": (
        """\
        import argparse, torch
        parser = argparse.ArgumentParser()
        parser.add_argument("--optim", type=str, default="Adam")
        args = parser.parse_args()
        weight = torch.FloatTensor(2).fill_(0)
        getattr(torch.optim, args.optim)([weight]).step()
        """,
        ["5: FloatTensor", "5: Tensor.fill_", "6: optim.Adam", "6: optim.Optimizer.step"],
    ),
    "an optimizer's loop": (
        """\
        import torch
        model = torch.nn.Linear(2, 1).to("cpu")
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for group in opt.param_groups:
            for p in group["params"]:
                p.grad.zero_()
        opt.zero_grad()
        opt.step()
        """,
        ["2: nn.Linear", "2: nn.Module.to", "3: optim.SGD", "3: nn.Module.parameters", "6: Tensor.zero_"]
        + ["7: optim.Optimizer.zero_grad", "8: optim.Optimizer.step"],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_calls_are_found_with_their_full_names(name: str, tmp_path: Path) -> None:
    text, wanted = PROGRAMS[name]
    found = scan([str(write(tmp_path, main=text))])
    assert sorted(called(found)) == sorted(wanted)
    assert found.files[0].unsure == []


def test_names_are_followed_through_the_modules_of_a_project(tmp_path: Path) -> None:
    write(
        tmp_path,
        **{
            "pkg/__init__": "from .layers import *\n",
            "pkg/layers": "import torch\nfrom torch import nn\nclass Own(nn.Linear):\n    pass\n"
            "def noise(n): return torch.randn(n)\n",
        },
        main="from pkg import Own, noise\nimport pkg.layers as l\n"
        "Own(1, 1)(noise(1)).abs()\nl.nn.Dropout()\n",
    )
    assert called(scan([str(tmp_path)])) == [
        "3: nn.Module.__call__",
        "3: Tensor.abs",
        "4: nn.Dropout",
    ]


def test_what_is_not_known_is_unsure_with_the_reason(tmp_path: Path) -> None:
    found = scan([str(write(tmp_path, main="import torch\ndef f(model):\n    return model.parameters()\n"))])
    (use,) = found.files[0].unsure
    assert (use.line, use.name) == (3, "parameters")
    assert use.why == "parameter model of f: no call in the project tells what it is"


def test_newer_syntax_notebooks_and_broken_files(tmp_path: Path) -> None:
    pytest.importorskip("libcst")
    write(
        tmp_path,
        newer="import torch\ntype Pair[T] = tuple[T, T]\n"
        "def f[T](x: T) -> T: return x\nf(torch.ones(1)).exp()\n"
        'print(f"{"a" + f"{torch.zeros(1)}"}")\n',
        broken="import torch\ntorch.ones(1\n",
    )
    cells = [
        {"cell_type": "markdown", "source": ["# torch.ones"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "import torch\n", "x = torch.ones(2)"]},
        {"cell_type": "code", "source": "!pip install x\nx.cumsum(0)"},
        {
            "cell_type": "code",
            "source": "x?\nnp.*load*?\nfiles = !ls | \\\n  sort\nt = %timeit -o x\nx.exp()",
        },
        {"cell_type": "code", "source": "  %time\n  x.log()\n/print 3"},
        {"cell_type": "code", "source": "%%bash\nimport torch"},
        {"cell_type": "code"},
    ]
    (tmp_path / "book.ipynb").write_text(json.dumps({"cells": cells}))
    found = {Path(f.path).name: f for f in scan([str(tmp_path)]).files}
    newer = [u.name for u in found["newer.py"].sure if u.kind == "call"]
    assert newer == ["torch.ones", "torch.Tensor.exp", "torch.zeros"]
    assert found["broken.py"].error.startswith("cannot be parsed at line 2")
    book = found["book.ipynb"]
    assert [(book.place(u.line), u.name) for u in book.sure if u.kind == "call"] == [
        ("cell 2, line 3", "torch.ones"),
        ("cell 3, line 2", "torch.Tensor.cumsum"),
        ("cell 4, line 6", "torch.Tensor.exp"),
        ("cell 5, line 2", "torch.Tensor.log"),
    ]
    (tmp_path / "old.ipynb").write_text('{"worksheets": []}')
    (old,) = scan([str(tmp_path / "old.ipynb")]).files
    assert "it has no cells" in old.error


def test_fields_of_named_results(tmp_path: Path) -> None:
    text = """\
    import torch
    x = torch.ones(2, 3)
    x.max(0).values.exp()
    x.topk(2).indices.float()
    x.to_sparse().values().log()
    """
    (file,) = scan([str(write(tmp_path, main=text))]).files
    assert [f"{u.line}: {u.name}" for u in file.sure if u.line > 2] == [
        "3: torch.Tensor.max",
        "3: torch.Tensor.exp",
        "4: torch.Tensor.topk",
        "4: torch.Tensor.float",
        "5: torch.Tensor.to_sparse",
        "5: torch.Tensor.values",
        "5: torch.Tensor.log",
    ]


def test_a_base_calls_what_a_module_overrides(tmp_path: Path) -> None:
    text = """\
    import torch
    class Base(torch.nn.Module):
        def forward(self, x):
            return self.hook(x)
        def hook(self, x):
            return x
    class Child(Base):
        def hook(self, h):
            return h.tan().view(-1)
    """
    (file,) = scan([str(write(tmp_path, main=text))]).files
    assert [f"{u.line}: {u.name}" for u in file.sure][-2:] == ["9: torch.Tensor.tan", "9: torch.Tensor.view"]


def test_a_program_that_never_ends_growing_is_scanned_to_the_end(tmp_path: Path) -> None:
    text = """\
    x = []
    while True:
        x = [x]
        x = [{"a": x}]
    def f(a):
        return f((a, f))
    f(1)
    """
    assert scan([str(write(tmp_path, main=text))]).files[0].error == ""


def test_converted_programs_are_scanned_as_before(tmp_path: Path) -> None:
    text = """\
    import ms_adapter.pytorch as torch, ms_adapter.pytorch.nn.functional as F
    import ms_adapter.torchvision as torchvision
    from ms_adapter.pytorch import *
    from ms_adapter import pytorch as th
    import ms_adapter
    F.relu(torch.ones(1)).exp()
    th.zeros(1)
    arange(3)
    ms_adapter.pytorch.eye(2)
    torchvision.models.resnet18()
    """
    (found,) = scan([str(write(tmp_path, main=text))]).files
    called = [u.name for u in found.sure if u.kind == "call"]
    assert sorted(called) == [
        "torch.Tensor.exp",
        "torch.arange",
        "torch.eye",
        "torch.nn.functional.relu",
        "torch.ones",
        "torch.zeros",
        "torchvision.models.resnet18",
    ]


def test_attributes_of_layers_go_by_public_names() -> None:
    assert api.member("torch.nn.Embedding", "weight") == "torch.nn.Embedding.weight"
    assert api.member("torch.nn.LayerNorm", "bias") == "torch.nn.LayerNorm.bias"
    assert api.member("torch.nn.Linear", "parameters") == "torch.nn.Module.parameters"


def test_standings() -> None:
    assert standing("torch.relu").cpu.word == WORKS
    assert standing("torch.relu").cpu.note.startswith("measured: ")
    assert standing("torch.utils.data.DataLoader").cpu.word == WORKS
    assert standing("torch.mkldnn_convolution").cpu.word == MISSING
    assert standing("torch.cuda.synchronize").flags == ("CUDA",)


def test_the_command_and_its_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(
        tmp_path, clean="import torch\ntorch.ones(1)\n", lacking="import torch\ntorch.mkldnn_convolution()\n"
    )
    report, log = tmp_path / "r.html", tmp_path / "r.sarif"
    assert cli.main(["scan", str(tmp_path / "clean.py"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["names"]["torch.ones"]["count"] == 1
    given = ["scan", str(tmp_path), "--json", "--html", str(report), "--sarif", str(log)]
    assert cli.main(given) == 1
    result = json.loads(log.read_text())["runs"][0]["results"]
    places = [(r["ruleId"], r["locations"][0]["physicalLocation"]["region"]["startLine"]) for r in result]
    assert places == [("scan/use", 2), ("scan/missing", 2)]
    assert "torch.mkldnn_convolution" in report.read_text()
    assert cli.main(["scan", str(tmp_path / "nothing.py"), "--json"]) == 2
