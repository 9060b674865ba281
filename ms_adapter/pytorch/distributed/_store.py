"""Stores: named bytes by which processes find each other, in memory, in a file, or at a port."""

import fcntl
import json
import os
import socket
import threading
import time
import weakref
from collections.abc import MutableMapping
from datetime import timedelta

from ._group import DistNetworkError, DistStoreError, QueueEmptyError

_LEFT = "left/"  # how many of the stores of a file are gone; when all are, it is removed
_POLL_SECONDS = 0.01


def _bytes(value):
    if not isinstance(value, (str, bytes, bytearray)):
        raise TypeError(f"set: a value of a store is str or bytes, not {type(value).__name__}")
    return value.encode() if isinstance(value, str) else bytes(value)


class Store:
    """Named bytes. What is asked for and not there yet is waited for, up to ``timeout``.

    >>> from ms_adapter.pytorch.distributed import HashStore
    >>> store = HashStore()
    >>> store.set("rank", "0")
    >>> store.get("rank"), store.add("steps", 2), store.add("steps", 3), store.check(["other"])
    (b'0', 2, 5, False)
    """

    _timeout = timedelta(seconds=300)

    def _change(self, change):
        """What ``change`` gives of the names and their bytes, which nobody else changes meanwhile."""
        raise NotImplementedError(f"{type(self).__name__} is a store without a place to keep things in")

    @property
    def timeout(self):
        """How long a name is waited for, a datetime.timedelta."""
        return self._timeout

    def set_timeout(self, timeout):
        """Set how long a name is waited for."""
        if not isinstance(timeout, timedelta):
            raise TypeError(f"set_timeout: expected a datetime.timedelta, not {type(timeout).__name__}")
        self._timeout = timeout

    def set(self, key, value):
        """Name bytes (or text), in place of what the name had."""
        value = _bytes(value)
        self._change(lambda named: named.__setitem__(key, value))

    def get(self, key):
        """The bytes of a name; DistStoreError when there are none in time."""
        self.wait([key])
        return self._change(lambda named: named[key])

    def add(self, key, amount):
        """Add to the whole number (in digits) that a name has, 0 at first; gives the sum."""
        return self._change(_added(key, amount))

    def append(self, key, value):
        """Put bytes behind those that a name has."""
        value = _bytes(value)
        self._change(lambda named: named.__setitem__(key, named.get(key, b"") + value))

    def compare_set(self, key, expected_value, desired_value):
        """Name the desired bytes where the name has the expected ones (empty: none); gives what it has then.

        A name that is not there and should be is left so, and the expected bytes are given back.
        """
        expected, desired = _bytes(expected_value), _bytes(desired_value)

        def change(named):
            if named.get(key, b"") == expected:
                named[key] = desired
            return named.get(key, expected)

        return self._change(change)

    def check(self, keys):
        """Whether all names are there."""
        return self._change(lambda named: all(key in named for key in keys))

    def wait(self, keys, timeout=None):
        """Return when all names are there; DistStoreError when they are not in time."""
        limit = self._timeout if timeout is None else timeout
        end = time.monotonic() + limit.total_seconds()
        while not self.check(keys):
            if time.monotonic() >= end:
                milliseconds = limit // timedelta(milliseconds=1)
                raise DistStoreError(f"wait timeout after {milliseconds}ms, keys: {', '.join(keys)}")
            time.sleep(_POLL_SECONDS)

    def delete_key(self, key):
        """Forget a name; whether it was there."""
        return self._change(lambda named: named.pop(key, None) is not None)

    def num_keys(self):
        """How many names there are, those that the store needs itself included."""
        return self._change(len)

    def list_keys(self):
        """The names."""
        return self._change(list)

    def has_extended_api(self):
        """Whether append, multi_get and multi_set are there, which they are."""
        return True

    def multi_get(self, keys):
        """The bytes of several names."""
        self.wait(keys)
        return self._change(lambda named: [named[key] for key in keys])

    def multi_set(self, keys, values):
        """Name several bytes at once."""
        pairs = list(zip(keys, map(_bytes, values), strict=True))
        self._change(lambda named: named.update(pairs))

    def clone(self):
        """A store of the same names."""
        return self

    def queue_push(self, key, value):
        """Put bytes at the end of a queue; NotImplementedError for a store without queues."""
        raise NotImplementedError(f"{type(self).__name__} has no queues; HashStore and TCPStore do")

    def queue_pop(self, key, block=True):
        """Take the first bytes of a queue; NotImplementedError for a store without queues."""
        raise NotImplementedError(f"{type(self).__name__} has no queues; HashStore and TCPStore do")

    def queue_len(self, key):
        """How many bytes a queue holds; NotImplementedError for a store without queues."""
        raise NotImplementedError(f"{type(self).__name__} has no queues; HashStore and TCPStore do")


class _Memory:
    """What the stores of one place share: names, queues, and the lock of those who change them."""

    def __init__(self):
        self.named, self.queues, self.lock = {}, {}, threading.Lock()


class HashStore(Store):
    """A store in the memory of this process, for its threads."""

    def __init__(self):
        self._memory = _Memory()

    def _change(self, change):
        with self._memory.lock:
            return change(self._memory.named)

    def queue_push(self, key, value):
        """Put bytes at the end of a queue."""
        value = _bytes(value)
        with self._memory.lock:
            self._memory.queues.setdefault(key, []).append(value)

    def queue_pop(self, key, block=True):
        """Take the first bytes of a queue; with ``block`` an empty one is waited for, up to ``timeout``."""
        end = time.monotonic() + (self._timeout.total_seconds() if block else 0)
        while True:
            with self._memory.lock:
                if self._memory.queues.get(key):
                    return self._memory.queues[key].pop(0)
            if not block:
                raise QueueEmptyError("queue is empty")
            if time.monotonic() >= end:
                raise DistStoreError(f"queue_pop: nothing came into the queue {key!r} in {self._timeout}")
            time.sleep(_POLL_SECONDS)

    def queue_len(self, key):
        """How many bytes a queue holds."""
        return len(self._memory.queues.get(key, ()))


def _opened(path):
    try:
        return open(path, "a+b")
    except OSError as error:
        raise DistStoreError(f"FileStore: cannot open {path!r}: {error.strerror}") from error


def _change_file(path, change):
    """What `change` gives of the names in a file, which no other process has open meanwhile."""
    with _opened(path) as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # until it is closed
        file.seek(0)
        text = file.read()
        named = {key: value.encode("latin-1") for key, value in json.loads(text or "{}").items()}
        result = change(named)
        changed = json.dumps({key: value.decode("latin-1") for key, value in named.items()}).encode()
        if changed != text:
            file.truncate(0)
            file.write(changed)
    return result


def _added(key, amount):
    """The change that adds to the number of a name; it gives the sum."""

    def change(named):
        total = int(named.get(key, b"0")) + int(amount)
        named[key] = str(total).encode()
        return total

    return change


def _leave_file(path, world_size):
    if os.path.exists(path) and _change_file(path, _added(_LEFT, 1)) == world_size:
        os.unlink(path)


class FileStore(Store):
    """A store in a file, for all processes of this machine that open it.

    When ``world_size`` stores of the file are gone, it is removed; without a size it stays.

    >>> import os, tempfile
    >>> from ms_adapter.pytorch.distributed import FileStore
    >>> path = os.path.join(tempfile.mkdtemp(), "store")
    >>> one, other = FileStore(path, 2), FileStore(path, 2)
    >>> one.set("a", "1")
    >>> other.get("a")
    b'1'
    """

    def __init__(self, file_name, world_size=-1):
        self._path = os.fspath(file_name)
        self.add(_LEFT, 0)
        weakref.finalize(self, _leave_file, self._path, world_size)

    @property
    def path(self):
        """The file's name."""
        return self._path

    def _change(self, change):
        return _change_file(self._path, change)


class TCPStore(HashStore):
    """A store at a port of this machine, for this process: between processes nothing is sent yet.

    The master (``is_master``) takes the port, or any that is free for ``port=0``; others name a master of
    this process. Raises DistNetworkError where the port is taken or has no master here.
    """

    _masters = {}  # port -> the master's memory

    def __init__(
        self, host_name, port, world_size=None, is_master=False, timeout=timedelta(seconds=300),
        wait_for_workers=True, multi_tenant=False, master_listen_fd=None, use_libuv=True,
    ):  # fmt: skip
        super().__init__()
        self._host, self._timeout, self._socket = host_name, timeout, None
        if is_master and not (multi_tenant and port in self._masters):
            self._socket = self._listen(port)
            self._port = self._socket.getsockname()[1]
            self._masters[self._port] = self._memory
        else:
            if port not in self._masters:
                raise DistNetworkError(
                    f"TCPStore: no store of this process is at {host_name}:{port}, and those of other "
                    "processes cannot be reached yet: a FileStore can be shared"
                )
            self._port, self._memory = port, self._masters[port]
        if world_size is not None:
            self._join(world_size, wait_for_workers)

    @staticmethod
    def _listen(port):
        try:
            return socket.create_server(("", port), reuse_port=False)
        except OSError as error:
            raise DistNetworkError(
                f"TCPStore: the server cannot listen at port {port}: {error.strerror}"
            ) from error

    def _join(self, world_size, wait_for_workers):
        here = self.add("init/", 1)
        if world_size > here and wait_for_workers and self._socket is not None:
            raise NotImplementedError(
                f"TCPStore: {world_size} processes are to meet here, and ms_adapter has no communication "
                "between processes yet; world_size=1, or wait_for_workers=False"
            )

    @property
    def host(self):
        """The host's name, as it was given."""
        return self._host

    @property
    def port(self):
        """The port."""
        return self._port

    def __del__(self):
        if getattr(self, "_socket", None) is not None:
            self._masters.pop(self._port, None)
            self._socket.close()


class _Behind(MutableMapping):
    """The names of a mapping that begin with a prefix, without it."""

    def __init__(self, prefix, named):
        self._prefix, self._named = prefix, named

    def __getitem__(self, key):
        return self._named[self._prefix + key]

    def __setitem__(self, key, value):
        self._named[self._prefix + key] = value

    def __delitem__(self, key):
        del self._named[self._prefix + key]

    def __iter__(self):
        return (key.removeprefix(self._prefix) for key in self._named if key.startswith(self._prefix))

    def __len__(self):
        return sum(1 for _ in self)


class PrefixStore(Store):
    """A store's names that begin with a prefix and a slash, without them.

    >>> from ms_adapter.pytorch.distributed import HashStore, PrefixStore
    >>> store = HashStore()
    >>> PrefixStore("first", store).set("rank", "0")
    >>> store.list_keys()
    ['first/rank']
    """

    def __init__(self, prefix, store):
        self._prefix, self._store = prefix + "/", store

    def _change(self, change):
        return self._store._change(lambda named: change(_Behind(self._prefix, named)))

    @property
    def underlying_store(self):
        """The store whose names these are."""
        return self._store

    @property
    def timeout(self):
        """How long a name is waited for, a datetime.timedelta."""
        return self._store.timeout

    def set_timeout(self, timeout):
        """Set how long a name is waited for."""
        self._store.set_timeout(timeout)

    def wait(self, keys, timeout=None):
        """Return when all names are there; DistStoreError when they are not in time."""
        self._store.wait([self._prefix + key for key in keys], timeout)

    def num_keys(self):
        """How many names the store has, with the prefix and without."""
        return self._store.num_keys()

    def list_keys(self):
        """All names of the store."""
        return self._store.list_keys()

    def queue_push(self, key, value):
        """Put bytes at the end of a queue."""
        self._store.queue_push(self._prefix + key, value)

    def queue_pop(self, key, block=True):
        """Take the first bytes of a queue."""
        return self._store.queue_pop(self._prefix + key, block)

    def queue_len(self, key):
        """How many bytes a queue holds."""
        return self._store.queue_len(self._prefix + key)


for _made in (Store, HashStore, FileStore, TCPStore, PrefixStore):
    _made.__module__ = "torch.distributed"
