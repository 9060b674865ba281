"""Settings of the whole process that choose how exactly, and how reproducibly, kernels compute."""

import warnings

_PRECISIONS = ("highest", "high", "medium")
_DEBUG_MODES = ("default", "warn", "error")

_deterministic = _warn_only = False
_matmul_precision = "highest"


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Remembered: the CPU kernels are deterministic anyway, so nothing is refused and nothing warned of.

    >>> import ms_adapter.pytorch as torch
    >>> torch.use_deterministic_algorithms(True)
    >>> torch.are_deterministic_algorithms_enabled()
    True
    >>> torch.use_deterministic_algorithms(False)
    """
    global _deterministic, _warn_only
    for name, value in (("mode", mode), ("warn_only", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(f"use_deterministic_algorithms: {name} must be bool, not {type(value).__name__}.")
    _deterministic, _warn_only = mode, warn_only


def are_deterministic_algorithms_enabled():
    """What :func:`use_deterministic_algorithms` set."""
    return _deterministic


def is_deterministic_algorithms_warn_only_enabled():
    """Whether what is not deterministic should be warned of instead of refused."""
    return _warn_only


def get_deterministic_debug_mode():
    """0, 1 or 2: nondeterministic kernels may run, are warned of, or are refused."""
    return 0 if not _deterministic else 1 if _warn_only else 2


def set_deterministic_debug_mode(debug_mode):
    """The same setting as one value: "default", "warn", "error" or 0, 1, 2."""
    if not isinstance(debug_mode, (str, int)):
        raise TypeError(
            f"set_deterministic_debug_mode: debug_mode must be str or int, not {type(debug_mode).__name__}."
        )
    if debug_mode in _DEBUG_MODES:
        debug_mode = _DEBUG_MODES.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(
            f"set_deterministic_debug_mode: expected default, warn, error or 0, 1, 2, but got {debug_mode!r}."
        )
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def set_float32_matmul_precision(precision):
    """ "highest", "high" or "medium": remembered; products of float32 are exact float32 here in any case."""
    global _matmul_precision
    if precision in _PRECISIONS:
        _matmul_precision = precision
    else:
        warnings.warn(
            f"set_float32_matmul_precision: {precision!r} is none of {', '.join(_PRECISIONS)}; ignored.",
            stacklevel=2,
        )


def get_float32_matmul_precision():
    """What :func:`set_float32_matmul_precision` set; "highest" at first."""
    return _matmul_precision
