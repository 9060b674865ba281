"""The ``reduction`` argument of losses: its three values, and the two older arguments it replaces."""

import warnings

_VALUES = {"none": 0, "mean": 1, "sum": 2}


def get_enum(reduction):
    """The kernels' number for a reduction."""
    if reduction == "elementwise_mean":
        warnings.warn(
            "reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=3
        )
        return 1
    if not isinstance(reduction, str) or reduction not in _VALUES:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _VALUES[reduction]


def legacy_get_string(size_average, reduce, emit_warning=True):
    """The reduction that ``size_average`` and ``reduce`` stand for."""
    size_average, reduce = size_average is None or size_average, reduce is None or reduce
    reduction = "none" if not reduce else "mean" if size_average else "sum"
    if emit_warning:
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
            stacklevel=3,
        )
    return reduction


def legacy_get_enum(size_average, reduce, emit_warning=True):
    """The kernels' number for what ``size_average`` and ``reduce`` stand for."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))


def resolve(size_average, reduce, reduction):
    """The reduction asked for by any of the three arguments."""
    if size_average is None and reduce is None:
        return reduction
    return legacy_get_string(size_average, reduce)
