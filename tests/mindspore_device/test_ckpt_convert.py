"""Checkpoints that `ms-adapter ckpt` converts fit MindSpore's own layers, which then compute the same."""

from __future__ import annotations

import numpy as np
import pytest

import ms_adapter.pytorch as torch  # before mindspore, which leaves no static TLS for libraries after it
from ms_adapter.pytorch import nn
from ms_adapter.tools.checkpoints.command import TOOL

ms = pytest.importorskip("mindspore", reason="needs MindSpore: make test-mindspore")

LAYERS = {
    "conv": (lambda: nn.Conv1d(4, 2, 3), lambda: ms.nn.Conv1d(4, 2, 3, pad_mode="valid", has_bias=True)),
    "up": (
        lambda: nn.ConvTranspose1d(4, 2, 3),
        lambda: ms.nn.Conv1dTranspose(4, 2, 3, pad_mode="valid", has_bias=True),
    ),
    "bn": (lambda: nn.BatchNorm2d(4), lambda: ms.nn.BatchNorm2d(4)),
    "ln": (lambda: nn.LayerNorm(6), lambda: ms.nn.LayerNorm((6,), epsilon=1e-5)),
    "group": (lambda: nn.GroupNorm(2, 4), lambda: ms.nn.GroupNorm(2, 4)),
    "fc": (lambda: nn.Linear(6, 3), lambda: ms.nn.Dense(6, 3)),
    "prelu": (lambda: nn.PReLU(4), lambda: ms.nn.PReLU(4)),
    "embedding": (lambda: nn.Embedding(9, 3), lambda: ms.nn.Embedding(9, 3)),
    "lstm": (lambda: nn.LSTM(6, 5), lambda: ms.nn.LSTM(6, 5)),
    "layer": (
        lambda: nn.TransformerEncoderLayer(6, 2, 8, batch_first=True),
        lambda: ms.nn.TransformerEncoderLayer(6, 2, 8, batch_first=True),
    ),
    "gru": (lambda: nn.GRU(6, 5, bidirectional=True), lambda: ms.nn.GRU(6, 5, bidirectional=True)),
}


def sample(name: str) -> torch.Tensor:
    if name == "embedding":
        return torch.tensor([[1, 8], [0, 3]], dtype=torch.int32)
    return torch.randn((2, 4, 6, 5) if name in ("bn", "group") else (2, 4) if name == "prelu" else (2, 4, 6))


def first(out):
    return out[0] if isinstance(out, tuple) else out


@pytest.mark.parametrize("name", LAYERS)
def test_mindspores_layer_computes_the_same(name: str, tmp_path) -> None:
    torch.manual_seed(0)
    ours, theirs = nn.Module(), ms.nn.Cell()
    setattr(ours, name, LAYERS[name][0]())
    setattr(theirs, name, LAYERS[name][1]())
    for t in ours.state_dict().values():
        if t.is_floating_point():
            t.copy_(torch.rand_like(t) + 0.5)
    torch.save(ours.state_dict(), tmp_path / "a.pth")
    assert TOOL.main(["convert", str(tmp_path / "a.pth"), str(tmp_path / "b.ckpt"), "--json"]) == 0
    missing, extra = ms.load_param_into_net(theirs, ms.load_checkpoint(str(tmp_path / "b.ckpt")))
    assert not missing and not extra
    x = sample(name)
    theirs.set_train(False)
    ours.eval()
    found = first(getattr(theirs, name)(ms.Tensor(x.numpy()))).asnumpy()
    np.testing.assert_allclose(found, first(getattr(ours, name)(x)).detach().numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("crc", (False, True))
def test_what_mindspore_wrote_loads_here(crc: bool, tmp_path) -> None:
    cell = ms.nn.SequentialCell(
        ms.nn.Conv2d(1, 2, 3), ms.nn.BatchNorm2d(2), ms.nn.LayerNorm((4,)), ms.nn.Dense(4, 2)
    )
    ms.save_checkpoint(cell, str(tmp_path / "a.ckpt"), crc_check=crc)
    assert TOOL.main(["convert", str(tmp_path / "a.ckpt"), str(tmp_path / "b.safetensors"), "--json"]) == 0
    net = nn.Sequential(nn.Conv2d(1, 2, 3, bias=False), nn.BatchNorm2d(2), nn.LayerNorm(4), nn.Linear(4, 2))
    net.load_state_dict(torch.load(tmp_path / "b.safetensors"))
    np.testing.assert_array_equal(net[3].weight.detach().numpy(), cell[3].weight.asnumpy())
