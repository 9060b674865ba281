"""The worker process of a loader: it answers tasks with batches until the loader closes the connection."""

import multiprocessing
import os
import pickle
import random
import select
import signal
from dataclasses import dataclass
from typing import Any

import ms_adapter.pytorch as torch
from ms_adapter import _C

from .. import _iterators
from . import batches
from .channel import Channel
from .fetch import create_fetcher

__all__ = ["Setup", "WorkerInfo", "get_worker_info", "run"]

DATA, ERROR, END, RESUMED = range(4)  # the kinds of answers
RESUME = "resume"  # in place of a task's number: the next pass begins
_CHECK_INTERVAL_MS = 5000  # where the system cannot tell at once that the loader's process has ended


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """What a worker knows of itself: its number, how many there are, its seed and its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str | None = "multiprocessing"


_worker_info = None


def get_worker_info():
    """In a worker process its :class:`WorkerInfo`, in the main process ``None``.

    >>> get_worker_info() is None
    True
    """
    return _worker_info


@dataclass
class Setup:
    """What a worker gets to begin with; ``dies_with_parent``: the parent started it in its main thread."""

    is_stream: bool
    dataset: Any
    auto_collation: bool
    collate_fn: Any
    drop_last: bool
    base_seed: int
    init_fn: Any
    num_workers: int
    shared_seed: int | None
    dies_with_parent: bool

    def fetcher(self):
        """A fetcher of a new pass."""
        return create_fetcher(
            self.is_stream, self.dataset, self.auto_collation, self.collate_fn, self.drop_last
        )


def numpy_seed(base_seed, worker_id):
    """NumPy's seed of a worker: four words from numpy.random.SeedSequence's published mixing.

    >>> len(numpy_seed(123, 0))
    4
    """
    mask = 0xFFFFFFFF

    def hasher(constant, multiplier):
        def step(value):
            nonlocal constant
            value = (value ^ constant) & mask
            constant = constant * multiplier & mask
            value = value * constant & mask
            return value ^ value >> 16

        return step

    hash_in, hash_out = hasher(0x43B0D7E5, 0x931E8875), hasher(0x8B51F9DD, 0x58F38DED)
    pool = [hash_in(word) for word in (worker_id, base_seed & mask, base_seed >> 32, 0)]
    for source in range(4):
        for target in range(4):
            if source != target:
                mixed = (0xCA01F9DD * pool[target] - 0x4973F715 * hash_in(pool[source])) & mask
                pool[target] = mixed ^ mixed >> 16
    return [hash_out(word) for word in pool]


def _seed_everything(base_seed, worker_id):
    seed = base_seed + worker_id
    random.seed(seed)
    torch.manual_seed(seed)
    try:
        import numpy
    except ImportError:
        return seed
    numpy.random.seed(numpy_seed(base_seed, worker_id))
    return seed


class _Connection:
    """The worker's end: waits for tasks, and for the end of the loader's process."""

    def __init__(self, sock):
        self.channel = Channel(sock)
        self.outbox = batches.become_worker()
        self._inbox = batches.Inbox()
        self._poll = select.poll()
        self._parent = multiprocessing.parent_process()
        try:
            self._parent_descriptor = os.pidfd_open(self._parent.pid)
        except OSError:  # an old system, or it is gone already
            self._parent_descriptor = None
        else:
            self._poll.register(self._parent_descriptor, select.POLLIN)

    def next_task(self):
        """(number, index) of the next task; EOFError when there will be none."""
        while True:
            message = self.channel.receive()
            if message is not None:
                return pickle.loads(message[0])
            self.channel.flush()
            wanted = select.POLLIN | (select.POLLOUT if self.channel.has_outgoing else 0)
            self._poll.register(self.channel.fileno(), wanted)
            ready = dict(self._poll.poll(_CHECK_INTERVAL_MS))
            if self._parent_descriptor in ready or (not ready and not self._parent.is_alive()):
                raise EOFError

    def answer(self, number, kind, value, worker_id):
        """Send an answer, or why it cannot be sent, as far as the loader's process takes it now."""
        try:
            message = self.outbox.pack((kind, number), value)
        except Exception:
            message = self.outbox.pack((ERROR, number), _caught(worker_id))
        self.channel.send(*message)
        if not self.channel.has_outgoing:
            self.outbox.all_sent()


def run(sock, setup, worker_id):
    """What a worker process runs."""
    try:
        _prepare_process(setup, worker_id)
        _answer_tasks(_Connection(sock), setup, worker_id)
    except (KeyboardInterrupt, EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the loader's process was interrupted too, has no more tasks, or is gone


def _prepare_process(setup, worker_id):
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a handler inherited from the main process is not for us
    if setup.dies_with_parent:
        _C.die_with_parent(signal.SIGKILL)
        if os.getppid() != multiprocessing.parent_process().pid:
            raise EOFError  # it ended before we asked
    torch.multiprocessing._set_thread_name("pt_data_worker")
    torch.set_num_threads(1)


def _caught(worker_id):
    failure = torch._utils.ExceptionWrapper(where=f"in DataLoader worker process {worker_id}")
    try:
        pickle.dumps(failure)
    except Exception:  # a class that the other process could not find
        failure.exc_type = RuntimeError
    return failure


def _begin(setup, worker_id):
    """Seed, announce ourselves, call the user's function; returns (fetcher, failure)."""
    global _worker_info
    seed = _seed_everything(setup.base_seed, worker_id)
    _iterators.seed_pipes(setup.dataset, setup.shared_seed)
    _worker_info = WorkerInfo(worker_id, setup.num_workers, seed, setup.dataset)
    try:
        _iterators.share_pipes(setup.dataset, setup.num_workers, worker_id)
        if setup.init_fn is not None:
            setup.init_fn(worker_id)
        return setup.fetcher(), None
    except Exception:
        return None, _caught(worker_id)


def _fetch(fetcher, setup, index, worker_id):
    """(kind, value) of the answer to a task."""
    try:
        return DATA, fetcher.fetch(index)
    except Exception as error:
        if setup.is_stream and isinstance(error, StopIteration):
            return END, None
        return ERROR, _caught(worker_id)


def _answer_tasks(connection, setup, worker_id):
    fetcher, failure = _begin(setup, worker_id)
    ended = False
    while True:
        number, index = connection.next_task()
        if number == RESUME:
            _iterators.seed_pipes(setup.dataset, index)
            ended, fetcher = False, setup.fetcher()
            answer = RESUMED, None
        elif ended:
            continue
        elif failure is not None:
            answer = ERROR, failure
        else:
            answer = _fetch(fetcher, setup, index, worker_id)
            ended = answer[0] == END
        connection.answer(number, *answer, worker_id)
        del answer, index  # the memory of a batch is free while the next is waited for
