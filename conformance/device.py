"""Runs the suites with the implementation's tensors on another device, and notes what ran there."""

from __future__ import annotations

from typing import Any

import torch

from .compare import tensors
from .face import Face


def take_calls(device: str) -> dict[str, dict[str, int]]:
    """{operator: {callable: calls}} since the last question; "cpu" stands for what fell back."""
    from ms_adapter import _C

    return _C.take_call_counts(device)


class Place(str):
    """The name of the device, which is the same to the comparison as the oracle's cpu."""

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) is True or str(other) == "cpu"


class DeviceFace(Face):
    """A face whose tensors live on `device`; results that came out elsewhere are refused."""

    def __init__(self, module: str, device: str) -> None:
        super().__init__(module)
        self.device = device
        self._anywhere = False
        self._home = False  # within a fetch, which is done on cpu

    def tensor(self, t: torch.Tensor, grad: bool = False) -> Any:
        if t.layout != torch.strided or t.device.type != "cpu":
            return super().tensor(t, grad)
        from ms_adapter import _C

        made = _C.on_device(super().tensor(t), self.device)
        return made.requires_grad_(True) if grad else made

    def put(self, value: Any, grad: bool = False, leaves: list | None = None) -> Any:
        if (
            isinstance(value, tuple) and len(value) == 3
        ):  # a sample: without tensor and device it names no place
            self._anywhere = next(tensors(value), None) is None and "device" not in value[2]
        return super().put(self._there(value), grad, leaves)

    def _there(self, value: Any) -> Any:
        """Arguments that name the cpu name the device instead."""
        if isinstance(value, dict):
            return {k: self._there(v) for k, v in value.items()}
        if isinstance(value, tuple) and not hasattr(value, "_fields") and not isinstance(value, torch.Size):
            return tuple(map(self._there, value))
        if isinstance(value, (str, torch.device)) and str(value) == "cpu":
            return Place(self.device)
        return value

    def fetch(self, t: Any) -> torch.Tensor:
        if not self._home and self.is_tensor(t) and "strided" in str(t.layout):
            if t.device.type != self.device and not self._anywhere:
                raise AssertionError(f"the result lives on {t.device}, not on {self.device}")
            t, self._home = t.detach().to("cpu"), True
            try:
                return super().fetch(t)
            finally:
                self._home = False
        if self.is_tensor(t) and "sparse" in str(t.layout):
            t = t.detach().to_dense().cpu()
        return super().fetch(t)
