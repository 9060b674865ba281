"""`.ckpt` files go between MindSpore and us, in both directions."""

from __future__ import annotations

import numpy as np
import pytest

import ms_adapter.pytorch as torch  # before mindspore, which leaves no static TLS for libraries after it
from ms_adapter.mindspore.checkpoint import load_checkpoint, save_checkpoint

ms = pytest.importorskip("mindspore", reason="needs MindSpore: make test-mindspore")

DTYPES = ("float32", "float64", "float16", "int64", "int32", "bool", "uint8")


@pytest.mark.parametrize("shape", ((2, 3), (), (1,), (5,)))
@pytest.mark.parametrize("dtype", DTYPES)
def test_mindspore_reads_what_we_write(tmp_path, dtype, shape) -> None:
    t = torch.ones(shape).to(getattr(torch, dtype))
    save_checkpoint({"net.w": t, "b": torch.zeros(2)}, tmp_path / "a.ckpt")
    found = ms.load_checkpoint(str(tmp_path / "a.ckpt"))
    assert list(found) == ["net.w", "b"]
    np.testing.assert_array_equal(found["net.w"].asnumpy(), t.numpy())
    assert found["net.w"].asnumpy().dtype == t.numpy().dtype


@pytest.mark.parametrize("crc", (False, True))
def test_we_read_what_mindspore_writes(tmp_path, crc) -> None:
    cell = ms.nn.Dense(3, 2)
    ms.save_checkpoint(cell, str(tmp_path / "a.ckpt"), crc_check=crc)
    found = load_checkpoint(tmp_path / "a.ckpt")
    assert set(found) == {"weight", "bias"}
    np.testing.assert_array_equal(found["weight"].numpy(), cell.weight.asnumpy())


@pytest.mark.parametrize("mode", ("AES-GCM", "AES-CBC", "SM4-CBC"))
def test_files_that_mindspore_encrypted_are_recognised(tmp_path, mode: str) -> None:
    made = [{"name": "w", "data": ms.Tensor(np.ones(3, np.float32))}]
    ms.save_checkpoint(made, str(tmp_path / "a.ckpt"), enc_key=b"0123456789abcdef", enc_mode=mode)
    with pytest.raises(RuntimeError, match="encrypted"):
        load_checkpoint(tmp_path / "a.ckpt")


def test_damaged_files_are_recognised(tmp_path) -> None:
    save_checkpoint({"w": torch.ones(8)}, tmp_path / "b.ckpt")
    (tmp_path / "b.ckpt").write_bytes((tmp_path / "b.ckpt").read_bytes()[:-3])
    with pytest.raises(RuntimeError, match="damaged"):
        load_checkpoint(tmp_path / "b.ckpt")
