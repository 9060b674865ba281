"""`dump`: statistics and tensors by module and operator, the watch for NaN, and what a crash leaves."""

import csv
import json
import os
import pathlib
import signal
import subprocess
import sys
import zlib

import numpy as np
import pytest

import ms_adapter.pytorch as torch
from ms_adapter import _C
from ms_adapter.tools import compare, dump
from ms_adapter.tools.dumping.config import read_settings
from ms_adapter.tools.frame import ToolError

ROOT = pathlib.Path(__file__).parent.parent


def rows(folder, step=0):
    """The table of statistics of a step."""
    with open(folder / "rank_0" / "main" / "0" / str(step) / "statistic.csv", newline="") as file:
        return list(csv.DictReader(file))


class Net(torch.nn.Module):
    """Two layers."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 8)
        self.second = torch.nn.Linear(8, 2)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def train(steps=1):
    """A few steps of a small net."""
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = net(torch.ones(3, 4)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int64", "bool", "complex64"])
def test_statistics_are_numpys(dtype):
    x = (torch.randn(317, 101) * 3).to(getattr(torch, dtype))
    found = _C.dump.statistics(x.t())
    flat = x.t().contiguous()
    raw = bytes(flat.reshape(-1).view(torch.uint8).numpy())
    values = torch.view_as_real(flat).numpy() if dtype == "complex64" else flat.double().numpy()
    values = values.astype(np.float64)
    assert found["crc32"] == zlib.crc32(raw)
    assert found["count"] == values.size
    assert (found["minimum"], found["maximum"]) == (values.min(), values.max())
    assert found["zero"] == (values == 0).sum()
    assert found["mean"] == pytest.approx(values.mean(), rel=1e-9, abs=1e-12)
    assert found["l2"] == pytest.approx(np.linalg.norm(values.ravel()), rel=1e-12)


@pytest.mark.parametrize("dtype", ["complex32", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"])
def test_dtypes_that_numpy_lacks(dtype, tmp_path):
    values = torch.tensor([1.0, -2.0, 0.5, 4.0, 0.25, 8.0])
    if dtype == "float8_e8m0fnu":
        values = values.abs()
    x = torch.complex(values, -values).to(torch.complex32) if dtype == "complex32" else values
    x = x.to(getattr(torch, dtype))
    wide = x.to(torch.complex64) if dtype == "complex32" else x.float()
    parts = torch.view_as_real(wide) if dtype == "complex32" else wide
    found = _C.dump.statistics(x)
    assert (found["minimum"], found["maximum"]) == (parts.min().item(), parts.max().item())
    assert found["count"] == parts.numel() and found["l2"] == pytest.approx(parts.norm().item())
    with dump(path=str(tmp_path), level="operator", what="tensor", tensors="outputs"):
        x.clone()
    folder = tmp_path / "rank_0" / "main" / "0" / "0"
    (name,) = [name for name in os.listdir(folder) if name.endswith(".npy")]
    assert np.array_equal(np.load(folder / name), wide.numpy())
    assert {row["Data Type"] for row in rows(tmp_path)} == {dtype}


def test_statistics_of_odd_values():
    found = _C.dump.statistics(
        torch.tensor([1.0, float("nan"), float("inf"), -float("inf"), float("inf"), -2.0])
    )
    assert (found["nan"], found["positive_inf"], found["negative_inf"]) == (1, 2, 1)
    assert (found["minimum"], found["maximum"], found["mean"]) == (-2, 1, -0.5)
    assert _C.dump.statistics(torch.zeros(0))["count"] == 0


def test_modules(tmp_path):
    with dump(path=str(tmp_path), tensors="inputs,outputs,gradients"):
        train(2)
    found = {(row["Op Name"], row["IO"]) for row in rows(tmp_path)}
    assert {("Net_first", "input"), ("Net_first", "output"), ("Net_second", "grad")} <= found
    assert ("Net_second_weight", "grad") in found
    assert rows(tmp_path, 1)
    before, now = rows(tmp_path)[0], rows(tmp_path, 1)[0]
    assert (before["Op Name"], before["Shape"]) == (now["Op Name"], now["Shape"]) == ("Net", "(3, 4)")


def test_operators_as_tensors_and_compare(tmp_path):
    for side in "ab":
        with dump(
            path=str(tmp_path / side), level="operator", what="tensor", tensors="inputs,outputs", names="^Net"
        ):
            train()
    assert compare(tmp_path / "a", tmp_path / "b").same
    folder = tmp_path / "a" / "rank_0" / "main" / "0" / "0"
    files = [name for name in os.listdir(folder) if ".Net_first-linear-op0." in name and ".output." in name]
    assert len(files) == 1 and files[0].startswith("linear.") and np.load(folder / files[0]).shape == (3, 8)
    assert not [name for name in os.listdir(folder) if name.endswith(".part")]


def test_names_and_steps(tmp_path):
    with dump(path=str(tmp_path), level="operator", names="second/", steps="1,3-4"):
        train(5)
    steps = sorted(os.listdir(tmp_path / "rank_0" / "main" / "0"))
    assert steps == ["1", "3", "4"]
    assert {row["Op Name"] for row in rows(tmp_path, 3)} == {"Net_second-linear-op0"}


def test_lines(tmp_path):
    with dump(path=str(tmp_path), level="operator", lines=True), torch.no_grad():
        Net()(torch.ones(3, 4))
    text = (tmp_path / "rank_0" / "main" / "0" / "0" / "operators.jsonl").read_text()
    nodes = [json.loads(line) for line in text.splitlines()]
    by_operator = {node["operator"]: node for node in nodes}
    relu = by_operator["relu"]
    first = nodes[relu["inputs"][0]["from"]]
    assert (first["operator"], first["module"]) == ("linear", "Net.first")
    assert relu["outputs"] == [{"dtype": "float32", "shape": [3, 8]}]


def test_captured_graph(tmp_path):
    class Odd(torch.nn.Module):
        def forward(self, x):
            return x * 2 if x.sum() > 0 else x

    with dump(path=str(tmp_path / "out"), graph=str(tmp_path / "graph.json")):
        x = torch.ones(3, 4)
        torch.manual_seed(0)
        y = Net()(x)
        assert (Odd()(x) == 2).all()
    torch.manual_seed(0)
    assert torch.equal(Net()(x), y)  # the capture is the call itself
    graphs = json.loads((tmp_path / "graph.json").read_text())
    assert [node["operator"] for node in graphs["Net"]["nodes"]] == ["addmm", "relu", "addmm"] or [
        node["operator"] for node in graphs["Net"]["nodes"]
    ] == ["linear", "relu", "linear"]
    shapes = {value["id"]: value["shape"] for value in graphs["Net"]["values"]}
    assert [shapes[i] for i in graphs["Net"]["outputs"]] == [[3, 2]]
    assert "elements" in graphs["Odd"]["refused"] or "bool" in graphs["Odd"]["refused"]
    assert rows(tmp_path / "out")


def test_training_is_the_same(tmp_path):
    plain = train(4)
    with dump(
        path=str(tmp_path), level="operator", what="tensor", tensors="inputs,outputs,gradients", watch="nan",
        graph=str(tmp_path / "graph.json"),
    ):  # fmt: skip
        assert train(4) == plain
    assert train(4) == plain


class Root(torch.nn.Module):
    """Infinite slope at 0."""

    def forward(self, x):
        return x.sqrt()


def test_watch_stops_at_the_first_nan(tmp_path):
    net = Net()
    with torch.no_grad():
        net.second.weight[0, 0] = float("nan")
    with pytest.raises(RuntimeError, match="(?s)first NaN comes from linear in Net.second.*Its inputs"):  # noqa: SIM117
        with dump(path=str(tmp_path), watch="nan"):
            net(torch.ones(3, 4))
    with (
        pytest.raises(RuntimeError, match="first infinity comes from exp"),
        dump(path=str(tmp_path), watch="inf"),
    ):
        torch.full((3,), 1000.0).exp()
    y = None
    with (
        pytest.raises(
            RuntimeError, match=r"first NaN comes from \w+ in the backward pass, SqrtBackward0 in Root"
        ),
        dump(path=str(tmp_path), watch="nan"),
    ):
        y = Root()(torch.zeros(3, requires_grad=True))
        (y * 0).sum().backward()
    assert y is not None  # forward there was none
    with dump(path=str(tmp_path), watch="inf"):  # an infinity that is asked for
        scores = torch.zeros(3, 3).masked_fill(torch.eye(3) > 0, -float("inf"))
        assert torch.softmax(scores, 1).isfinite().all()
        Net()(torch.ones(3, 4))
    assert rows(tmp_path)  # after all of them the dump is over and whole


def test_memory_as_it_was_found_is_left_out(tmp_path):
    garbage = [torch.full((64, 64), float("nan")) for _ in range(4)]
    del garbage
    with dump(path=str(tmp_path), level="operator", watch="nan"):
        for make in (torch.empty, torch.ones(1).new_empty):
            make((64, 64)).fill_(1.0)
        torch.empty_like(torch.ones(64, 64)).zero_()
    assert {row["Op Type"] for row in rows(tmp_path)} == {"fill", "ones", "zero"}


def test_settings(tmp_path):
    (tmp_path / "d.toml").write_text('level = "operator"\nsteps = "0-1"\ntensors = ["inputs"]\n')
    (tmp_path / "d.json").write_text('{"watch": "nan"}')
    assert read_settings(str(tmp_path / "d.toml")).kinds == {"inputs"}
    assert read_settings(str(tmp_path / "d.json")).watch == "nan"
    line = read_settings("path=out,steps=0-2,5,level=operator,lines=1")
    assert (line.path, line.steps, line.level, line.lines) == ("out", "0-2,5", "operator", True)
    for bad in ("level=layer", "steps=x", "colour=red", "tensors=weights", "background_mib=-1", "none.toml"):
        with pytest.raises(ToolError):
            read_settings(bad)
    with pytest.raises(ToolError, match="no regular expression"):
        dump(path=str(tmp_path), names="(", level="operator")


def run(tmp_path, *args, **variables):
    """A call of the command in a folder."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    command = [sys.executable, "-m", "ms_adapter", *args]
    return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)


SCRIPT = """import os, signal, sys
import torch
net = torch.nn.Linear(4, 4)
for step in range(50):
    y = net(torch.ones(2, 4))
    if step == 20 and "die" in sys.argv:
        os.kill(os.getpid(), signal.SIGKILL)
print(float(y.sum()))
"""


def test_a_crash_leaves_what_was_written(tmp_path):
    (tmp_path / "s.py").write_text(SCRIPT)
    done = run(tmp_path, "run", "--dump", "path=out,what=tensor,tensors=outputs", "s.py", "die")
    assert done.returncode == -signal.SIGKILL
    assert len(rows(tmp_path / "out")) == 21
    folder = tmp_path / "out" / "rank_0" / "main" / "0" / "0"
    arrays = [np.load(folder / name) for name in os.listdir(folder) if name.endswith(".npy")]
    assert all(array.shape == (2, 4) for array in arrays)


def test_ways_to_ask(tmp_path):
    (tmp_path / "s.py").write_text(SCRIPT)
    plain = run(tmp_path, "run", "s.py")
    assert plain.returncode == 0 and not (tmp_path / "a").exists()
    assert run(tmp_path, "run", "s.py", MS_ADAPTER_DUMP="path=a").returncode == 0
    assert run(tmp_path, "dump", "--path", "b", "s.py").returncode == 0
    assert run(tmp_path, "run", "--dump", "c", "s.py").returncode == 0
    assert len({len(rows(tmp_path / name)) for name in "abc"}) == 1
    bad = run(tmp_path, "run", "--dump", "level=none", "s.py")
    assert bad.returncode == 2 and "choose one of" in bad.stderr
    bad = run(tmp_path, "dump", "--steps", "x", "s.py")
    assert bad.returncode == 2 and "write numbers and ranges" in bad.stderr


def test_options_go_before_the_file_of_settings(tmp_path):
    (tmp_path / "s.py").write_text(SCRIPT)
    (tmp_path / "d.toml").write_text('path = "a"\ntensors = "inputs"\n')
    assert run(tmp_path, "dump", "--config", "d.toml", "--path", "b", "s.py").returncode == 0
    assert not (tmp_path / "a").exists()
    assert {row["IO"] for row in rows(tmp_path / "b")} == {"input"}


def test_a_script_that_fails_is_in_the_json(tmp_path):
    (tmp_path / "s.py").write_text(
        "import sys\nprint('said')\nif sys.argv[1:]: sys.exit(3)\nraise ValueError('no')\n"
    )
    done = run(tmp_path, "dump", "--json", "s.py")
    assert json.loads(done.stdout) == {"path": "ms_adapter_dump", "error": "no", "exit_code": 1}
    assert "ValueError: no" in done.stderr
    done = run(tmp_path, "dump", "--json", "s.py", "x")
    assert json.loads(done.stdout)["exit_code"] == done.returncode == 3
    done = run(tmp_path, "dump", "--level", "none", "--json", "s.py")
    assert "invalid choice" in json.loads(done.stdout)["error"]


def test_a_second_dump_replaces_the_first(tmp_path):
    with dump(path=str(tmp_path), what="tensor"):
        train(steps=3)
    count = len(rows(tmp_path))
    with dump(path=str(tmp_path)):
        train(steps=2)
    assert len(rows(tmp_path)) == count
    left = sorted(os.listdir(tmp_path / "rank_0" / "main" / "0"))
    assert left == ["0", "1", "2"]  # the step that follows the last
    assert not list(tmp_path.rglob("*.npy"))


def test_watch_looks_at_what_a_step_makes(tmp_path):
    weight = torch.nn.Parameter(torch.tensor([1.0, float("inf")]))
    weight.grad = torch.tensor([1.0, float("inf")])
    optimizer = torch.optim.SGD([weight], lr=1.0)
    found = pytest.raises(RuntimeError, match="first NaN comes from the step of SGD in group 0, parameter 0")
    with found, dump(path=str(tmp_path), watch="nan"):
        optimizer.step()


def test_a_full_disk_is_an_error(tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    with pytest.raises(RuntimeError, match="dump: cannot write"):  # noqa: SIM117
        with dump(path=str(tmp_path)):
            folder = tmp_path / "rank_0" / "main" / "0" / "0"
            os.symlink("/dev/full", folder / "statistic.csv")
            Net()(torch.ones(3, 4))
