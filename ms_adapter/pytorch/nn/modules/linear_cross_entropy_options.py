"""How linear_cross_entropy may cut its work into pieces; accepted as PyTorch does, and checked."""

import dataclasses
import re

import ms_adapter.pytorch as torch

__all__ = ["LinearCrossEntropyOptions"]

_POLICIES = ("accurate", "balanced", "compact", "auto")


@dataclasses.dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """Options of ``linear_cross_entropy``. Whatever they say the loss is computed in one piece: the numbers
    are the same, the memory that chunks would save is not saved.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: object = None

    def __post_init__(self):
        size, method = self.batch_chunk_size, self.chunking_method
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size}")
        if not (method in (None, "auto") or re.fullmatch(r"aspect_ratio:\d+(\.\d*)?", method)):
            raise ValueError(f"invalid chunking_method: {method!r}")
        if self.acc_policy not in _POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        allowed = (None, torch.float16, torch.bfloat16, torch.float32, torch.float64)
        if self.acc_dtype not in allowed:
            names = ", ".join(map(str, allowed))
            raise ValueError(
                f"acc_dtype must be one of {{{names}}}, got {self.acc_dtype}. Pass acc_dtype=None to let the "
                "op pick automatically."
            )
