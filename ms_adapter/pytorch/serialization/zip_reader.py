"""Zip archives as torch.save writes them, read with every size and place checked before it is believed."""

import struct
import zlib

_END = struct.Struct("<4s4H2LH")  # signature, disk, its first, entries here, entries, size, offset, comment
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR64 = struct.Struct("<4sLQL")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_LONGEST_COMMENT = 0xFFFF
_STORED, _DEFLATED = 0, 8
_ENCRYPTED = 1
_MOST_EXPANSION = 100  # times its size that a compressed record may grow to, beyond the first MiB
_FULL32 = 0xFFFFFFFF  # "see the zip64 field"


class Damaged(RuntimeError):
    """The archive contradicts itself."""

    def __init__(self, what):
        super().__init__(f"PytorchStreamReader failed reading zip archive: {what}; the file is damaged.")


class Record:
    """One entry of the directory."""

    __slots__ = ("name", "method", "crc", "packed", "size", "header", "limit")

    def __init__(self, name, method, crc, packed, size, header):
        self.name, self.method, self.crc = name, method, crc
        self.packed, self.size, self.header = packed, size, header
        self.limit = 0  # where the next thing in the file begins


class Reader:
    """The records of the archive in ``source``."""

    def __init__(self, source):
        self._source = source
        directory, size, count = self._find_directory()
        records = self._parse(source.read(directory, size), count)
        _check_places(records, directory)
        self._folder = records[0].name.split("/")[0] if records else ""
        self._records = {}
        for record in records:
            if self._records.setdefault(record.name, record) is not record:
                raise Damaged(f"two records are called {record.name[:80]!r}")

    def has(self, name):
        """Whether there is such a record."""
        return f"{self._folder}/{name}" in self._records

    def size(self, name):
        """The bytes in a record."""
        return self._record(name).size

    def read(self, name):
        """A record's bytes."""
        record = self._record(name)
        data = bytearray(record.size) if record.method == _STORED else self._expand(record)
        if record.method == _STORED:
            self._check(record, self._source.read_into(self.place(name), data, True))
        else:
            self._check(record, zlib.crc32(data))
        return bytes(data)

    def read_into(self, name, target):
        """Fill a buffer from a record, which must have its length."""
        record = self._record(name)
        if record.method != _STORED:
            memoryview(target).cast("B")[:] = self.read(name)
            return
        self._check(record, self._source.read_into(self.place(name), target, bool(record.crc)))

    def place(self, name):
        """Where a record's bytes begin in the file."""
        record = self._record(name)
        fields = _LOCAL.unpack(self._source.read(record.header, _LOCAL.size))
        if fields[0] != b"PK\x03\x04":
            raise Damaged(f"record {name} has no header")
        start = record.header + _LOCAL.size + fields[9] + fields[10]
        if start + record.packed > record.limit:
            raise Damaged(f"record {name} reaches into the next one")
        if (
            self._source.read(record.header + _LOCAL.size, fields[9]).decode("utf-8", "replace")
            != record.name
        ):
            raise Damaged(f"the header of record {name} has another name")
        return start

    def is_stored(self, name):
        """Whether a record's bytes lie in the file as they are."""
        return self._record(name).method == _STORED

    def _record(self, name):
        record = self._records.get(f"{self._folder}/{name}")
        if record is None:
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found")
        return record

    def _check(self, record, crc):
        """Compare checksums; one of 0 says that the writer took none."""
        if record.crc not in (0, crc):
            raise Damaged(f"the bytes of record {record.name[:80]} do not have their checksum")

    def _expand(self, record):
        if record.size > _MOST_EXPANSION * record.packed + (1 << 20):
            raise Damaged(f"record {record.name[:80]} claims to expand to {record.size} bytes")
        packed = self._source.read(self.place(record.name.partition("/")[2]), record.packed)
        try:
            data = zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, record.size + 1)
        except zlib.error as err:
            raise Damaged(f"record {record.name[:80]}: {err}") from err
        if len(data) != record.size:
            raise Damaged(f"record {record.name[:80]} does not expand to its {record.size} bytes")
        return data

    def _find_directory(self):
        """(offset, bytes, entries) of the central directory."""
        source = self._source
        tail_start = max(0, source.size - _END.size - _LONGEST_COMMENT)
        tail = source.read(tail_start, source.size - tail_start)
        place = tail.rfind(b"PK\x05\x06")
        if place < 0 or len(tail) - place < _END.size:
            raise Damaged("failed finding central directory")
        _, disk, first, here, count, size, offset, _ = _END.unpack_from(tail, place)
        end = tail_start + place
        if disk or first or here != count:
            raise Damaged("it has several parts")
        # PyTorch writes the zip64 directory whether it is needed or not.
        count, size, offset, end = self._find_directory64(end) or (count, size, offset, end)
        if offset + size != end:
            raise Damaged("the directory is not where the file says")
        if count * _ENTRY.size > size:
            raise Damaged(f"a directory of {size} bytes cannot hold {count} entries")
        return offset, size, count

    def _find_directory64(self, end):
        place = end - _LOCATOR64.size
        if place < 0:
            return None
        signature, _, end64, disks = _LOCATOR64.unpack(self._source.read(place, _LOCATOR64.size))
        if signature != b"PK\x06\x07":
            return None
        fields = _END64.unpack(self._source.read(end64, _END64.size))
        if fields[0] != b"PK\x06\x06" or disks > 1 or fields[1] != place - end64 - 12:
            raise Damaged("its zip64 directory is not where the file says")
        return fields[7], fields[8], fields[9], end64

    def _parse(self, directory, count):
        records, place = [], 0
        for _ in range(count):
            if len(directory) - place < _ENTRY.size:
                raise Damaged("the directory ends early")
            fields = _ENTRY.unpack_from(directory, place)
            signature, _, _, flags, method, _, _, crc, packed, size, n, extra, comment = fields[:13]
            header = fields[16]
            place += _ENTRY.size
            if signature != b"PK\x01\x02" or len(directory) - place < n + extra + comment:
                raise Damaged("the directory ends early")
            name = directory[place : place + n].decode("utf-8", "replace")
            packed, size, header = _wide(directory[place + n : place + n + extra], packed, size, header)
            place += n + extra + comment
            if flags & _ENCRYPTED or method not in (_STORED, _DEFLATED):
                raise Damaged(f"record {name[:80]} is encrypted or packed in an unknown way")
            if method == _STORED and packed != size:
                raise Damaged(f"record {name[:80]} has {packed} bytes where it claims {size}")
            records.append(Record(name, method, crc, packed, size, header))
        if place != len(directory):
            raise Damaged(f"its directory has more than the {count} entries that it counts")
        return records


def _wide(extra, packed, size, header):
    """The three numbers, taken from the zip64 field where they do not fit their own."""
    place = 0
    while len(extra) - place >= 4:
        kind, length = struct.unpack_from("<2H", extra, place)
        if kind == 1:
            wanted = [value == _FULL32 for value in (size, packed, header)]
            if length < 8 * sum(wanted) or len(extra) - place - 4 < length:
                raise Damaged("a zip64 field ends early")
            values = iter(struct.unpack_from(f"<{sum(wanted)}Q", extra, place + 4))
            size, packed, header = (
                next(values) if wide else old for wide, old in zip(wanted, (size, packed, header))
            )
            break
        place += 4 + length
    return packed, size, header


def _check_places(records, end):
    """Records may neither overlap nor reach into the directory: each byte of the file is read once."""
    previous = None
    for record in sorted(records, key=lambda r: r.header):
        if previous is not None:
            previous.limit = record.header
        previous = record
    if previous is not None:
        previous.limit = end
    for record in records:
        if record.header + _LOCAL.size + len(record.name.encode()) + record.packed > record.limit:
            raise Damaged(f"record {record.name[:80]} overlaps another or the directory")
