"""torch.autograd.forward_ad: dual numbers, a value and its tangent that travel together."""

import contextlib
from typing import NamedTuple

from ms_adapter import _C

_native = _C.transforms
Tensor = _C.Tensor

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]


def _innermost():
    return _native.dual_depth() - 1


def enter_dual_level():
    """Open a level in which tangents are carried; returns its number. Levels do not nest here."""
    if _innermost() >= 0:
        raise RuntimeError(
            "Nested forward mode AD is not supported at the moment: torch.func.jvp nests, dual_level "
            "does not."
        )
    return _native.enter_dual()


def exit_dual_level(*, level=None):
    """Close the level; the tangents made in it are gone."""
    if level is not None and level != _innermost():
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not "
            "supported."
        )
    _native.leave_dual()


@contextlib.contextmanager
def dual_level():
    """A level of forward-mode AD, for the time of a ``with`` block.

    >>> import ms_adapter.pytorch as torch
    >>> import ms_adapter.pytorch.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(torch.tensor(0.0), torch.tensor(2.0))
    ...     fwAD.unpack_dual(torch.sin(x)).tangent
    tensor(2.)
    """
    level = enter_dual_level()
    try:
        yield level
    finally:
        exit_dual_level(level=level)


def make_dual(tensor, tangent, *, level=None):
    """A view of ``tensor`` that carries ``tangent``: of its shape and, from there on, of its dtype."""
    level = _innermost() if level is None else level
    if level < 0:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    for t, name in ((tensor, "primal"), (tangent, "tangent")):
        if not (t.is_floating_point() or t.is_complex()):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {t.dtype}")
    if tangent.shape != tensor.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, "
            f"this is not supported. Tensor is of size {list(tensor.shape)} while the given forward gradient "
            f"is of size {list(tangent.shape)}."
        )
    if tangent.is_complex() and not tensor.is_complex():
        raise RuntimeError(
            f"Expected a real tangent for a primal of {tensor.dtype}, but got: {tangent.dtype}"
        )
    return _native.make_dual(tensor, tangent.to(tensor.dtype), level)


class UnpackedDualTensor(NamedTuple):
    """The value of a dual tensor and its tangent, ``None`` where it has none."""

    primal: Tensor
    tangent: Tensor | None


def unpack_dual(tensor, *, level=None):
    """``(primal, tangent)`` of a tensor; ``tangent`` is None where none arrived, or no level is open."""
    level = _innermost() if level is None else level
    if level < 0:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(*_native.unpack_dual(tensor, level))


def _is_fwd_grad_enabled():
    return _native.is_tangents_enabled()
