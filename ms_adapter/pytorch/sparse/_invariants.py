"""Whether new sparse tensors are checked in full."""

import functools


class check_sparse_tensor_invariants:
    """Turns the full checks of new sparse tensors on or off: within a block, in a function, or for good.

    What memory safety rests on is checked in any case.

    >>> import ms_adapter.pytorch as torch
    >>> with torch.sparse.check_sparse_tensor_invariants():
    ...     torch.sparse.check_sparse_tensor_invariants.is_enabled()
    True
    """

    _enabled = False

    def __init__(self, enable=True):
        self.state = enable
        self._before = None

    @staticmethod
    def is_enabled():
        """Whether they are on."""
        return check_sparse_tensor_invariants._enabled

    @staticmethod
    def enable():
        """Turn them on."""
        check_sparse_tensor_invariants._enabled = True

    @staticmethod
    def disable():
        """Turn them off."""
        check_sparse_tensor_invariants._enabled = False

    def __enter__(self):
        if self._before is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context manager "
                "instance for context nesting."
            )
        self._before = self.is_enabled()
        check_sparse_tensor_invariants._enabled = self.state

    def __exit__(self, *exc_info):
        check_sparse_tensor_invariants._enabled, self._before = self._before, None

    def __call__(self, function):
        """``function`` with the checks on or off while it runs."""

        @functools.wraps(function)
        def checked(*args, **kwargs):
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked
