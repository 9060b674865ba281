"""Files of the safetensors format: a header in JSON, then the bytes of contiguous tensors."""

import json
import struct

import ms_adapter.pytorch as torch

from .sources import open_source

_LONGEST_HEADER = 100_000_000  # bytes, as the format's own library has it
_DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz", "F8_E8M0": "float8_e8m0fnu", "C64": "complex64",
    "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8",
    "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8", "BOOL": "bool",
}  # fmt: skip


def load(path, map_location=None):
    """The tensors in a file, by name, on the device ``map_location``."""
    if not isinstance(map_location, (str, bytes, torch.device, type(None))):
        raise RuntimeError(
            "torch.load: for a safetensors file map_location must be a device or its name, not "
            f"{type(map_location).__name__}."
        )
    if isinstance(map_location, bytes):
        map_location = map_location.decode("ascii")
    with open(path, "rb") as file:
        source = open_source(file)
        header, start = read_header(source)
        tensors = {name: _tensor(source, start, name, entry) for name, entry in header.items()}
    if map_location is not None:
        tensors = {name: tensor.to(map_location) for name, tensor in tensors.items()}
    return tensors


def _damaged(what):
    return RuntimeError(f"torch.load: the safetensors file is damaged: {what}.")


def read_header(source):
    """The entries by name, checked to cover the rest of the file exactly, and where that begins."""
    if source.size < 8:
        raise _damaged(f"it has {source.size} bytes")
    (length,) = struct.unpack("<Q", source.read(0, 8))
    if length > min(_LONGEST_HEADER, source.size - 8):
        raise _damaged(f"its header claims {length} bytes of {source.size}")
    try:
        header = json.loads(source.read(8, length).decode("utf-8"))
    except (ValueError, RecursionError) as err:
        raise _damaged(f"its header is not JSON ({err})") from err
    if not isinstance(header, dict):
        raise _damaged("its header is no table")
    header.pop("__metadata__", None)
    end = 0
    for name, (first, last) in sorted(((n, _offsets(n, e)) for n, e in header.items()), key=lambda i: i[1]):
        if first != end or last < first:
            raise _damaged(f"the bytes of {name[:80]!r} do not follow those before")
        end = last
    if 8 + length + end != source.size:
        raise _damaged(f"its tensors end at {8 + length + end}, the file at {source.size}")
    return header, 8 + length


def _offsets(name, entry):
    offsets = entry.get("data_offsets") if isinstance(entry, dict) else None
    if not (isinstance(offsets, list) and len(offsets) == 2 and all(type(n) is int for n in offsets)):
        raise _damaged(f"{name[:80]!r} has no offsets")
    return offsets


def _tensor(source, start, name, entry):
    dtype = getattr(torch, _DTYPES.get(str(entry.get("dtype")), ""), None)
    if not isinstance(dtype, torch.dtype):  # some names are there only to say that they are missing
        raise NotImplementedError(
            f"torch.load: {name[:80]!r} has the dtype {str(entry.get('dtype'))[:20]}, which is not supported."
        )
    shape, (first, last) = entry.get("shape"), entry["data_offsets"]
    if not (isinstance(shape, list) and len(shape) <= 64 and all(type(n) is int and n >= 0 for n in shape)):
        raise _damaged(f"{name[:80]!r} has no shape")
    wanted = dtype.itemsize
    for n in shape:
        wanted *= n
    if wanted != last - first:
        raise _damaged(f"{name[:80]!r} has {last - first} bytes where its shape needs {wanted}")
    storage = torch.UntypedStorage(wanted)
    if wanted:
        source.read_into(start + first, storage, False)
    return torch.empty((0,), dtype=dtype).set_(storage, 0, tuple(shape))
