"""torch._check and its kin: what library code asserts of sizes and arguments, each with its own exception."""

import ms_adapter.pytorch as torch

from ._overridable import overridable as _overridable


def _raise_unless(error, cond, message):
    if message is not None and not callable(message):
        raise TypeError("message must be a callable")
    if isinstance(cond, torch.Tensor):
        raise TypeError("cond must be a bool, but got a Tensor: use torch._check_tensor_all.")
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}.")
    if not cond:
        raise error("Expected cond to be True, but got False." if message is None else str(message()))


def _checker(name, error):
    def check(cond, message=None):
        _raise_unless(error, cond, message)

    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"{error.__name__} with the text ``message()`` unless ``cond`` holds."
    return check


_check = _checker("_check", RuntimeError)
_check_index = _checker("_check_index", IndexError)
_check_not_implemented = _checker("_check_not_implemented", NotImplementedError)
_check_type = _checker("_check_type", TypeError)
_check_value = _checker("_check_value", ValueError)


def _check_with(error_type, cond, message):
    """An exception of ``error_type`` with the text ``message()`` unless ``cond`` holds."""
    _raise_unless(error_type, cond, message)


def _check_is_size(i, message=None, *, max=None):
    """RuntimeError unless ``i`` is a size: not negative, and at most ``max``."""
    _raise_unless(RuntimeError, i >= 0 and (max is None or i <= max), message)


def _check_tensor_all(cond, message=None):
    """RuntimeError unless all elements of a bool tensor are true."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _check_tensor_all_with(error_type, cond, message=None):
    """An exception of ``error_type`` with the text ``message()`` unless all of a bool tensor are true."""
    if not isinstance(cond, torch.Tensor) or cond.dtype != torch.bool:
        raise TypeError(f"cond must be a tensor of bools, but got {cond}.")
    _raise_unless(error_type, bool(cond.all()), message)


def _assert(condition, message):
    """AssertionError with the text ``message`` unless ``condition`` holds."""
    if not condition:
        raise AssertionError(message)


def _assert_async(input, assert_msg=None):
    """RuntimeError with the text ``assert_msg`` where the one element of ``input`` is zero or false.

    On a CPU the answer is there when the call is made.
    """
    if not bool(input):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


_overridable(globals(), ["_assert", "_assert_async"])
