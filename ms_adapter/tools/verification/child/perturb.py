"""Rounds a run differently: what then differs is the reference's own spread."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .values import storage_of

_UNITS = 2  # of the last place, at most
_RANDOM_FILLS = frozenset(("uniform_", "normal_", "exponential_", "cauchy_", "log_normal_", "geometric_"))


class Noise:
    """Changes fresh results by up to two units in the last place; whole numbers stay as they are.

    Masks, counts, labels and one-hot vectors are whole numbers: comparisons with them must not flip.
    """

    def __init__(self, torch: Any, seed: int) -> None:
        self._torch = torch
        self._random = torch.Generator()
        self._random.manual_seed(seed)

    def apply(self, name: str, inputs: Iterable[Any], outputs: Iterable[Any]) -> None:
        """Change the results of an operator that are not views of its inputs."""
        places = {storage_of(tensor) for tensor in inputs}
        for tensor in outputs:
            fresh = storage_of(tensor) not in places or name in _RANDOM_FILLS or name.endswith("init_")
            if fresh and tensor.is_floating_point() and str(tensor.layout) == "torch.strided":
                self._change(tensor.data)  # .data: autograd must not see an in-place change

    def _change(self, data: Any) -> None:
        torch = self._torch
        with torch.no_grad():
            if data.numel() == 0 or data.device.type == "meta":
                return
            noise = torch.rand(data.shape, generator=self._random, dtype=torch.float64)
            step = torch.finfo(data.dtype).eps * _UNITS
            changed = (data.double() * (1 + (2 * noise - 1) * step)).to(data.dtype)
            data.copy_(torch.where(data == data.round(), data, changed))
