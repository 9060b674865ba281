"""The zip archives that PyTorch reads: one uncompressed record for the pickle and for every storage."""

import struct

from ms_adapter import _C

_LOCAL = struct.Struct("<4s5H3L2H")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR64 = struct.Struct("<4sLQL")
_VERSION, _VERSION64 = 20, 45  # of the format that a reader must know
_UTF8 = 0x800  # the flag that names are UTF-8
_DATE = 0x21  # 1980-01-01: the same bytes for the same content
_CRC_IN_LOCAL = 14  # bytes into a local header
_FULL16, _FULL32 = 0xFFFF, 0xFFFFFFFF
_SMALL = 64 << 10  # bytes below which records are collected before they are written
_WORTH_RESERVING = 1 << 20  # bytes
_ZEROS = bytes(1 << 20)


class FileSink:
    """Writes to a descriptor of our own, each byte once: headers are completed behind the data."""

    def __init__(self, descriptor):
        self._descriptor = descriptor
        self._pending, self._written = bytearray(), 0

    def expect(self, count):
        """At least ``count`` bytes will be written."""
        if count > _WORTH_RESERVING:
            _C.reserve_file(self._descriptor, count)

    def tell(self):
        """The bytes written so far."""
        return self._written + len(self._pending)

    def write(self, data):
        """Append bytes."""
        if len(data) < _SMALL:
            self._pending += data
        if len(self._pending) > len(_ZEROS) or len(data) >= _SMALL:
            self.flush()
        if len(data) >= _SMALL:
            self._written += _C.write_file_at(self._descriptor, self._written, data, False)[0]

    def write_record(self, header, data, checksum):
        """Append a header whose checksum is still missing and its data; the checksum."""
        if data.nbytes < _SMALL:
            crc = _C.crc32(data) if checksum else 0
            self.write(_with_crc(header, crc))
            self.write(data)
            return crc
        place = self.tell()
        self._pending += header
        self.flush()
        count, crc = _C.write_file_at(self._descriptor, self._written, data, checksum)
        _C.write_file_at(self._descriptor, place + _CRC_IN_LOCAL, struct.pack("<L", crc), False)
        self._written += count
        return crc

    def skip(self, count):
        """Leave room for ``count`` bytes."""
        self.flush()
        self._written += count

    def flush(self):
        """Write what was collected."""
        if self._pending:
            self._written += _C.write_file_at(self._descriptor, self._written, self._pending, False)[0]
            self._pending = bytearray()


class StreamSink:
    """Writes to an object with ``write``, from first to last."""

    def __init__(self, file):
        self._file, self._written = file, 0

    def expect(self, count):
        """Nothing to prepare."""

    def tell(self):
        """The bytes written so far."""
        return self._written

    def write(self, data):
        """Append bytes."""
        view = memoryview(data).cast("B")
        done = 0
        while done < view.nbytes:  # raw files may take less than they are given
            count = self._file.write(view[done:])
            done += view.nbytes - done if count is None else count
        self._written += view.nbytes

    def write_record(self, header, data, checksum):
        """Append a header whose checksum is still missing and its data; the checksum."""
        crc = _C.crc32(data) if checksum else 0
        self.write(_with_crc(header, crc))
        self.write(data)
        return crc

    def skip(self, count):
        """Leave room for ``count`` bytes."""
        for start in range(0, count, len(_ZEROS)):
            self.write(_ZEROS[: count - start])

    def flush(self):
        """Nothing is held back."""


def _with_crc(header, crc):
    return header[:_CRC_IN_LOCAL] + struct.pack("<L", crc) + header[_CRC_IN_LOCAL + 4 :]


class Writer:
    """Writes records into an archive's folder ``folder``; their data starts at multiples of ``alignment``."""

    def __init__(self, sink, folder, alignment, checksum=True):
        self._sink, self._folder, self._alignment = sink, folder, alignment
        self._checksum = checksum
        self.entries = []  # (name, crc, bytes, offset of the header)

    def write(self, record, data):
        """Add a record; ``data`` is anything with a buffer."""
        view = memoryview(data).cast("B")
        name, offset, header = self._start(record, view.nbytes)
        crc = self._sink.write_record(header, view, self._checksum)
        self.entries.append((name, crc, view.nbytes, offset))

    def reserve(self, record, count):
        """Add a record of ``count`` bytes that someone else fills in later."""
        name, offset, header = self._start(record, count)
        self._sink.write(header)
        self._sink.skip(count)
        self.entries.append((name, 0, count, offset))

    def _start(self, record, count):
        name, offset = f"{self._folder}/{record}".encode(), self._sink.tell()
        large = count >= _FULL32
        extra = struct.pack("<2H2Q", 1, 16, count, count) if large else b""
        padding = -(offset + _LOCAL.size + len(name) + len(extra) + 4) % self._alignment
        extra += struct.pack("<2sH", b"FB", padding) + b"Z" * padding
        size = _FULL32 if large else count
        version = _VERSION64 if large else _VERSION
        fields = (b"PK\x03\x04", version, _UTF8, 0, 0, _DATE, 0, size, size, len(name), len(extra))
        return name, offset, _LOCAL.pack(*fields) + name + extra

    def close(self):
        """Write the directory."""
        start = self._sink.tell()
        for entry in self.entries:
            self._sink.write(_directory_entry(*entry))
        size, count = self._sink.tell() - start, len(self.entries)
        if count >= _FULL16 or start + size >= _FULL32:
            end = start + size
            wide = (b"PK\x06\x06", _END64.size - 12, _VERSION64, _VERSION64, 0, 0, count, count, size, start)
            self._sink.write(_END64.pack(*wide) + _LOCATOR64.pack(b"PK\x06\x07", 0, end, 1))
        count, size, start = min(count, _FULL16), min(size, _FULL32), min(start, _FULL32)
        self._sink.write(_END.pack(b"PK\x05\x06", 0, 0, count, count, size, start, 0))
        self._sink.flush()


def _directory_entry(name, crc, size, offset):
    wide = ([size, size] if size >= _FULL32 else []) + ([offset] if offset >= _FULL32 else [])
    extra = struct.pack(f"<2H{len(wide)}Q", 1, 8 * len(wide), *wide) if wide else b""
    version = _VERSION64 if wide else _VERSION
    size, offset = min(size, _FULL32), min(offset, _FULL32)
    fields = (b"PK\x01\x02", version, version, _UTF8, 0, 0, _DATE, crc, size, size)
    return _ENTRY.pack(*fields, len(name), len(extra), 0, 0, 0, 0, offset) + name + extra
