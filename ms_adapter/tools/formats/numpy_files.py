"""npy and npz: where the elements begin, from the headers alone."""

from __future__ import annotations

import io
import os
import struct
import zipfile
from typing import IO, Any

import numpy as np

from .entry import BadFile, Entry, from_array

_LOCAL_HEADER = struct.Struct("<4s5H3L2H")


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, Any]:
    """Shape, whether in Fortran's order, dtype; the file stands at its first element then."""
    try:
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            return np.lib.format.read_array_header_1_0(file)
        if version in ((2, 0), (3, 0)):
            return np.lib.format.read_array_header_2_0(file)
    except (ValueError, EOFError, SyntaxError, UnicodeDecodeError) as error:
        raise BadFile(f"no npy file, or its header is damaged ({str(error)[:120]})") from error
    raise BadFile(f"npy version {version} is not known")


def _describe(name: str, file: IO[bytes], path: str, start: int, size: int) -> Entry:
    """The entry of an npy file that begins at `start` of `path`; `file` stands at its beginning."""
    shape, fortran, dtype = _header(file)
    if dtype.hasobject:
        return Entry(name, error="it holds Python objects, which are not loaded")
    begin = file.tell()
    needed = dtype.itemsize * int(np.prod(shape, dtype=object))
    if size - begin < needed:
        raise BadFile(
            f"half written: {size - begin} bytes of data where shape {shape} of {dtype} needs {needed}"
        )
    odd_order = dtype.byteorder == ">" or (fortran and len(shape) > 1)
    if odd_order:
        data = np.frombuffer(file.read(needed), dtype).reshape(shape, order="F" if fortran else "C")
        return from_array(name, data)
    return Entry(name, str(dtype), tuple(shape), pieces=[(path, start + begin, needed)])


def read_npy(path: str) -> list[Entry]:
    """The one tensor of an npy file."""
    with open(path, "rb") as file:
        return [_describe("", file, path, 0, os.fstat(file.fileno()).st_size)]


def read_npz(path: str) -> list[Entry]:
    """The tensors of an npz file: stored members are read in place, compressed ones into memory."""
    entries = []
    with open(path, "rb") as raw, _opened(raw) as archive:
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            try:
                entries.append(_member(name, member, archive, raw, path))
            except Exception as error:  # a damaged member may fail in any way
                entries.append(Entry(name, error=str(error).splitlines()[0]))
    return entries


def _opened(raw: IO[bytes]) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(raw)
    except zipfile.BadZipFile as error:
        raise BadFile(f"no npz file, or half written ({error})") from error


def _member(name: str, member: zipfile.ZipInfo, archive: zipfile.ZipFile, raw: IO[bytes], path: str) -> Entry:
    if member.compress_type != zipfile.ZIP_STORED:
        data = archive.read(member)
        unpacked = io.BytesIO(data)
        shape, fortran, dtype = _header(unpacked)
        if dtype.hasobject:
            return Entry(name, error="it holds Python objects, which are not loaded")
        count = int(np.prod(shape, dtype=object))
        values = np.frombuffer(data, dtype, count, unpacked.tell())
        return from_array(name, values.reshape(shape, order="F" if fortran else "C"))
    raw.seek(member.header_offset)
    fields = _LOCAL_HEADER.unpack(raw.read(_LOCAL_HEADER.size))
    start = member.header_offset + _LOCAL_HEADER.size + fields[9] + fields[10]
    with archive.open(member) as file:
        return _describe(name, file, path, start, member.file_size)
