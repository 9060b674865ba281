"""MindSpore as a side of the comparison: PyTorch's tensors go in as MindSpore's and come back."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import torch

from ..face import Face, Missing, _strided_array

DTYPES = (
    *("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)


class MindSporeFace(Face):
    """Nothing is adapted: arguments are passed as PyTorch takes them."""

    def __init__(self) -> None:
        super().__init__("mindspore")
        self.mod.runtime.launch_blocking()  # else a failure surfaces in a later call
        self._dtypes = {str(getattr(self.mod, "bool_" if d == "bool" else d)): d for d in DTYPES}

    def tensor(self, t: torch.Tensor, grad: bool = False) -> Any:
        if t.layout != torch.strided or t.device.type != "cpu":
            raise TypeError(f"no MindSpore tensor for {t.layout} on {t.device}")
        t = t.detach().resolve_conj().resolve_neg()
        if t.dtype == torch.bfloat16:
            return self.mod.Tensor(t.float().numpy()).astype(self.mod.bfloat16)
        if str(t.dtype)[6:] not in DTYPES:
            raise TypeError(f"no MindSpore dtype for {t.dtype}")
        return self.mod.Tensor(np.ascontiguousarray(_strided_array(t)).reshape(tuple(t.shape)))

    def put(self, value: Any, grad: bool = False, leaves: list | None = None) -> Any:
        if isinstance(value, torch.dtype):
            name = str(value)[6:]
            if name not in DTYPES:
                raise Missing(f"missing: {value}")
            return getattr(self.mod, "bool_" if name == "bool" else name)
        if isinstance(value, torch.Size):
            return tuple(value)
        if isinstance(value, (list, tuple)):
            return type(value)(self.put(v) for v in value)
        if isinstance(value, dict):
            return {k: self.put(v) for k, v in value.items()}
        if isinstance(value, (torch.memory_format, torch.layout, torch.device, torch.Generator)):
            raise Missing(f"missing: {value}")
        return self.tensor(value) if isinstance(value, torch.Tensor) else value

    def is_tensor(self, x: Any) -> bool:
        return isinstance(x, self.mod.Tensor)

    def dtype_name(self, dtype: Any) -> str:
        return self._dtypes.get(str(dtype), repr(dtype))

    def fetch(self, t: Any) -> torch.Tensor:
        if self.dtype_name(t.dtype) == "bfloat16":
            return torch.from_numpy(np.array(t.astype(self.mod.float32).asnumpy())).bfloat16()
        return torch.from_numpy(np.array(t.asnumpy()))

    def resolve(self, path: str) -> Any:
        """The object at a dotted path that starts with `mindspore`, or None."""
        found: Any = self.mod
        parts = path.split(".")[1:]
        for i, part in enumerate(parts):
            nxt = getattr(found, part, None)
            if nxt is None:
                try:
                    nxt = importlib.import_module(".".join(["mindspore", *parts[: i + 1]]))
                except ImportError:
                    return None
            found = nxt
        return found
