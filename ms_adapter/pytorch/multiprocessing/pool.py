"""A pool whose workers free what they hold of other processes' tensors before they end."""

import gc
import multiprocessing.pool

__all__ = ["Pool"]


def clean_worker(*args, **kwargs):
    """A pool's worker that collects its garbage at the end: tensors in cycles hold shared memory."""
    multiprocessing.pool.worker(*args, **kwargs)
    gc.collect()


class _CleanContext:
    """A context whose processes run :func:`clean_worker` where a pool asks for its worker."""

    def __init__(self, context):
        self._context = context

    def __getattr__(self, name):
        return getattr(self._context, name)

    def Process(self, *args, target=None, **kwargs):  # noqa: N802 - multiprocessing's name
        if target is multiprocessing.pool.worker:
            target = clean_worker
        return self._context.Process(*args, target=target, **kwargs)


class Pool(multiprocessing.pool.Pool):
    """multiprocessing.pool.Pool with :func:`clean_worker` in its processes."""

    def __init__(self, processes=None, initializer=None, initargs=(), maxtasksperchild=None, context=None):
        context = _CleanContext(context or multiprocessing.get_context())
        super().__init__(processes, initializer, initargs, maxtasksperchild, context)
