"""`ms-adapter ckpt`: names and shapes go to MindSpore's and back, and what is damaged is refused."""

import binascii
import json

import pytest

import ms_adapter.pytorch as torch
from ms_adapter.mindspore.checkpoint import load_checkpoint, save_checkpoint
from ms_adapter.pytorch import nn
from ms_adapter.tools.checkpoints.command import TOOL
from ms_adapter.tools.formats import write


class Net(nn.Module):
    """One layer of each kind whose names or shapes differ."""

    def __init__(self, of_2d=True):
        super().__init__()
        self.embed_tokens = nn.Embedding(5, 4)
        self.embed_out = nn.Linear(4, 4, bias=False)
        self.conv = nn.Conv1d(4, 2, 3)
        self.up = nn.ConvTranspose1d(2, 4, 3)
        self.bn = nn.BatchNorm1d(2)
        self.ln = nn.LayerNorm((2, 3))
        self.group = nn.Sequential(nn.GroupNorm(1, 2), nn.Linear(2, 2))
        self.prelu = nn.PReLU(2)
        self.lstm = nn.LSTM(2, 3, bidirectional=True)
        self.attention = nn.MultiheadAttention(4, 2)
        self.layer = nn.TransformerDecoderLayer(4, 2, 8)
        if of_2d:
            self.image = nn.Conv2d(1, 2, (3, 3))


def ckpt(capsys, *words):
    """(exit code, the JSON) of a call."""
    code = TOOL.main([*map(str, words), "--json"])
    return code, json.loads(capsys.readouterr().out)


def saved(path, net):
    torch.manual_seed(0)
    for p in net.parameters():
        nn.init.normal_(p)
    torch.save(net.state_dict(), path)
    return net.state_dict()


def assert_same(found, wanted):
    assert set(found) == set(wanted)
    for name, t in wanted.items():
        assert found[name].dtype == t.dtype and torch.equal(found[name], t), name


def test_a_dtype_that_mindspores_files_lack(tmp_path, capsys):
    torch.save({"w": torch.zeros(2).to(torch.float8_e4m3fn)}, tmp_path / "a.pth")
    code, report = ckpt(capsys, "convert", tmp_path / "a.pth", tmp_path / "b.ckpt")
    assert code == 2 and "no dtype float8_e4m3fn" in report["error"]
    assert not (tmp_path / "b.ckpt").exists()


def test_names_and_shapes_of_mindspore(tmp_path, capsys):
    state = saved(tmp_path / "a.pth", Net())
    code, report = ckpt(capsys, "convert", tmp_path / "a.pth", tmp_path / "b.ckpt")
    assert code == 0 and report["problems"] == []
    went = {row["from"]: row["to"] for row in report["tensors"]}
    assert went["embed_tokens.weight"] == "embed_tokens.embedding_table"
    assert went["embed_out.weight"] == "embed_out.weight"
    assert [went[f"bn.{n}"] for n in ("weight", "bias", "running_mean", "running_var")] == [
        "bn.gamma", "bn.beta", "bn.moving_mean", "bn.moving_variance"]  # fmt: skip
    assert went["bn.num_batches_tracked"] is None
    assert went["ln.weight"] == "ln.gamma" and went["group.0.bias"] == "group.0.beta"
    assert went["prelu.weight"] == "prelu.w"
    assert (
        went["layer.linear2.bias"] == "layer.dense2.bias"
        and went["layer.norm3.weight"] == "layer.norm3.gamma"
    )
    kept = [n for n in state if n.startswith(("lstm.", "attention.", "group.1", "image."))]
    assert kept and all(went[n] == n for n in kept)
    found = load_checkpoint(tmp_path / "b.ckpt")
    assert found["conv.weight"].shape == (2, 4, 1, 3) and found["up.weight"].shape == (2, 4, 1, 3)
    assert torch.equal(found["conv.weight"].squeeze(2), state["conv.weight"])


@pytest.mark.parametrize(
    "of_2d, options", ((False, []), (True, ["--conv1d", "conv", "--conv1d", "up"]), (True, "like"))
)
@pytest.mark.parametrize("kind", ("pth", "safetensors"))
def test_there_and_back(tmp_path, capsys, kind, of_2d, options):
    state = saved(tmp_path / "a.pth", Net(of_2d))
    options = ["--like", tmp_path / "a.pth"] if options == "like" else options
    assert ckpt(capsys, "convert", tmp_path / "a.pth", tmp_path / "b.ckpt")[0] == 0
    code, report = ckpt(capsys, "convert", tmp_path / "b.ckpt", tmp_path / f"c.{kind}", *options)
    assert code == 0, report
    assert_same(torch.load(tmp_path / f"c.{kind}"), state)


def test_without_a_hint_a_doubtful_kernel_stays_and_is_told(tmp_path, capsys):
    saved(tmp_path / "a.pth", Net())
    ckpt(capsys, "convert", tmp_path / "a.pth", tmp_path / "b.ckpt")
    _, report = ckpt(capsys, "convert", tmp_path / "b.ckpt", tmp_path / "c.pth")
    (row,) = [row for row in report["tensors"] if row["to"] == "conv.weight"]
    assert row["shape_to"] == [2, 4, 1, 3] and "--conv1d" in row["rule"]


@pytest.mark.parametrize("dtype", ("float16", "bfloat16", "float64", "int8", "uint8", "int64", "bool"))
@pytest.mark.parametrize("shape", ((), (0,), (3, 1)))
def test_dtypes_and_shapes_are_kept(tmp_path, capsys, dtype, shape):
    state = {"x": torch.ones(shape).to(getattr(torch, dtype)), "odd": torch.zeros(3, dtype=torch.uint8)}
    torch.save(state, tmp_path / "a.pt")
    for old, new in (("a.pt", "b.ckpt"), ("b.ckpt", "c.safetensors"), ("c.safetensors", "d.pth")):
        assert ckpt(capsys, "convert", tmp_path / old, tmp_path / new)[0] == 0
    assert_same(torch.load(tmp_path / "d.pth"), state)
    assert_same(load_checkpoint(tmp_path / "b.ckpt"), state)


def test_a_large_parameter_is_written_in_pieces(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(write, "_SLICE", 40)
    monkeypatch.setattr(write, "_STEP", 24)
    state = {"w": torch.randn(7, 5), "v": torch.randn(3)}
    torch.save(state, tmp_path / "a.pth")
    ckpt(capsys, "convert", tmp_path / "a.pth", tmp_path / "b.ckpt")
    _, shown = ckpt(capsys, "show", tmp_path / "b.ckpt")
    assert [row["pieces"] for row in shown["tensors"]] == [4, 1]
    assert_same(load_checkpoint(tmp_path / "b.ckpt"), state)
    ckpt(capsys, "convert", tmp_path / "b.ckpt", tmp_path / "c.pth", "--mint")
    assert_same(torch.load(tmp_path / "c.pth"), state)


def test_checksums_are_looked_at(tmp_path, capsys):
    a = tmp_path / "a.ckpt"
    save_checkpoint({"w": torch.ones(2, 2)}, a)
    data = a.read_bytes()
    a.write_bytes(data + b"crc_num" + binascii.crc32(data).to_bytes(10, "big"))
    assert ckpt(capsys, "show", a)[1]["checksum"] == "right"
    assert ckpt(capsys, "convert", a, tmp_path / "b.pth")[0] == 0
    a.write_bytes(data + b"crc_num" + bytes(10))
    assert ckpt(capsys, "show", a)[0] == 1
    code, report = ckpt(capsys, "convert", a, tmp_path / "c.pth")
    assert code == 2 and "checksum" in report["error"] and not (tmp_path / "c.pth").exists()


@pytest.mark.parametrize(
    "content, why",
    (
        (b"\xd9\x5e\x3a\x7f\x58\0\0\0rest", "encrypted"),
        (b"\x0a\x7f\x0a\x01w", "half written"),
        (b"", "no parameter"),
    ),
)
def test_files_that_cannot_be_read(tmp_path, capsys, content, why):
    (tmp_path / "a.ckpt").write_bytes(content)
    (tmp_path / "b.pth").write_bytes(b"old")
    code, report = ckpt(capsys, "convert", tmp_path / "a.ckpt", tmp_path / "b.pth")
    assert code == 2 and why in report["error"]
    assert (tmp_path / "b.pth").read_bytes() == b"old"


def test_no_code_of_a_file_is_run(tmp_path, capsys):
    import pickle

    class Evil:
        def __reduce__(self):
            return open, (str(tmp_path / "ran"), "w")

    (tmp_path / "a.pth").write_bytes(pickle.dumps({"w": Evil()}))
    assert ckpt(capsys, "convert", tmp_path / "a.pth", tmp_path / "b.ckpt")[0] == 2
    assert not (tmp_path / "ran").exists() and not (tmp_path / "b.ckpt").exists()


def test_a_ckpt_of_torch_save(tmp_path, capsys):
    state = {"w": torch.randn(2, 3)}
    for zipped in (True, False):
        torch.save(
            {"state_dict": state, "epoch": 1}, tmp_path / "a.ckpt", _use_new_zipfile_serialization=zipped
        )
        words = ("convert", tmp_path / "a.ckpt", tmp_path / "b.pth", "--key", "state_dict")
        assert ckpt(capsys, *words)[0] == 0
        assert_same(torch.load(tmp_path / "b.pth"), state)
    (tmp_path / "a.ckpt").write_bytes((tmp_path / "b.pth").read_bytes()[:60])
    assert ckpt(capsys, *words)[0] == 2


def test_a_file_onto_itself_and_into_no_folder(tmp_path, capsys):
    state = {"fc.weight": torch.randn(2, 3)}
    save_checkpoint(state, tmp_path / "a.ckpt")
    words = ("convert", tmp_path / "a.ckpt", tmp_path / "a.ckpt", "--rename", "^fc=>head")
    assert ckpt(capsys, *words)[0] == 0
    assert_same(load_checkpoint(tmp_path / "a.ckpt"), {"head.weight": state["fc.weight"]})
    code, report = ckpt(capsys, *words[:2], tmp_path / "none" / "b.pth")
    assert code == 2 and "no folder" in report["error"]


def test_key_rename_and_what_is_no_tensor(tmp_path, capsys):
    state = {"module.fc.weight": torch.randn(2, 3), "module.fc.bias": torch.randn(2), "note": "text"}
    torch.save({"model": state, "epoch": 3}, tmp_path / "a.pt")
    words = ("convert", tmp_path / "a.pt", tmp_path / "b.ckpt", "--key", "model")
    code, report = ckpt(capsys, *words, "--rename", r"^module\.=>")
    assert code == 1 and report["problems"] == ["note: no tensor, left out"]
    assert set(load_checkpoint(tmp_path / "b.ckpt")) == {"fc.weight", "fc.bias"}
    code, report = ckpt(capsys, *words, "--rename", "weight|bias=>x")
    assert code == 2 and "would both be called module.fc.x" in report["error"]
    for wrong in ("nothing", "(=>x", r"a=>\1"):
        assert ckpt(capsys, *words, "--rename", wrong)[0] == 2
    assert "keys are model" in ckpt(capsys, *words[:3], "--key", "net")[1]["error"]


def test_like_says_what_does_not_fit(tmp_path, capsys):
    torch.save({"w": torch.ones(2, 3), "more": torch.ones(1, 1)}, tmp_path / "a.pth")
    save_checkpoint({"w": torch.ones(2, 4), "other": torch.ones(1)}, tmp_path / "like.ckpt")
    words = ("convert", tmp_path / "a.pth", tmp_path / "b.ckpt", "--like", tmp_path / "like.ckpt")
    code, report = ckpt(capsys, *words, "--dry-run")
    assert code == 1 and len(report["problems"]) == 3 and report["output"] is None
    assert not (tmp_path / "b.ckpt").exists()
    table = TOOL.main([str(word) for word in words])
    assert table == 1 and "the reference's (2, 4)" in capsys.readouterr().out
