"""Checkpoints: every kind of value, both formats, both directions with PyTorch, every way to open a file."""

from __future__ import annotations

import gzip
import io
import mmap
import os
import pathlib
import pickle
import stat
import sys
import threading
import warnings
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import pytest
import torch

import ms_adapter.pytorch as face
from ms_adapter import _C
from ms_adapter.pytorch.serialization import zip_writer

WAYS = [(torch, face), (face, torch), (face, face)]
OLD = {"_use_new_zipfile_serialization": False}
FORMATS = pytest.mark.parametrize("options", [{}, OLD], ids=["zip", "old"])
DTYPES = [
    *("float64", "float32", "float16", "bfloat16", "complex128", "complex64", "int64", "int32", "int16"),
    *("int8", "uint8", "bool", "uint16", "uint32", "uint64"),
    *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "complex32"),
    "bits8",
]


def saved(t: Any, value: Any, **options: Any) -> io.BytesIO:
    buffer = io.BytesIO()
    t.save(value, buffer, **options)
    buffer.seek(0)
    return buffer


def raw(tensor: Any) -> bytes:
    return bytes(tensor.contiguous().view(-1).untyped_storage().tolist()) if tensor.numel() else b""


@FORMATS
@pytest.mark.parametrize(("writer", "reader"), WAYS)
@pytest.mark.parametrize("name", DTYPES)
def test_dtypes(name: str, writer: Any, reader: Any, options: dict[str, Any]) -> None:
    if (
        reader is torch
        and options
        and not torch.storage._dtype_to_storage_type_map().get(getattr(torch, name))
    ):
        pytest.skip("PyTorch cannot read them from its own old files")
    value = writer.tensor([0.0, 1.0, 5.0, 3.0])
    value = value.view(writer.bits8) if name == "bits8" else value.to(getattr(writer, name))
    back = reader.load(saved(writer, value, **options))
    assert str(back.dtype) == str(value.dtype) and raw(back) == raw(value)


@pytest.mark.parametrize("weights_only", [True, False])
@FORMATS
def test_what_is_missing_is_named(options: dict[str, Any], weights_only: bool) -> None:
    quantized = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = saved(torch, quantized, **options)
    with pytest.raises(Exception, match="quantized tensors are not supported"):
        face.load(file, weights_only=weights_only)


def sparse(t: Any) -> list[Any]:
    dense = t.tensor([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]])
    return [dense.to_sparse(), dense.to_sparse_csr(), dense.to_sparse_csc(), dense.t().to_sparse()]


@FORMATS
@pytest.mark.parametrize(("writer", "reader"), WAYS)
def test_sparse(writer: Any, reader: Any, options: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        back = reader.load(saved(writer, sparse(writer), **options))
    for got, want in zip(back, sparse(reader)):
        assert str(got.layout) == str(want.layout) and got.to_dense().tolist() == want.to_dense().tolist()


@FORMATS
@pytest.mark.parametrize(("writer", "reader"), WAYS)
def test_tied_weights_stay_tied(writer: Any, reader: Any, options: dict[str, Any]) -> None:
    model = writer.nn.ModuleDict({"a": writer.nn.Linear(3, 3), "b": writer.nn.Linear(3, 3)})
    model["b"].weight = model["a"].weight
    state = reader.load(saved(writer, model.state_dict(), **options))
    assert state["a.weight"].data_ptr() == state["b.weight"].data_ptr()
    whole = reader.load(saved(writer, model, **options), weights_only=False)
    assert whole["a"].weight is whole["b"].weight


def trained(t: Any) -> dict[str, Any]:
    """The states of an optimizer and its scheduler after some steps on the same numbers."""
    weight = t.nn.Parameter(t.arange(6.0).reshape(2, 3))
    optimizer = t.optim.AdamW([weight], lr=0.1, amsgrad=True)
    scheduler = t.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    for _ in range(3):
        optimizer.zero_grad()
        (weight**2).sum().backward()
        optimizer.step()
        scheduler.step()
    return {
        "weight": weight,
        "optimizer": optimizer,
        "scheduler": scheduler,
        "state": {
            "w": weight.detach(),
            "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(),
        },
    }


@FORMATS
@pytest.mark.parametrize(("writer", "reader"), WAYS)
def test_training_goes_on_where_the_other_stopped(writer: Any, reader: Any, options: dict[str, Any]) -> None:
    state = reader.load(saved(writer, trained(writer)["state"], **options))
    ours, straight = trained(reader), trained(torch)
    with reader.no_grad():
        ours["weight"].copy_(state["w"])
    ours["optimizer"].load_state_dict(state["optimizer"])
    ours["scheduler"].load_state_dict(state["scheduler"])
    for run in (ours, straight):
        for _ in range(2):
            run["optimizer"].zero_grad()
            (run["weight"] ** 2).sum().backward()
            run["optimizer"].step()
            run["scheduler"].step()
    want = straight["weight"].detach().numpy()
    assert abs(ours["weight"].detach().numpy() - want).max() < 1e-5
    assert ours["scheduler"].get_last_lr() == straight["scheduler"].get_last_lr()


class Named(face.Tensor):
    """A subclass."""


@FORMATS
def test_subclasses_and_attributes(options: dict[str, Any]) -> None:
    named = face.ones(2).as_subclass(Named)
    named.note = "kept"
    parameter = face.nn.Parameter(face.ones(2))
    parameter.group = 3
    file = saved(face, [named, parameter, face.nn.Buffer(face.zeros(1), persistent=False)], **options)
    with pytest.raises(Exception, match="add_safe_globals"):
        face.load(file)
    with face.serialization.safe_globals([Named]):
        file.seek(0)
        named, parameter, buffer = face.load(file)
    assert type(named) is Named and named.note == "kept"
    assert type(parameter) is face.nn.Parameter and parameter.group == 3
    assert isinstance(buffer, face.nn.Buffer) and not buffer.persistent


# ---- ways to open --------------------------------------------------------------------------------
class Slow:
    """A file that gives and takes little at a time, and nothing but what torch.load and torch.save need."""

    def __init__(self, data: bytes = b"") -> None:
        self._file = io.BytesIO(data)
        self.tell, self.seek, self.readline = self._file.tell, self._file.seek, self._file.readline

    def read(self, count: int = -1) -> bytes:
        return self._file.read(count)

    def write(self, data: Any) -> int:
        return self._file.write(bytes(data)[:1000])

    def getvalue(self) -> bytes:
        return self._file.getvalue()


@FORMATS
def test_ways_to_open(tmp_path: pathlib.Path, options: dict[str, Any]) -> None:
    value = face.arange(300_000)
    path = tmp_path / "x.pt"

    def check(source: Any) -> None:
        assert face.load(source).equal(value)
        assert torch.load(path).numpy().tolist() == value.tolist()

    for target in (path, str(path), os.fsencode(path)):
        path.unlink(missing_ok=True)
        face.save(value, target, **options)
        check(target)
    for mode, buffering in (("wb", -1), ("wb", 0), ("w+b", -1)):
        with open(path, mode, buffering=buffering) as file:
            face.save(value, file, **options)
            if mode == "w+b":
                file.seek(0)
                check(file)
        with open(path, "rb", buffering=buffering) as file:
            check(file)
    with gzip.open(tmp_path / "x.gz", "wb", compresslevel=1) as file:
        face.save(value, file, **options)
    with gzip.open(tmp_path / "x.gz", "rb") as file:
        check(file)
    slow = Slow()
    face.save(value, slow, **options)
    check(Slow(slow.getvalue()))


def test_a_file_may_begin_later() -> None:
    buffer = io.BytesIO(b"before")
    buffer.seek(6)
    face.save([1, face.ones(2)], buffer, **OLD)
    face.save([2], buffer, **OLD)
    buffer.seek(6)
    assert face.load(buffer)[0] == 1 and face.load(buffer) == [2]


def test_what_is_no_file_is_refused() -> None:
    with pytest.raises(AttributeError, match="readline"):
        face.load(3)
    with pytest.raises(AttributeError, match="'write' attribute"):
        face.save([], 3)
    with pytest.raises(EOFError):
        face.load(io.BytesIO())


# ---- devices -------------------------------------------------------------------------------------
def tagged(tag: str, options: dict[str, Any]) -> io.BytesIO:
    """PyTorch's file of a tensor that was on another device."""
    torch.serialization.register_package(-1, lambda storage: tag, lambda storage, location: None)
    try:
        return saved(torch, torch.arange(3.0), **options)
    finally:
        registry = torch.serialization._package_registry
        registry[:] = [entry for entry in registry if entry[0] != -1]


@FORMATS
@pytest.mark.parametrize("tag", ["cuda:0", "mps", "xpu:0"])
def test_tags_of_absent_devices_mean_cpu(tag: str, options: dict[str, Any]) -> None:
    face.serialization.locations._said.clear()
    with pytest.warns(UserWarning, match=tag.partition(":")[0]):
        assert face.load(tagged(tag, options)).tolist() == [0, 1, 2]
    seen = []
    choices: list[Any] = [
        "cpu",
        face.device("cpu"),
        {tag: "cpu"},
        lambda storage, location: seen.append(location),
    ]
    for map_location in choices:
        back = face.load(tagged(tag, options), map_location=map_location)
        assert back.device.type == "cpu" and back.tolist() == [0, 1, 2]
    assert seen == [tag]


@FORMATS
def test_tags_of_npu_need_map_location(options: dict[str, Any]) -> None:
    file = tagged("npu:1", options)
    with pytest.raises(
        RuntimeError, match="'npu:1' of a storage, a device that is not here; pass map_location='cpu'"
    ):
        face.load(file)
    for map_location in ("cpu", face.device("cpu"), {"npu:1": "cpu"}, lambda storage, location: storage):
        file.seek(0)
        assert face.load(file, map_location=map_location).tolist() == [0, 1, 2]


@FORMATS
def test_map_location(options: dict[str, Any]) -> None:
    with pytest.raises(RuntimeError, match="don't know how to restore"):
        face.load(tagged("fridge:0", options))
    assert face.load(saved(torch, torch.ones(2), **options), map_location="meta").is_meta
    with pytest.raises(TypeError, match="map_location"):
        face.load(saved(torch, torch.ones(2), **options), map_location=3.5)
    with pytest.raises(TypeError, match="returned str"):
        face.load(saved(torch, torch.ones(2), **options), map_location=lambda storage, location: "cpu")


def test_registered_devices_are_asked() -> None:
    asked = []
    face.serialization.register_package(5, lambda storage: "mine", lambda storage, tag: asked.append(tag))
    try:
        file = saved(face, face.ones(2))
        with pytest.raises(RuntimeError, match="mine"):
            face.load(file)
    finally:
        face.serialization.locations._packages.clear()
    assert asked == ["mine"]


# ---- settings ------------------------------------------------------------------------------------
def test_mmap(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.pt"
    torch.save({"a": torch.arange(1000.0), "b": torch.ones(3, dtype=torch.int8)}, path)
    before = path.read_bytes()
    loaded = face.load(path, mmap=True)
    assert loaded["a"].tolist() == torch.arange(1000.0).tolist()
    loaded["a"].fill_(7)
    assert path.read_bytes() == before and loaded["a"].sum().item() == 7000
    assert not loaded["a"].untyped_storage().resizable()
    with face.serialization.set_default_mmap_options(mmap.MAP_SHARED):
        shared = face.load(path, mmap=True)
    shared["b"].fill_(5)
    assert torch.load(path)["b"].tolist() == [5, 5, 5]
    with pytest.raises(ValueError, match="file path"):
        face.load(io.BytesIO(before), mmap=True)
    face.save([1], path, **OLD)  # the mapping keeps the file that was replaced
    assert loaded["a"].sum().item() == 7000
    with pytest.raises(RuntimeError, match="mmap can only be used"):
        face.load(path, mmap=True)
    with pytest.raises(ValueError, match="MAP_PRIVATE"):
        face.serialization.set_default_mmap_options(12345)


def test_checksums() -> None:
    buffer = saved(face, face.arange(100_000))
    with zipfile.ZipFile(buffer) as archive:
        assert archive.testzip() is None
    for t, reader in WAYS:
        t.serialization.set_crc32_options(False)
        try:
            assert not t.serialization.get_crc32_options()
            file = saved(t, t.arange(100_000))
        finally:
            t.serialization.set_crc32_options(True)
        assert reader.load(file).tolist()[-1] == 99_999
    damaged = bytearray(buffer.getvalue())
    damaged[300_000] ^= 1
    with pytest.raises(RuntimeError, match="checksum"):
        face.load(io.BytesIO(damaged))


def test_checksums_are_those_of_zip(tmp_path: pathlib.Path) -> None:
    """Of every length around the folded blocks, and joined from the pieces of several threads."""
    data = bytes(range(256)) * 12_000
    for start, length in [(i % 17, n) for i, n in enumerate([*range(600), 1023, 4095, 4096, 100_001])]:
        assert _C.crc32(data[start : start + length]) == zlib.crc32(data[start : start + length])
    path = tmp_path / "bytes"
    path.write_bytes(data)
    with open(path, "rb") as file:
        for count in (0, 1000, len(data) - 7, len(data)):
            buffer = bytearray(count)
            done, crc = _C.read_file_at(file.fileno(), 0, buffer, True)
            assert (done, crc, bytes(buffer)) == (count, zlib.crc32(data[:count]), data[:count])
        assert _C.read_file_at(file.fileno(), len(data) - 5, bytearray(9), False)[0] == 5


def test_byte_order() -> None:
    """A file of a big-endian machine, made by turning every number of one of ours."""
    value = {"f": torch.tensor([1.5, -2.0]), "c": torch.tensor([1 + 2j]), "i": torch.tensor([3, 4])}
    source, target = zipfile.ZipFile(saved(torch, value)), io.BytesIO()
    widths = iter((4, 4, 8))
    with zipfile.ZipFile(target, "w") as archive:
        for item in source.infolist():
            data = source.read(item)
            if "/data/" in item.filename:
                width = next(widths)
                data = b"".join(data[i : i + width][::-1] for i in range(0, len(data), width))
            archive.writestr(item.filename, b"big" if item.filename.endswith("byteorder") else data)
    back = face.load(io.BytesIO(target.getvalue()))
    assert (
        back["f"].tolist() == [1.5, -2.0] and back["c"].tolist() == [1 + 2j] and back["i"].tolist() == [3, 4]
    )
    with pytest.raises(TypeError):
        face.serialization.set_default_load_endianness("big")
    face.serialization.set_default_load_endianness(face.serialization.LoadEndianness.NATIVE)
    assert face.serialization.get_default_load_endianness() is face.serialization.LoadEndianness.NATIVE
    face.serialization.set_default_load_endianness(None)


@FORMATS
def test_skip_data(tmp_path: pathlib.Path, options: dict[str, Any]) -> None:
    path = tmp_path / "x.pt"
    if not options:
        with face.serialization.skip_data():
            face.save(face.ones(100_000), path)
        assert torch.load(path).sum() == 0
    face.save(face.ones(5), path, **options)
    with face.serialization.skip_data():
        assert face.load(path).shape == (5,)


def test_alignment(tmp_path: pathlib.Path) -> None:
    face.utils.serialization.config.save.storage_alignment = 4096
    try:
        face.save([face.ones(3), face.ones(4)], tmp_path / "x.pt")
    finally:
        face.utils.serialization.config.save.storage_alignment = 64
    assert [t.sum().item() for t in torch.load(tmp_path / "x.pt", mmap=True)] == [3, 4]


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    module = face.nn.Linear(1, 1)
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    assert isinstance(face.load(saved(face, module)), face.nn.Linear)
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="Only one of"):
        face.load(saved(face, module))
    monkeypatch.delenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    with pytest.raises(Exception, match="not an allowed global"):
        face.load(saved(face, module), weights_only=False)


def test_zip64(tmp_path: pathlib.Path) -> None:
    """Records of more than 4 GiB, and ones that begin beyond, as PyTorch and zipfile read them."""
    path, gib = tmp_path / "big.pt", 1 << 30
    with open(path, "wb") as file:
        sink = zip_writer.FileSink(file.fileno())
        writer = zip_writer.Writer(sink, "big", 64)
        writer.reserve("data/0", 5 * gib)
        writer.write("data/1", b"end")
        writer.write("version", b"3")
        writer.close()
    with zipfile.ZipFile(path) as archive:
        assert [item.file_size for item in archive.infolist()] == [5 * gib, 3, 1]
        assert archive.read("big/data/1") == b"end"
    reader = torch._C.PyTorchFileReader(str(path))
    assert reader.get_record("data/1") == b"end"
    with open(path, "rb") as file:
        ours = face.serialization.zip_reader.Reader(face.serialization.sources.open_source(file))
        assert ours.size("data/0") == 5 * gib and ours.read("data/1") == b"end"
        assert ours.place("data/0") == reader.get_record_offset("data/0")


# ---- written whole or not at all ----------------------------------------------------------------
def test_modes_and_links(tmp_path: pathlib.Path) -> None:
    target, link = tmp_path / "real.pt", tmp_path / "link.pt"
    old_mask = os.umask(0o027)
    try:
        face.save([1], target)
        assert stat.S_IMODE(target.stat().st_mode) == 0o640
    finally:
        os.umask(old_mask)
    target.chmod(0o604)
    link.symlink_to(target.name)
    face.save([2], link)
    assert link.is_symlink() and face.load(target) == [2]
    assert stat.S_IMODE(target.stat().st_mode) == 0o604
    assert sorted(os.listdir(tmp_path)) == ["link.pt", "real.pt"]


@pytest.mark.parametrize("named", [False, True])
def test_nothing_is_seen_before_the_end(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    """Within a save: the old file is there, and no one else may read the new one."""
    if named:
        monkeypatch.delattr(os, "O_TMPFILE")
    path = tmp_path / "x.pt"
    face.save(["old"], path)
    seen: list[Any] = []

    class Watcher:
        def __reduce__(self) -> tuple[Callable, tuple]:
            seen.append(face.load(path))
            seen.append([stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir() if p != path])
            return int, ()

    face.save([Watcher()], path)
    assert seen == [["old"], [0o600] if named else []]
    assert os.listdir(tmp_path) == ["x.pt"]


def test_pipes_devices_and_folders(tmp_path: pathlib.Path) -> None:
    face.save([1], os.devnull)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    face.save(face.arange(50_000), pipe)
    reader.join(30)
    assert torch.load(io.BytesIO(got[0])).sum() == 49_999 * 25_000
    with pytest.raises(IsADirectoryError):
        face.save([1], tmp_path)
    with pytest.raises(RuntimeError, match="Parent directory"):
        face.save([1], tmp_path / "absent" / "x.pt")


def test_a_full_disk_leaves_the_old_file(tmp_path: pathlib.Path) -> None:
    import resource

    path = tmp_path / "x.pt"
    face.save(["old"], path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    import signal

    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            face.save(face.ones(1 << 20), path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, old)
    assert face.load(path) == ["old"] and os.listdir(tmp_path) == ["x.pt"]


# ---- storages ------------------------------------------------------------------------------------
def test_storages_of_files_and_parts(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(100)))
    storage = face.UntypedStorage.from_file(str(path), shared=False, nbytes=50)
    assert storage.nbytes() == 50 and storage[-1] == 49 and len(storage[10:20]) == 10
    part = storage[10:20]
    del storage
    part[2:4].copy_(part[0:2])
    assert part.tolist()[:5] == [10, 11, 10, 11, 14]
    assert path.read_bytes() == bytes(range(100))
    with pytest.raises(RuntimeError, match="100 bytes"):
        face.UntypedStorage.from_file(path, nbytes=200)
    grown = face.UntypedStorage.from_file(path, True, 200)
    assert grown.nbytes() == 200 == path.stat().st_size
    with pytest.raises(FileNotFoundError):
        face.UntypedStorage.from_file(tmp_path / "absent")
    own = face.UntypedStorage(10)
    assert own[5:].nbytes() == 5 and not own.resizable()
    with pytest.raises(RuntimeError, match="step"):
        own[::2]
    assert sys.getsizeof(own) > 0


@FORMATS
def test_conjugates_and_negatives(options: dict[str, Any]) -> None:
    x = torch.tensor([1 + 2j, 3 - 1j])
    negative = torch.tensor([1 + 2j, 3 - 1j]).conj().imag  # of its own: another dtype in the file
    state = {"conj": x.conj(), "neg": negative, "leaf": x.conj().requires_grad_(), "plain": x}
    back = face.load(saved(torch, state, **options))
    assert {name: value.tolist() for name, value in back.items()} == {n: v.tolist() for n, v in state.items()}
    assert back["leaf"].requires_grad and back["leaf"].is_leaf


@torch.utils.hooks.unserializable_hook
def _marked(grad):
    return grad


def test_hooks_that_a_file_loses_are_said() -> None:
    """Of plain tensors, as with PyTorch; not of parameters, and not for hooks that were marked."""
    for t in (torch, face):
        leaf, marked, gone = (t.ones(2, requires_grad=True) for _ in range(3))
        parameter = t.nn.Parameter(t.ones(2))
        leaf.register_hook(lambda grad: 2 * grad)
        marked.register_hook(_marked)
        parameter.register_hook(lambda grad: grad)
        gone.register_hook(lambda grad: grad).remove()
        assert not gone._backward_hooks
        assert len(leaf._backward_hooks) == 1
        for tensor, count in ((leaf, 1), (marked, 0), (parameter, 0), (gone, 0)):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                t.save(tensor, io.BytesIO())
                pickle.dumps(tensor)
            assert sum("will not be serialized" in str(w.message) for w in said) == 2 * count
        (leaf * 3).sum().backward()
        assert leaf.grad.tolist() == [6.0, 6.0]


@pytest.mark.parametrize("zipped", [True, False])
def test_a_saved_open_file_can_be_read_by_its_name(tmp_path: pathlib.Path, zipped: bool) -> None:
    with open(tmp_path / "a.pt", "wb") as file:
        face.save({"w": face.ones(3)}, file, _use_new_zipfile_serialization=zipped)
        assert face.load(tmp_path / "a.pt")["w"].tolist() == [1.0, 1.0, 1.0]
