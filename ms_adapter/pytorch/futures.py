"""torch.futures: a result that comes later, for hooks and collectives that hand one out."""

import concurrent.futures

__all__ = ["Future", "collect_all", "wait_all"]


class Future:
    """A value that another party sets, once.

    >>> import ms_adapter.pytorch as torch
    >>> future = torch.futures.Future()
    >>> doubled = future.then(lambda done: 2 * done.value())
    >>> future.set_result(21)
    >>> doubled.wait()
    42
    """

    def __init__(self, *, devices=None):
        self._held = concurrent.futures.Future()

    def done(self):
        """Whether a result or an exception was set."""
        return self._held.done()

    def wait(self):
        """Wait for the result and return it, or raise the exception that was set."""
        return self._held.result()

    def value(self):
        """The result of a future that is done; raises RuntimeError for one that is not."""
        if not self.done():
            raise RuntimeError("Future.value: no result yet; call wait(), or check done() first")
        return self._held.result()

    def set_result(self, result):
        """Give the result; raises RuntimeError at the second time."""
        try:
            self._held.set_result(result)
        except concurrent.futures.InvalidStateError:
            raise RuntimeError("Future.set_result: the future is done already") from None

    def set_exception(self, result):
        """Let those who wait get an exception."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        try:
            self._held.set_exception(result)
        except concurrent.futures.InvalidStateError:
            raise RuntimeError("Future.set_exception: the future is done already") from None

    def add_done_callback(self, callback):
        """Call ``callback(self)`` when it is done, or now."""
        self._held.add_done_callback(lambda _: callback(self))

    def then(self, callback):
        """A future of what ``callback(self)`` will return."""
        later = Future()

        def run(done):
            try:
                later.set_result(callback(done))
            except Exception as error:
                later.set_exception(error)

        self.add_done_callback(run)
        return later


def collect_all(futures):
    """A future of the list itself, done when all in it are, with the first exception among them.

    >>> import ms_adapter.pytorch as torch
    >>> first = torch.futures.Future()
    >>> both = torch.futures.collect_all([first])
    >>> first.set_result(1)
    >>> [f.value() for f in both.wait()]
    [1]
    """
    futures = list(futures)
    together = Future()
    missing = [future for future in futures if not future.done()]
    left = len(missing)

    def finish():
        failed = next((error for future in futures if (error := future._held.exception())), None)
        together.set_exception(failed) if failed else together.set_result(futures)

    def one_done(_):
        nonlocal left
        left -= 1
        if left == 0:
            finish()

    if not missing:
        finish()
    for future in missing:
        future.add_done_callback(one_done)
    return together


def wait_all(futures):
    """The results of all, in order; raises the first exception."""
    return [future.wait() for future in collect_all(futures).wait()]
