"""The zip archives that PyTorch writes: one uncompressed record each for the pickle and for every storage."""

import struct
import zipfile

_ALIGNMENT = 64  # bytes: a record's data starts at a multiple, so that it can be mapped
_ZIP64_FIELD = 20  # bytes that zipfile puts before the extra field of a large record
_DATE = (1980, 1, 1, 0, 0, 0)  # the same bytes for the same content


class Writer:
    """Writes records into the archive at ``file``; its folder is called ``name``."""

    def __init__(self, file, name):
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True)
        self._name = name

    def write(self, record, data):
        """Add a record; ``data`` is anything with a buffer."""
        view = memoryview(data).cast("B")
        info = zipfile.ZipInfo(f"{self._name}/{record}", _DATE)
        info.file_size = view.nbytes
        large = view.nbytes * 1.05 > zipfile.ZIP64_LIMIT
        start = self._zip.fp.tell() + 30 + len(info.filename.encode()) + 4 + (_ZIP64_FIELD if large else 0)
        padding = -start % _ALIGNMENT
        info.extra = struct.pack("<2sH", b"FB", padding) + b"Z" * padding
        with self._zip.open(info, "w", force_zip64=large) as out:
            out.write(view)

    def close(self):
        """Write the directory."""
        self._zip.close()


class Reader:
    """Reads records from the archive at ``file``."""

    def __init__(self, file):
        self._zip = zipfile.ZipFile(file)
        names = self._zip.namelist()
        self._name = names[0].split("/")[0] if names else ""
        self._records = set(names)

    def has(self, record):
        """Whether there is such a record."""
        return f"{self._name}/{record}" in self._records

    def read(self, record):
        """A record's bytes."""
        return self._zip.read(f"{self._name}/{record}")

    def read_into(self, record, target):
        """Fill a buffer from a record, which must have its length."""
        view = memoryview(target).cast("B")
        with self._zip.open(f"{self._name}/{record}") as source:
            done = 0
            while done < view.nbytes:
                count = source.readinto(view[done:])
                if not count:
                    raise RuntimeError(
                        f"torch.load: record {record} ends after {done} of {view.nbytes} bytes: the file is "
                        f"damaged."
                    )
                done += count
