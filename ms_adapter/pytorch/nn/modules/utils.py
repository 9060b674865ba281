"""Sizes given as one number or as one for each dimension."""

from collections.abc import Iterable


def _ntuple(n):
    def parse(value):
        return tuple(value) if isinstance(value, Iterable) else (value,) * n

    return parse


_single = _ntuple(1)
_pair = _ntuple(2)
_triple = _ntuple(3)
_quadruple = _ntuple(4)


def _reverse_repeat_tuple(values, n):
    """Each value ``n`` times, last value first: the order that ``F.pad`` takes paddings in."""
    return tuple(value for value in reversed(values) for _ in range(n))


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    """Take ``prefix`` off the keys of a state that begin with it, in place: "module.", for example."""
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is None:
        return
    for key in list(metadata):
        # "" is the model itself, "module" without its dot the one that was wrapped
        if key and (key.startswith(prefix) or key == prefix.replace(".", "")):
            metadata[key[len(prefix) :]] = metadata.pop(key)
