"""Causal masks of queries and keys of different lengths, aligned at either corner."""

import enum

import ms_adapter.pytorch as torch
from ms_adapter import _C

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """Where the diagonal of a causal mask begins, or ends."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(torch.Tensor):
    """A boolean mask (queries, keys) of what attention may see; pass it as ``attn_mask``."""

    __torch_function__ = _C._disabled_torch_function_impl

    def __new__(cls, variant, seq_len_q, seq_len_kv):
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {variant!r}.")
        shift = 0 if variant is CausalVariant.UPPER_LEFT else seq_len_kv - seq_len_q
        mask = torch.ones(seq_len_q, seq_len_kv, dtype=torch.bool).tril(shift)
        bias = torch.Tensor._make_subclass(cls, mask)
        bias.variant, bias.seq_len_q, bias.seq_len_kv = variant, seq_len_q, seq_len_kv
        return bias

    def __init__(self, *_args):
        pass


def causal_upper_left(*size):
    """The mask (queries, keys) that lets query i see keys 0 to i.

    >>> causal_upper_left(2, 3).tolist()
    [[True, False, False], [True, True, False]]
    """
    if len(size) != 2:
        raise RuntimeError("causal_upper_left only supports 2D tensors")
    return CausalBias(CausalVariant.UPPER_LEFT, *size)


def causal_lower_right(*size):
    """The mask (queries, keys) that lets the last query see all keys, and each before it one less.

    >>> causal_lower_right(2, 3).tolist()
    [[True, True, False], [True, True, True]]
    """
    if len(size) != 2:
        raise RuntimeError("causal_lower_right only supports 2D tensors")
    return CausalBias(CausalVariant.LOWER_RIGHT, *size)
