"""`ms-adapter compare`: every format, the figures, matching of names, and files that are broken."""

import json
import os
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import ms_adapter.pytorch as torch
from ms_adapter.tools import compare
from ms_adapter.tools.comparison import command
from ms_adapter.tools.comparison.naming import common_name
from ms_adapter.tools.formats import read_path
from ms_adapter.tools.formats.entry import BadFile


def run(*args, capsys=None):
    """The exit code and the JSON object of a call of the command."""
    code = command.TOOL.main([*map(str, args), "--json"])
    return code, json.loads(capsys.readouterr().out)


def ulp_distance(a, b):
    """How many float32 lie between, one by one."""
    bits = np.array([a, b], np.float32).view(np.int32).astype(np.int64)
    place = np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)
    return abs(int(place[0] - place[1]))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64", "uint16", "bool"])
@pytest.mark.parametrize("count", [1, 7, 2048, 300_001])
def test_figures_are_numpys(dtype, count):
    random = np.random.default_rng(count)
    a = (random.standard_normal(count) * 50).astype(dtype)
    b = (a + random.standard_normal(count) * 2).astype(dtype)
    row = compare(a, b, rtol=0.01, atol=0.1).rows[0]
    x, y = a.astype(np.float64), b.astype(np.float64)
    distance = np.abs(y - x)
    larger = np.maximum(np.abs(x), np.abs(y))
    relative = np.divide(distance, larger, out=np.zeros(count), where=larger > 0)
    assert row.max_abs == distance.max()
    assert row.mean_abs == pytest.approx(distance.mean(), rel=1e-12)
    assert row.max_rel == pytest.approx(relative.max(), rel=1e-15)
    assert row.mean_rel == pytest.approx(relative.mean(), rel=1e-12)
    assert row.near_share == np.mean(distance <= 0.1 + 0.01 * np.abs(x))
    if np.linalg.norm(x) and np.linalg.norm(y):
        assert row.cosine == pytest.approx(x @ y / np.linalg.norm(x) / np.linalg.norm(y), rel=1e-12)
    if distance.max():
        assert row.worst_index == (int(distance.argmax()),)
        assert (row.worst_a, row.worst_b) == (x[distance.argmax()], y[distance.argmax()])


def test_ulps():
    values = np.array([0.0, -0.0, 1.0, -1.0, 1e-42, 3e38, -5.0], np.float32)
    others = np.array([-0.0, 1e-45, 1.0000001, 1.0, -1e-42, 2e38, -5.0], np.float32)
    row = compare(values, others).rows[0]
    wanted = [ulp_distance(a, b) for a, b in zip(values, others)]
    assert row.max_ulp == max(wanted)
    assert row.mean_ulp == pytest.approx(np.mean(wanted))


def test_nan_and_infinity():
    nan, inf = np.nan, np.inf
    a = np.array([nan, nan, 1.0, inf, inf, -inf, 2.0])
    b = np.array([nan, 1.0, nan, inf, 3.0, inf, 2.0])
    row = compare(a, b).rows[0]
    assert (row.nan_a, row.nan_b, row.inf_a, row.inf_b) == (2, 2, 3, 2)
    assert row.near_share == pytest.approx(2 / 7)
    assert row.worst_index == (0,)
    row = compare(a, b, equal_nan=True).rows[0]
    assert row.near_share == pytest.approx(3 / 7)
    assert row.worst_index == (1,)
    assert row.max_abs == inf


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_whole_numbers_beyond_doubles(dtype):
    a = np.full(5000, 2**62, dtype)
    b = a.copy()
    assert compare(a, b).rows[0].status == "same"
    b[4321] += 1
    row = compare(a, b).rows[0]
    assert (row.status, row.max_abs, row.mean_abs, row.worst_index) == ("differs", 1.0, 1 / 5000, (4321,))
    assert row.near_share == 4999 / 5000
    row = compare(np.array([2**53 + 1], dtype), np.array([2.0**53])).rows[0]
    assert row.max_abs == 1.0
    row = compare(np.array([2**63 - 1, 5], dtype), np.array([np.nan, np.inf])).rows[0]
    assert (row.nan_b, row.inf_b, row.max_abs, row.worst_index) == (1, 1, np.inf, (0,))


def test_figures_do_not_depend_on_threads():
    a = np.random.default_rng(0).standard_normal(1_000_000)
    before = torch.get_num_threads()
    found = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        found.append(compare(a, a * 1.0000001).to_dict())
    torch.set_num_threads(before)
    assert found[0] == found[1] == found[2]


def test_tensors_of_all_kinds():
    x = torch.arange(12.0).reshape(3, 4)
    assert compare(x.t(), x.t().contiguous()).rows[0].status == "same"
    assert compare(x.bfloat16(), x).rows[0].status == "same"
    assert compare(x.to_sparse(), x).same
    assert compare(torch.complex(x, x).conj(), torch.complex(x, -x)).same
    assert compare([x, {"k": x}], [x, {"k": x + 1}]).worst.name == "1.k"
    assert compare({"a": {"b": x}, "n": None}, {"a": {"b": x.numpy() + 1}}).worst.name == "a.b"
    assert compare({"lr": 0.1}, {"lr": 0.1}).same
    assert compare(torch.zeros(0, 3), torch.zeros(0, 3)).same
    assert not compare(torch.zeros(2, 3), torch.zeros(3, 2)).same


def write_varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def field(number, data):
    return write_varint(number << 3 | 2) + write_varint(len(data)) + data


def ckpt_value(name, dims, dtype, content):
    shape = b"".join(write_varint(8) + write_varint(n) for n in dims)
    tensor = shape + field(2, dtype.encode()) + field(3, content)
    return field(1, field(1, name.encode()) + field(2, tensor))


def test_files_of_all_formats_meet(tmp_path):
    weights = {"w": torch.randn(4, 5), "h": torch.randn(3).half(), "n": torch.tensor(7)}
    torch.save({"state": weights}, tmp_path / "m.pt")
    torch.save({"state": weights}, tmp_path / "old.pth", _use_new_zipfile_serialization=False)
    np.savez(tmp_path / "m.npz", **{f"state.{k}": v.numpy() for k, v in weights.items()})
    np.savez_compressed(tmp_path / "c.npz", **{f"state.{k}": v.numpy() for k, v in weights.items()})
    w = weights["w"].numpy().tobytes()
    (tmp_path / "m.ckpt").write_bytes(
        ckpt_value("state.w", [4, 5], "Float32", w[:40])
        + ckpt_value("state.w", [4, 5], "Float32", w[40:])
        + ckpt_value("state.h", [3], "Float16", weights["h"].numpy().tobytes())
        + ckpt_value("state.n", [0], "Int64", struct.pack("<q", 7))
        + b"crc_num" + bytes(10)
    )  # fmt: skip
    for name in ("old.pth", "m.npz", "c.npz", "m.ckpt"):
        report = compare(tmp_path / "m.pt", tmp_path / name)
        assert [row.status for row in report.rows] == ["same"] * 3, (name, str(report))


def test_safetensors(tmp_path):
    header = {"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
              "odd": {"dtype": "F4", "shape": [1], "data_offsets": [8, 9]}}  # fmt: skip
    text = json.dumps(header).encode()
    data = struct.pack("<Q", len(text)) + text + struct.pack("<2f", 1, 2) + b"\0"
    (tmp_path / "m.safetensors").write_bytes(data)
    rows = {row.name: row for row in compare(tmp_path / "m.safetensors", {"w": np.array([1, 2], "f4")}).rows}
    assert rows["w"].status == "same"
    assert "F4" in rows["odd"].error


def test_odd_npy_files(tmp_path):
    x = np.arange(12.0).reshape(3, 4)
    for name, array in (("big", x.astype(">f8")), ("fortran", np.asfortranarray(x)), ("scalar", x[1, 1])):
        np.save(tmp_path / f"{name}.npy", array)
        assert compare(tmp_path / f"{name}.npy", np.array(array, order="C", dtype="f8")).same, name


def test_names(tmp_path):
    a = {"module.bn.gamma": np.ones(2), "module.bn.moving_mean": np.zeros(2), "x.weight": np.ones((3, 3))}
    b = {"bn.weight": np.ones(2), "bn.running_mean": np.zeros(2), "y.weight": np.ones((3, 3))}
    how = {row.name: (row.name_b, row.matched_by) for row in compare(a, b).rows}
    assert how["module.bn.gamma"] == ("bn.weight", "common name")
    assert how["x.weight"] == ("y.weight", "shape")
    report = compare(a, b, by_shape=False)
    assert {row.status for row in report.rows} == {"same", "only in A", "only in B"}
    assert compare(a, b, by_shape=False, rename=["^x=>y"]).same
    assert common_name("f::module.a.beta") == "f::a.bias"
    with pytest.raises(ValueError, match="=>"):
        compare(a, b, rename=["nothing"])


def test_the_rest_is_compared_when_files_are_broken(tmp_path, capsys):
    good = np.arange(1000.0)
    for side in "ab":
        (tmp_path / side / "sub").mkdir(parents=True)
        for name in ("half", "garbage", "fine", "also_fine", "objects"):
            np.save(tmp_path / side / f"{name}.npy", good)
    a = tmp_path / "a"
    (a / "half.npy").write_bytes((a / "half.npy").read_bytes()[:500])
    (a / "garbage.npy").write_bytes(b"nothing of the kind")
    np.save(a / "objects.npy", np.array([{}, []], dtype=object), allow_pickle=True)
    (a / "zip.npz").write_bytes(b"PK\x03\x04 cut")
    (a / "weights.pt").write_bytes(b"\x80\x02 no pickle")
    (a / "model.ckpt").write_bytes(b"\x0a\xff\x7f no message")
    (a / "t.safetensors").write_bytes(b"\xff" * 20)
    code, found = run(a, tmp_path / "b", capsys=capsys)
    assert code == 2
    status = {row["name"]: row["status"] for row in found["tensors"]}
    errors = {row["name"]: row["error"] for row in found["tensors"]}
    assert status["fine"] == status["also_fine"] == "same"
    assert "half written: 372 bytes of data where shape (1000,) of float64 needs 8000" in errors["half"]
    assert "header is damaged" in errors["garbage"]
    assert "Python objects" in errors["objects"]
    for name in ("zip", "weights", "model", "t"):
        assert status[name] == "error" and errors[name].startswith(f"A: {a}"), name


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every folder")
def test_unreadable_folder(tmp_path):
    (tmp_path / "x").mkdir(mode=0)
    with pytest.raises(BadFile, match="permission denied"):
        read_path(tmp_path / "x")


def test_an_unreadable_folder_among_others(tmp_path, monkeypatch, capsys):
    """The rest is compared. As root may read all, the system's refusal is made here."""
    for side in "ab":
        for folder in ("open", "closed"):
            (tmp_path / side / folder).mkdir(parents=True)
            np.save(tmp_path / side / folder / "x.npy", np.ones(3))
    listed = os.scandir

    def refused(path):
        if str(path).endswith(os.path.join("a", "closed")):
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", refused)
    code, found = run(tmp_path / "a", tmp_path / "b", capsys=capsys)
    rows = {row["name"]: row for row in found["tensors"]}
    assert code == 2 and rows["open/x"]["status"] == "same"
    assert "the folder cannot be read (Permission denied)" in rows["closed"]["error"]
    assert rows["closed/x"]["status"] == "only in B"


def test_what_is_not_there(tmp_path, capsys):
    code, found = run(tmp_path / "no.npy", tmp_path / "no.npy", capsys=capsys)
    assert code == 2 and "no such file or folder" in found["error"]
    code, found = run(tmp_path, tmp_path, capsys=capsys)
    assert code == 2 and "no file of a known kind" in found["error"]
    (tmp_path / "x.txt").write_text("")
    assert "unknown kind of file .txt" in run(tmp_path / "x.txt", tmp_path, capsys=capsys)[1]["error"]


def test_a_damaged_member_of_an_npz(tmp_path):
    np.savez_compressed(tmp_path / "x.npz", a=np.arange(999), b=np.arange(5))
    data = bytearray((tmp_path / "x.npz").read_bytes())
    with zipfile.ZipFile(tmp_path / "x.npz") as archive:
        at = archive.getinfo("a.npy").header_offset
    data[at + 200] ^= 255
    (tmp_path / "x.npz").write_bytes(data)
    entries = {entry.name: entry.error for entry in read_path(tmp_path / "x.npz")}
    assert entries["a"] and entries["b"] is None


def test_names_of_mindspores_dumps(tmp_path):
    """As MindSpore 2.10 wrote them: with the dtype at the end, and tables of its order of execution."""
    for side, time, value in (("a", 1796105080637733, 1.0), ("b", 1796105081131377, 1.5)):
        folder = tmp_path / side / "rank_0" / "Net" / "0" / "0"
        folder.mkdir(parents=True)
        for i, name in enumerate(
            ("MatMul.Default_fc-Dense_MatMul-op0.0.0.{}.input.0.DefaultFormat.Float32",
             "MatMul.Default_fc-Dense_MatMul-op0.0.0.{}.output.0.DefaultFormat.Float32",
             "Parameter.fc_weight.0.0.{}.output.0.DefaultFormat.Float32")
        ):  # fmt: skip
            np.save(folder / (name.format(time + i) + ".npy"), np.full(3, value if i else 1.0, np.float32))
        order = tmp_path / side / "rank_0" / "execution_order"
        order.mkdir()
        (order / "ms_execution_order_graph_0.csv").write_text("NodeExecutionOrder-FullNameWithScope\nx\n")
        (order / "ms_global_execution_order_graph_0.csv").write_text("0\n")
    report = compare(tmp_path / "a", tmp_path / "b")
    status = {row.name.rpartition("/")[2]: row.status for row in report.rows}
    assert status == {
        "MatMul.Default_fc-Dense_MatMul-op0.input.0": "same",
        "MatMul.Default_fc-Dense_MatMul-op0.output.0": "differs",
        "Parameter.fc_weight.output.0": "differs",
    }


@pytest.mark.parametrize(
    "dtype, ulp",
    [("complex32", True), ("float8_e4m3fn", True), ("float8_e5m2", True), ("float8_e8m0fnu", False)],
)
def test_dtypes_that_numpy_lacks(dtype, ulp, tmp_path):
    import ms_adapter.pytorch as torch

    a = torch.tensor([1.0, 2.0, 4.0, 0.5])
    b = torch.tensor([1.0, 2.0, 8.0, float("nan")])
    if dtype == "complex32":
        a, b = torch.complex(a, a), torch.complex(b, b)
    a, b = a.to(getattr(torch, dtype)), b.to(getattr(torch, dtype))
    torch.save({"w": a}, tmp_path / "a.pt")
    torch.save({"w": b}, tmp_path / "b.pt")
    for sides in ((a, b), (tmp_path / "a.pt", tmp_path / "b.pt")):
        (row,) = compare(*sides).rows
        assert (row.status, row.max_abs, row.nan_a) == ("differs", 4.0, 0) and row.nan_b >= 1
        assert (row.max_ulp is not None) == ulp
    assert compare(a, a).same
    if dtype != "complex32":
        (row,) = compare(a, a.float()).rows
        assert row.status == "same"


def test_dump_folders(tmp_path):
    for side, time, value in (("a", 111, 1.0), ("b", 222, 1.5)):
        folder = tmp_path / side / "rank_0" / "net" / "0" / "0"
        folder.mkdir(parents=True)
        for call in range(2):
            name = f"Conv2D.Default_conv-op3.0.0.{time + call}.output.0.NCHW.npy"
            np.save(folder / name, np.ones(3) * value)
        (folder / "statistic.csv").write_text(
            "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Max Value,Min Value,NaN Count\n"
            f"Conv2D,Default_conv,0,0,{time},output,0,{value},0,0\n"
        )
    rows = {row.name: row for row in compare(tmp_path / "a", tmp_path / "b").rows}
    name = "rank_0/net/0/0/Conv2D.Default_conv-op3.output.0"
    assert rows[name].max_abs == rows[name + "#2"].max_abs == 0.5
    assert rows["rank_0/net/0/0/statistic::Conv2D.Default_conv.output.0"].status == "differs"


def test_command_line(tmp_path):
    np.save(tmp_path / "a.npy", np.ones(3))
    np.save(tmp_path / "b.npy", np.ones(3) + 1)

    def call(*args):
        done = subprocess.run(
            [sys.executable, "-m", "ms_adapter", "compare", *map(str, args)], capture_output=True, text=True
        )
        return done.returncode, done.stdout + done.stderr

    assert call(tmp_path / "a.npy", tmp_path / "a.npy")[0] == 0
    code, text = call(tmp_path / "a.npy", tmp_path / "b.npy")
    assert code == 1 and "1 differs" in text and "max abs" in text
    code, text = call("--help")
    assert code == 0 and "examples:" in text
    assert call("one")[0] == 2


def test_without_rich(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    np.save(tmp_path / "a.npy", np.ones(3))
    assert command.TOOL.main([str(tmp_path / "a.npy")] * 2) == 2
    assert "ms_adapter[tools]" in capsys.readouterr().err
    assert run(tmp_path / "a.npy", tmp_path / "a.npy", capsys=capsys)[0] == 0


def test_arguments_that_make_no_sense(tmp_path, capsys):
    from ms_adapter.cli import main

    assert main(["compare", "a", "b", "--rtol", "x", "--json"]) == 2
    assert "invalid float value" in json.loads(capsys.readouterr().out)["error"]
    with pytest.raises(SystemExit) as ended:
        main(["compare", "a", "b", "--rtol", "x"])
    assert ended.value.code == 2 and "usage:" in capsys.readouterr().err
    os.mkfifo(tmp_path / "pipe.npy")  # to open it would wait for a writer
    assert main(["compare", str(tmp_path / "pipe.npy"), str(tmp_path), "--json"]) == 2
    assert "no regular file" in json.loads(capsys.readouterr().out)["error"]


def test_completion_knows_all_commands():
    done = subprocess.run(
        [sys.executable, "-m", "ms_adapter", "completion", "bash"], capture_output=True, text=True, check=True
    )
    assert "--equal-nan" in done.stdout and "run" in done.stdout


def test_run_starts_without_the_tools():
    code = "import sys; from ms_adapter import cli; cli.load(cli.COMMANDS['run']); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "ms_adapter.tools" not in done.stdout and "argparse" not in done.stdout
