"""Attention whose scores and mask are functions of the user's; computed with the whole score matrix."""

import math
from typing import NamedTuple

import ms_adapter.pytorch as torch
from ms_adapter.pytorch import Tensor

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

_DEFAULT_SPARSE_BLOCK_SIZE = 128


def noop_mask(batch, head, token_q, token_kv):
    """The mask that hides nothing."""
    return batch.new_ones((), dtype=torch.bool)


def and_masks(*mask_mods):
    """The mask that shows what all of these show."""
    _check_callable(mask_mods)

    def and_mask(b, h, q_idx, kv_idx):
        result = b.new_ones((), dtype=torch.bool)
        for mask in mask_mods:
            result = result & mask(b, h, q_idx, kv_idx)
        return result

    return and_mask


def or_masks(*mask_mods):
    """The mask that shows what any of these shows."""
    _check_callable(mask_mods)

    def or_mask(b, h, q_idx, kv_idx):
        result = b.new_zeros((), dtype=torch.bool)
        for mask in mask_mods:
            result = result | mask(b, h, q_idx, kv_idx)
        return result

    return or_mask


def _check_callable(mask_mods):
    if not all(callable(mask) for mask in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")


def _places(shape, device):
    """For each of four dimensions the numbers along it, shaped to broadcast with the others."""
    return [
        torch.arange(size, device=device).reshape([-1 if d == place else 1 for d in range(4)])
        for place, size in enumerate(shape)
    ]


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device=None):
    """What a mask function gives everywhere: (B, H, Q_LEN, KV_LEN), with 1 for B or H of None.

    >>> create_mask(lambda b, h, q, kv: q >= kv, None, None, 2, 2).tolist()
    [[[[True, False], [True, True]]]]
    """
    shape = (B or 1, H or 1, Q_LEN, KV_LEN)
    return torch.broadcast_to(mod_fn(*_places(shape, device)), shape)


class AuxRequest(NamedTuple):
    """What :func:`flex_attention` shall give beside its output."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What was asked for by an :class:`AuxRequest`; None for the rest."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


class BlockMask:
    """A mask function with the lengths it is for; blocks that it hides are computed all the same."""

    def __init__(self, mask_mod, shape, block_size, device):
        self.mask_mod = mask_mod
        self.shape = shape
        self.seq_lengths = shape[2:]
        self.BLOCK_SIZE = block_size
        self._device = device

    def to_dense(self):
        """(B, H, query blocks, key blocks): 1 for each block of which anything is shown."""
        mask = create_mask(self.mask_mod, *self.shape, self._device)
        rows, cols = self.BLOCK_SIZE
        q_len, kv_len = self.seq_lengths
        padded = torch.nn.functional.pad(mask, (0, -kv_len % cols, 0, -q_len % rows))
        blocks = padded.unflatten(-1, (-1, cols)).unflatten(-3, (-1, rows))
        return blocks.any(-1).any(-2).int()

    def sparsity(self):
        """How many per cent of the scores lie in blocks that are hidden."""
        shown = int(self.to_dense().sum()) * math.prod(self.BLOCK_SIZE)
        return 100 * (1 - shown / math.prod(self.shape))

    def __repr__(self):
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"


def create_block_mask(
    mask_mod, B, H, Q_LEN, KV_LEN, device=None, BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE, _compile=False
):
    """The :class:`BlockMask` of a mask function ``(b, h, q_idx, kv_idx) -> bool``."""
    sizes = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    return BlockMask(mask_mod, (B or 1, H or 1, Q_LEN, KV_LEN), sizes, device)


def _check(query, key, value, enable_gqa):
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError(
            "flex_attention: query, key and value must be 4D, (batch, heads, length, features), got "
            f"{query.dim()}D, {key.dim()}D and {value.dim()}D."
        )
    if query.size(1) != key.size(1) and not enable_gqa:
        raise ValueError(
            f"flex_attention: query has {query.size(1)} heads and key {key.size(1)}: pass enable_gqa=True to "
            "share keys among heads."
        )
    if query.size(1) % key.size(1):
        raise ValueError(
            f"flex_attention: {query.size(1)} query heads must be a multiple of {key.size(1)} key heads."
        )


def flex_attention(
    query,
    key,
    value,
    score_mod=None,
    block_mask=None,
    scale=None,
    enable_gqa=False,
    return_lse=False,
    kernel_options=None,
    *,
    return_aux=None,
):
    """Attention of (B, H, L, E) queries to (B, H, S, E) keys with changed scores and a mask.

    ``score_mod(score, b, h, q_idx, kv_idx)`` is called once, with tensors that broadcast, for all scores.
    With ``return_lse`` the logarithms of the softmax's denominators come too, with ``return_aux`` what an
    :class:`AuxRequest` asks for.

    >>> import ms_adapter.pytorch as torch
    >>> q = torch.ones(1, 1, 2, 4)
    >>> flex_attention(q, q, q, score_mod=lambda score, b, h, q, kv: score - (q - kv)).shape
    torch.Size([1, 1, 2, 4])
    """
    _check(query, key, value, enable_gqa)
    repeats = query.size(1) // key.size(1)
    if repeats > 1:
        key, value = key.repeat_interleave(repeats, 1), value.repeat_interleave(repeats, 1)
    precision = torch.float64 if query.dtype == torch.float64 else torch.float32
    scale = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    scores = (query @ key.mT).to(precision) * scale
    places = _places(scores.shape, scores.device)
    if score_mod is not None:
        scores = torch.broadcast_to(score_mod(scores, *places), scores.shape).to(precision)
    if block_mask is not None:
        shown = block_mask.mask_mod(*places)
        scores = torch.where(shown, scores, -math.inf)
    hidden = (scores == -math.inf).all(-1, keepdim=True)
    weights = torch.where(hidden, 0.0, torch.softmax(torch.where(hidden, 0.0, scores), -1))
    output = weights.to(query.dtype) @ value
    if return_aux is not None:
        lse = scores.logsumexp(-1) if return_aux.lse else None
        return output, AuxOutput(lse, scores.amax(-1) if return_aux.max_scores else None)
    return (output, scores.logsumexp(-1)) if return_lse else output
