"""Writing files whole: a reader, or a crash at any moment, never sees half of one."""

import contextlib
import errno
import os
import secrets
import stat


@contextlib.contextmanager
def replacing(path):
    """A descriptor to write to, whose file replaces ``path`` when the block ends without an exception.

    Until then the new file has no name where the system can do that, and else one that only its owner may
    open; the old file stays as it is. A link is followed: what it points to is replaced. The new file gets
    the old one's mode, and its owner where that is permitted.
    """
    path = os.path.realpath(os.fsdecode(path))
    old = _status(path)
    descriptor, temporary = _open_unseen(path)
    try:
        yield descriptor
        _take_over(descriptor, old)
        os.fsync(descriptor)
        if temporary is None:
            temporary = _temporary_name(path)
            _give_name(descriptor, temporary)
        os.replace(temporary, path)
    except BaseException:
        if temporary is not None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
        raise
    finally:
        os.close(descriptor)
    _sync_folder(os.path.dirname(path))


def can_replace(path):
    """Whether ``path`` is a file or nothing yet: devices, pipes and sockets are written to as they are."""
    status = _status(os.path.realpath(os.fsdecode(path)))
    return status is None or stat.S_ISREG(status.st_mode)


def _status(path):
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _temporary_name(path):
    return os.path.join(os.path.dirname(path), f".torch-save-{secrets.token_hex(8)}.tmp")


def _open_unseen(path):
    """(descriptor, name or None) of a new private file in the folder of ``path``."""
    folder = os.path.dirname(path)
    if hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd"):
        try:
            return os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600), None
        except OSError as err:  # what file systems say that cannot do it
            if err.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT):
                raise _explained(err, folder) from err
    name = _temporary_name(path)
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(name, flags, 0o600), name
    except PermissionError as err:
        raise _explained(err, folder) from err
    except FileNotFoundError as err:
        raise RuntimeError(f"Parent directory {folder} does not exist.") from err


def _explained(err, folder):
    if not isinstance(err, PermissionError):
        return err
    return PermissionError(
        err.errno,
        f"torch.save writes a new file beside the old one, and {folder} does not permit that. Pass a file "
        "opened for writing to overwrite in place",
    )


def _give_name(descriptor, name):
    folder = os.open("/proc/self/fd", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:  # only with a folder's descriptor is the link in /proc followed
        os.link(str(descriptor), name, src_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def _take_over(descriptor, old):
    """The old file's owner and mode, or those of any new file."""
    if old is None:
        os.fchmod(descriptor, 0o666 & ~_umask())
        return
    with contextlib.suppress(OSError):  # another's file: only some may give files away
        if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
            os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


def _umask():
    """The process's mask, read without changing it for other threads where the system tells."""
    with contextlib.suppress(OSError), open("/proc/self/status") as status:
        for line in status:
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _sync_folder(folder):
    """Make the new name durable too; not all file systems can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
