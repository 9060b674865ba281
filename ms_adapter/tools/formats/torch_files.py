"""torch.save's files and safetensors: loaded mapped, so that only places and shapes are looked at."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from .entry import BadFile, Entry, from_tensor

SAFETENSORS_DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "C64": "complex64",
    "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz", "F8_E8M0": "float8_e8m0fnu",
    "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "U64": "uint64",
    "U32": "uint32", "U16": "uint16", "U8": "uint8",
    "BOOL": "bool",
}  # fmt: skip


def read_torch(path: str) -> list[Entry]:
    """The tensors of a file of torch.save, by their way through its dictionaries and lists."""
    loaded = load_mapped(path)
    mapped = _mappings_of(path)
    entries = [_entry(name, tensor, path, mapped) for name, tensor in tensors_in(loaded)]
    if not entries:
        raise BadFile("there is no tensor in it")
    return entries


def is_of_torch(path: str) -> bool:
    """Whether a file begins as torch.save's do, now (a zip file) or in former times (a pickle)."""
    with open(path, "rb") as file:
        return file.read(4).startswith((b"PK\x03\x04", b"\x80\x02"))


def load_mapped(path: str) -> Any:
    """What torch.load gives without running code of the file, its tensors over the file where it can be."""
    import ms_adapter.pytorch as torch

    try:
        return torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except RuntimeError as error:
        if "mmap can only be used" not in str(error):
            raise
    return torch.load(path, map_location="cpu", weights_only=True)


def tensors_in(value: Any) -> Iterator[tuple[str, Any]]:
    """(name, tensor) of all tensors in nested dictionaries, lists and tuples."""
    return ((name, leaf) for name, leaf in leaves_of(value) if is_tensor(leaf))


def is_tensor(value: Any) -> bool:
    """Whether it is a tensor of ours, or of PyTorch."""
    return hasattr(value, "dtype") and hasattr(value, "detach")


def leaves_of(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """(name, value) of all that nested dictionaries, lists and tuples hold."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves_of(item, f"{name}.{key}" if name else str(key))
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from leaves_of(item, f"{name}.{i}" if name else str(i))
    else:
        yield name, value


def _mappings_of(path: str) -> list[tuple[int, int, int]]:
    """(first address, end, offset in the file) of each part of this process's memory that maps the file."""
    real = os.path.realpath(path)
    found = []
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            for line in maps:
                fields = line.rstrip("\n").split(maxsplit=5)
                if len(fields) == 6 and fields[5] == real:
                    first, _, end = fields[0].partition("-")
                    found.append((int(first, 16), int(end, 16), int(fields[2], 16)))
    except OSError:  # not Linux: the tensors are compared through their mapping
        return []
    return found


def _entry(name: str, tensor: Any, path: str, mapped: list[tuple[int, int, int]]) -> Entry:
    """The entry; read from the file itself where the tensor lies there as it is, to spare memory."""
    dtype = str(tensor.dtype).rpartition(".")[2]
    size = tensor.numel() * tensor.element_size()
    if str(tensor.layout) == "torch.strided" and tensor.is_contiguous() and size and not tensor.is_conj():
        address = tensor.data_ptr()
        for first, end, offset in mapped:
            if first <= address and address + size <= end:
                place = offset + address - first
                return Entry(name, dtype, tuple(tensor.shape), pieces=[(path, place, size)])
    return from_tensor(name, tensor)


def read_safetensors(path: str) -> list[Entry]:
    """The tensors of a safetensors file, from its header."""
    from ms_adapter.pytorch.serialization import safetensors_file
    from ms_adapter.pytorch.serialization.sources import open_source

    with open(path, "rb") as file:
        header, start = safetensors_file.read_header(open_source(file))
    entries = []
    for name, fields in header.items():
        first, last = fields["data_offsets"]
        dtype = SAFETENSORS_DTYPES.get(str(fields.get("dtype")), str(fields.get("dtype")))
        shape = tuple(int(n) for n in fields.get("shape", ()))
        entries.append(Entry(name, dtype, shape, pieces=[(path, start + first, last - first)]))
    return entries
