"""From a path to the tensors behind it: one file, or a folder of files of all formats."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from . import dump_folder, mindspore_checkpoint, numpy_files, torch_files
from .entry import BadFile, Entry


def _read_ckpt(path: str) -> list[Entry]:
    """MindSpore's parameters; some programs give torch.save's files that name."""
    reader = torch_files.read_torch if torch_files.is_of_torch(path) else mindspore_checkpoint.read_ckpt
    return reader(path)


READERS: dict[str, Callable[[str], list[Entry]]] = {
    ".npy": numpy_files.read_npy,
    ".npz": numpy_files.read_npz,
    ".pt": torch_files.read_torch,
    ".pth": torch_files.read_torch,
    ".bin": torch_files.read_torch,
    ".safetensors": torch_files.read_safetensors,
    ".ckpt": _read_ckpt,
    ".csv": dump_folder.read_statistics,
}


def read_path(path: str | os.PathLike[str], progress: Callable[..., None] | None = None) -> list[Entry]:
    """The tensors of a file or a folder, by name; what cannot be read is an entry with an error.

    Raises:
        BadFile: the path itself is not there, or a single file cannot be read.
    """
    path = os.fspath(path)
    if os.path.isdir(path):
        return _read_folder(path, progress)
    if not os.path.exists(path):
        raise BadFile(f"{path}: no such file or folder")
    return [entry.check() for entry in _read_file(path)]


def _read_file(path: str) -> list[Entry]:
    suffix = os.path.splitext(path)[1].lower()
    reader = READERS.get(suffix)
    if os.path.exists(path) and not os.path.isfile(path):  # to open a pipe may wait for ever
        raise BadFile(f"{path}: it is no regular file")
    if reader is None:
        raise BadFile(f"{path}: unknown kind of file {suffix}: {', '.join(READERS)} are read")
    try:
        return reader(path)
    except BadFile as error:
        raise BadFile(f"{path}: {error}") from error
    except Exception as error:  # a damaged file may fail in any way in the library that reads it
        raise BadFile(f"{path}: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:300]


def _read_folder(folder: str, progress: Callable[..., None] | None) -> list[Entry]:
    if not os.access(folder, os.R_OK | os.X_OK):
        raise BadFile(f"{folder}: the folder cannot be read (permission denied)")
    entries: list[Entry] = []
    unreadable: list[OSError] = []
    files = list(_files_under(folder, unreadable))
    for path in files:
        label = os.path.splitext(os.path.relpath(path, folder))[0].replace(os.sep, "/")
        entries.extend(_labelled(path, label))
        if progress:
            progress(1)
    for problem in unreadable:
        where = os.path.relpath(problem.filename, folder)
        entries.append(Entry(where, error=f"the folder cannot be read ({problem.strerror})"))
    if not entries:
        raise BadFile(f"{folder}: no file of a known kind ({', '.join(READERS)}) is in it")
    return dump_folder.number_repeats([entry.check() for entry in entries])


def _files_under(folder: str, unreadable: list[OSError]) -> Iterable[str]:
    for where, folders, names in os.walk(folder, onerror=unreadable.append):
        folders.sort()
        for name in sorted(names):
            suffix = os.path.splitext(name)[1].lower()
            # Other tables (MindSpore's orders of execution, the user's results) are no tensors.
            if suffix in READERS and (suffix != ".csv" or name == dump_folder.TABLE):
                yield os.path.join(where, name)


def _labelled(path: str, label: str) -> list[Entry]:
    """A file's tensors under the file's name, since other files of the folder may have the same names."""
    try:
        entries = _read_file(path)
    except BadFile as error:
        return [Entry(dump_folder.plain_name(label), error=str(error))]
    for entry in entries:
        alone = len(entries) == 1 and path.lower().endswith(".npy")
        entry.name = dump_folder.plain_name(label) if alone else f"{label}::{entry.name}"
    return entries
