"""Where files are read from: open files, buffers and anything with read and seek, under one interface."""

import io
import os
import stat

from ms_adapter import _C

_PIECE = 1 << 20  # bytes read at once where a length comes from the file itself


def open_source(file):
    """A source over ``file`` from its present position to its end."""
    start = file.tell()
    if isinstance(file, io.BytesIO):
        return Memory(file.getbuffer()[start:])
    if isinstance(file, (io.BufferedReader, io.BufferedRandom, io.FileIO)):
        descriptor = _regular(file)
        if descriptor is not None:
            if isinstance(file, io.BufferedRandom):
                file.flush()
            return Descriptor(descriptor, start)
    return Stream(file, start)


def _regular(file):
    """The descriptor of a regular file, which can be read at any place; None for all else."""
    try:
        descriptor = file.fileno()
    except (OSError, ValueError):
        return None
    return descriptor if stat.S_ISREG(os.fstat(descriptor).st_mode) else None


def ends_early(what, wanted, found):
    """The error for a file that lacks bytes which it announced."""
    return RuntimeError(f"torch.load: {what} ends early: {wanted} bytes expected, {found} found.")


class Descriptor:
    """An open regular file, read by the core: in parallel where there is much."""

    def __init__(self, descriptor, start=0):
        self._descriptor, self._start = descriptor, start
        self.size = max(0, os.fstat(descriptor).st_size - start)

    def read(self, offset, count):
        """``count`` bytes at ``offset``."""
        data = bytearray(_within(self, offset, count))
        self.read_into(offset, data, False)
        return bytes(data)

    def read_into(self, offset, buffer, checksum):
        """Fill the buffer; the CRC-32 of its bytes if ``checksum``."""
        wanted = memoryview(buffer).nbytes
        done, crc = _C.read_file_at(self._descriptor, self._start + offset, buffer, checksum)
        if done != wanted:
            raise ends_early("the file", wanted, done)
        return crc


class Memory:
    """Bytes in memory."""

    def __init__(self, view):
        self._view = memoryview(view).cast("B")
        self.size = self._view.nbytes

    def read(self, offset, count):
        """``count`` bytes at ``offset``."""
        return bytes(self._view[offset : offset + _within(self, offset, count)])

    def read_into(self, offset, buffer, checksum):
        """Fill the buffer; the CRC-32 of its bytes if ``checksum``."""
        target = memoryview(buffer).cast("B")
        target[:] = self._view[offset : offset + _within(self, offset, target.nbytes)]
        return _C.crc32(target) if checksum else 0


class Stream:
    """Any object with ``read``, ``seek`` and ``tell``."""

    def __init__(self, file, start):
        self._file, self._start = file, start
        file.seek(0, os.SEEK_END)
        self.size = max(0, file.tell() - start)
        file.seek(start)

    def read(self, offset, count):
        """``count`` bytes at ``offset``."""
        self._file.seek(self._start + offset)
        return read_exactly(self._file, _within(self, offset, count))

    def read_into(self, offset, buffer, checksum):
        """Fill the buffer; the CRC-32 of its bytes if ``checksum``."""
        self._file.seek(self._start + offset)
        fill_from_stream(self._file, buffer)
        return _C.crc32(buffer) if checksum else 0


def _within(source, offset, count):
    """``count``, if the source has that many bytes at ``offset``."""
    if offset < 0 or count < 0 or offset + count > source.size:
        raise ends_early("the file", count, max(0, source.size - offset))
    return count


def read_exactly(file, count):
    """``count`` bytes from a file's present position, allocating no more than it has."""
    if count <= _PIECE:
        data = file.read(count)
        if len(data) != count:
            raise ends_early("the file", count, len(data))
        return data
    data = bytearray()
    while len(data) < count:
        piece = file.read(min(_PIECE, count - len(data)))
        if not piece:
            raise ends_early("the file", count, len(data))
        data += piece
    return bytes(data)


def fill_from_stream(file, buffer):
    """Fill a buffer from a file's present position."""
    view = memoryview(buffer).cast("B")
    if isinstance(file, (io.BufferedReader, io.BufferedRandom, io.FileIO)) and view.nbytes > _PIECE:
        _fill_by_descriptor(file, view)
        return
    readinto = getattr(file, "readinto", None)
    done = 0
    while done < view.nbytes:
        if readinto is not None:
            count = readinto(view[done:])
        else:
            piece = file.read(min(_PIECE, view.nbytes - done))
            count = len(piece)
            view[done : done + count] = piece
        if not count:
            raise ends_early("the file", view.nbytes, done)
        done += count


def _fill_by_descriptor(file, view):
    start, descriptor = file.tell(), _regular(file)
    if descriptor is None:
        if file.readinto(view) != view.nbytes:
            raise ends_early("the file", view.nbytes, "fewer")
        return
    Descriptor(descriptor, start).read_into(0, view, False)
    file.seek(start + view.nbytes)
