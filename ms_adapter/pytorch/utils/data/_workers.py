"""One pass, or with persistent workers many, of a loader whose samples come from worker processes."""

import contextlib
import itertools
import multiprocessing
import os
import pickle
import select
import signal
import socket
import threading
import time
import warnings
import weakref
from collections import deque

from ._iterators import _BaseDataLoaderIter
from ._utils import MP_STATUS_CHECK_INTERVAL, batches, worker
from ._utils.channel import Channel, TooManyFiles


class _WorkerEnded(Exception):
    """A worker process has ended that still owed answers."""


class _Worker:
    """A worker process as the loader sees it."""

    def __init__(self, context, setup, number):
        ours, theirs = socket.socketpair()
        self.channel = Channel(ours, loaders_end=True)
        self.process = context.Process(target=worker.run, args=(theirs, setup, number), daemon=True)
        try:
            with theirs:
                self.process.start()
        except BaseException:
            self.channel.close()
            raise
        self.active = True  # has more samples in this pass
        self.tasks = 0  # that it has not answered
        self._inbox = batches.Inbox()
        self._owns_end_descriptor = hasattr(os, "pidfd_open")
        self.end_descriptor = (  # readable when the process has ended, whoever else holds its files
            os.pidfd_open(self.process.pid) if self._owns_end_descriptor else self.process.sentinel
        )

    def send(self, number, index):
        """Give it a task. A worker that has ended is found when its answer is waited for."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.channel.send(batches.pack_inline((number, index)))

    def receive(self):
        """(kind, number, value) of its next answer, None where there is none yet; raises _WorkerEnded."""
        message = self._message()
        if message is None:
            if self.has_ended():
                message = self._message()  # it may have answered between the two questions
                if message is None:
                    raise _WorkerEnded
            else:
                self._flush()
                return None
        (kind, number), value = self._inbox.unpack(*message)
        return kind, number, value()

    def _message(self):
        try:
            return self.channel.receive()
        except EOFError:
            raise _WorkerEnded from None

    def _flush(self):
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.channel.flush()

    def has_ended(self):
        """Whether the process is no more."""
        poll = select.poll()
        poll.register(self.end_descriptor, select.POLLIN)
        return bool(poll.poll(0))

    def watch(self, poll):
        """Let ``poll`` wake up when the worker answers, can take more of a task, or ends."""
        wanted = select.POLLIN | (select.POLLOUT if self.channel.has_outgoing else 0)
        poll.register(self.channel.fileno(), wanted)
        poll.register(self.end_descriptor, select.POLLIN)

    def close(self):
        """Let go of the process, which has ended."""
        self.channel.close()
        if self._owns_end_descriptor:
            os.close(self.end_descriptor)

    def how_it_ended(self):
        """A phrase for the error message."""
        self.process.join(MP_STATUS_CHECK_INTERVAL)
        code = self.process.exitcode
        if code is None:
            return "it closed its connection but runs on"
        if code < 0:
            number = -code
            name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
            hint = " (out of memory?)" if number == signal.SIGKILL else ""
            return f"killed by {name}{hint}"
        return f"exit code {code}"


def _stop(workers, owner_pid):
    """End worker processes: ask, then terminate, then kill. A forked process leaves them alone."""
    if os.getpid() != owner_pid:
        return
    for each in workers:
        each.channel.close()
    for end in (lambda process: None, lambda process: process.terminate(), lambda process: process.kill()):
        for each in workers:
            if each.process.is_alive():
                end(each.process)
        give_up = time.monotonic() + MP_STATUS_CHECK_INTERVAL
        for each in workers:
            each.process.join(max(0, give_up - time.monotonic()))
    for each in workers:
        each.close()
    workers.clear()


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Hands tasks to the workers in turn and yields their answers, in the order of the tasks."""

    def __init__(self, loader):
        super().__init__(loader)
        if loader.prefetch_factor <= 0:
            raise AssertionError(
                f"prefetch_factor must be greater than 0 with workers, got {loader.prefetch_factor}"
            )
        self._prefetch_factor = loader.prefetch_factor
        self._in_order = loader.in_order
        self._timeout_s = loader.timeout
        self._persistent_workers = loader.persistent_workers
        self.failure = None  # why the workers are no more, if one has died
        self._workers = []
        self._stop = weakref.finalize(self, _stop, self._workers, os.getpid())
        self._start_workers(loader)
        self._reset(loader, first_iter=True)

    def _start_workers(self, loader):
        context = loader.multiprocessing_context or multiprocessing.get_context()
        method = context.get_start_method()
        setup = worker.Setup(
            is_stream=self._is_stream,
            dataset=self._dataset,
            auto_collation=self._auto_collation,
            collate_fn=self._collate_fn,
            drop_last=self._drop_last,
            base_seed=self._base_seed,
            init_fn=loader.worker_init_fn,
            num_workers=self._num_workers,
            shared_seed=self._shared_seed,
            dies_with_parent=method != "forkserver" and threading.current_thread() is threading.main_thread(),
        )
        if method == "fork":
            with contextlib.suppress(ImportError):
                import numpy.random  # noqa: F401 - once here, rather than in each worker, which seeds it
        for number in range(self._num_workers):
            try:
                self._workers.append(_Worker(context, setup, number))
            except (TypeError, AttributeError, pickle.PicklingError):
                self._stop()
                warnings.warn(
                    f"DataLoader: a worker could not be started by {method!r}, which pickles the dataset, "
                    "collate_fn and worker_init_fn. Define them in a module, or use "
                    "multiprocessing_context='fork'.",
                    stacklevel=5,
                )
                raise
            except BaseException:
                self._stop()
                raise

    def _reset(self, loader, first_iter=False):
        super()._reset(loader, first_iter)
        if not first_iter:
            self._resume_workers()
        self._next_number = 0
        self._order = deque()  # (number, worker) of the tasks whose answers are due
        self._turns = itertools.cycle(self._workers)
        for each in self._workers:
            each.active, each.tasks = True, 0
        for _ in range(self._prefetch_factor * self._num_workers):
            self._hand_out_task()

    def _resume_workers(self):
        """Tell the workers that a new pass begins; what they still send of the last one is dropped."""
        for each in self._workers:
            each.send(worker.RESUME, self._shared_seed)
        for each in self._workers:
            while self._answer_of([each])[1] != worker.RESUMED:
                pass

    def _hand_out_task(self):
        try:
            index = self._next_index()
        except StopIteration:
            return
        chosen = self._whose_turn()
        if chosen is None:
            return
        chosen.send(self._next_number, index)
        chosen.tasks += 1
        self._order.append((self._next_number, chosen))
        self._next_number += 1

    def _whose_turn(self):
        """The next worker in turn that has samples; out of order, only one that is not behind."""
        active = sum(each.active for each in self._workers)
        for _ in range(self._num_workers):
            each = next(self._turns)
            most = self._prefetch_factor * self._num_workers // max(active, 1)
            if each.active and (self._in_order or each.tasks < most):
                return each
        return None

    def _next_data(self):
        while True:
            if self.failure:
                raise RuntimeError(self.failure)
            due = self._due_workers()
            if not due:
                if not self._persistent_workers:
                    self._shutdown_workers()
                raise StopIteration
            each, kind, number, value = self._answer_of(due)
            self._order.remove((number, each))
            each.tasks -= 1
            if kind == worker.END:
                each.active = False
            self._hand_out_task()
            if kind == worker.ERROR:
                value.reraise()
            if kind == worker.DATA:
                return value

    def _due_workers(self):
        """Those whose answer may come next."""
        while self._order and not self._order[0][1].active:
            self._order.popleft()  # never answered: the worker's stream had ended
        if self._in_order:
            return [self._order[0][1]] if self._order else []
        return [each for each in self._workers if each.active and each.tasks > 0]

    def _answer_of(self, due):
        """Wait for (worker, kind, number, value) of the first of some workers that answers."""
        give_up = time.monotonic() + self._timeout_s if self._timeout_s else None
        while True:
            for each in due:
                try:
                    answer = each.receive()
                except _WorkerEnded:
                    self._fail(each)
                    raise RuntimeError(self.failure) from None
                except TooManyFiles as error:
                    self.failure = str(error)
                    self._shutdown_workers()
                    raise
                if answer is not None:
                    return each, *answer
            self._wait(due, give_up)

    def _wait(self, due, give_up):
        poll = select.poll()
        for each in due:
            each.watch(poll)
        left_ms = None if give_up is None else max(0, (give_up - time.monotonic()) * 1000)
        if not poll.poll(left_ms):
            raise RuntimeError(f"DataLoader timed out after {self._timeout_s} seconds")

    def _fail(self, found):
        """Say which workers have ended, ``found`` at least, and end the others."""
        ended = [each for each in self._workers if each is found or each.has_ended()]
        pids = ", ".join(str(each.process.pid) for each in ended)
        how = ", ".join(each.how_it_ended() for each in ended)
        self._shutdown_workers()
        self.failure = (
            f"DataLoader worker (pid(s) {pids}) exited unexpectedly: {how}. All batches that were finished "
            "before have been given out. With num_workers=0 an error of the dataset shows itself."
        )

    def _shutdown_workers(self):
        self._order = deque()
        self._stop()
