"""Calls for names that PyTorch's tables of operators and modules do not have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import torch
from torch.testing._internal.common_modules import FunctionInput, ModuleInput
from torch.testing._internal.opinfo.core import SampleInput

FLOATS = ("float32", "float64", "float16", "bfloat16")
ALL = ("float32", "int64", "bool", *FLOATS[1:], "int32", "uint8")
Call = tuple[tuple[Any, ...], dict[str, Any]]


def call(*args: Any, **kwargs: Any) -> Call:
    return args, kwargs


@dataclass
class Entry:
    """What the measurement needs of an operator's entry in PyTorch's table."""

    name: str
    make: Callable[[torch.dtype], list[Call]]
    dtypes: tuple[str, ...]
    decorators: tuple[Any, ...] = field(default=())

    def supported_dtypes(self, device: str) -> set[torch.dtype]:
        return {getattr(torch, d) for d in self.dtypes}

    def sample_inputs(self, device: str, dtype: torch.dtype) -> list[SampleInput]:
        return [SampleInput(args[0], args=args[1:], kwargs=kwargs) for args, kwargs in self.make(dtype)]


def _some(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    drawn = torch.randn(*shape, generator=torch.Generator().manual_seed(1)) * 3
    return (
        drawn > 0
        if dtype == torch.bool
        else drawn.abs().to(dtype)
        if dtype == torch.uint8
        else drawn.to(dtype)
    )


def _of_tensor(
    *rest: Any, shape: tuple[int, ...] = (3, 4), **kwargs: Any
) -> Callable[[torch.dtype], list[Call]]:
    return lambda dtype: [call(_some(*shape, dtype=dtype), *rest, **kwargs)]


def _with(other: Callable[[torch.dtype], Any]) -> Callable[[torch.dtype], list[Call]]:
    return lambda dtype: [call(_some(3, 4, dtype=dtype), other(dtype))]


def _numbers(dtype: torch.dtype) -> list[Call]:
    return [call(torch.tensor(value).to(dtype)) for value in (1, 0)]


def _lengths(*more: Call) -> Callable[[torch.dtype], list[Call]]:
    return lambda dtype: [call(7, dtype=dtype), call(1, dtype=dtype), *more]


ATTRIBUTES = ["shape", "dtype", "ndim", "itemsize", "nbytes", "T", "mT"]
QUESTIONS = (
    "dim ndimension numel nelement size stride is_complex is_floating_point is_contiguous tolist __len__"
)
OPERATORS = ["__truediv__", "__itruediv__", "__rtruediv__", "__floordiv__", "__rfloordiv__", "__ifloordiv__"]


def _functions() -> dict[str, Entry]:
    table: dict[str, tuple[Callable[[torch.dtype], list[Call]], tuple[str, ...]]] = {
        f"Tensor.{name}": (_of_tensor(), ALL) for name in (*ATTRIBUTES, *QUESTIONS.split())
    }
    table |= {f"Tensor.{n}": (_with(lambda d: _some(3, 4, dtype=d).abs() + 1), FLOATS) for n in OPERATORS}
    table |= {f"Tensor.{n}": (_numbers, ALL) for n in ["item", "__bool__", "__float__", "__int__"]}
    table |= {name: (_of_tensor(), ALL) for name in ["is_tensor", "numel", "is_complex", "is_floating_point"]}
    for name in ["bartlett", "blackman", "hamming", "hann", "kaiser"]:
        table[f"{name}_window"] = (_lengths(call(6, False, dtype=torch.float32)), ("float32", "float64"))
    table |= {
        "Tensor.__index__": (_numbers, ("int64", "int32", "uint8")),
        "Tensor.copy_": (_with(lambda d: _some(3, 4, dtype=d)), ALL),
        "Tensor.fill_diagonal_": (_of_tensor(1), ("float32", "int64")),
        "Tensor.type_as": (_with(lambda d: _some(2)), ALL),
        "tensor": (lambda d: [call([1.5, 2.0]), call(3), call([[1, 2], [3, 4]], dtype=d)], ALL),
        "Tensor.to": (_of_tensor(torch.float64), ALL),
        "Tensor.real": (_of_tensor(), ("float32", "complex64")),
        "Tensor.imag": (_of_tensor(), ("complex64",)),
        "Tensor.H": (_of_tensor(), ("float32", "complex64")),
        "Tensor.mH": (_of_tensor(shape=(2, 3, 4)), ("float32", "complex64")),
        "Tensor.slogdet": (_of_tensor(shape=(3, 3)), ("float32", "float64")),
        "slogdet": (_of_tensor(shape=(3, 3)), ("float32", "float64")),
        "is_nonzero": (_numbers, ALL),
        "einsum": (lambda d: [call("ij,jk->ik", _some(2, 3, dtype=d), _some(3, 4, dtype=d))], FLOATS),
        "fft.fftfreq": (lambda d: [call(8), call(7, 0.5)], ("float32",)),
        "fft.rfftfreq": (lambda d: [call(8), call(7, 0.5)], ("float32",)),
        "range": (lambda d: [call(0, 4), call(1, 4, 0.5)], ("float32",)),
        "polygamma": (lambda d: [call(1, _some(5, dtype=d).abs() + 1)], FLOATS),
        "special.polygamma": (lambda d: [call(1, _some(5, dtype=d).abs() + 1)], FLOATS),
        "max_pool2d": (_of_tensor(2, shape=(1, 2, 6, 6)), FLOATS),
        "adaptive_max_pool1d": (_of_tensor(2, shape=(1, 2, 6)), FLOATS),
        "rand": (lambda d: [call(3, 4), call(2, dtype=d)], FLOATS),
        "randperm": (lambda d: [call(5)], ("int64",)),
        "nn.functional.upsample": (_of_tensor(None, 2, shape=(1, 2, 3, 3)), ("float32",)),
        "nn.functional.fold": (lambda d: [call(_some(1, 8, 9, dtype=d), (4, 4), (2, 2))], FLOATS),
        "nn.functional.relu_": (_of_tensor(), FLOATS),
        "nn.functional.elu_": (_of_tensor(), FLOATS),
        "nn.functional.hardtanh_": (_of_tensor(), FLOATS),
        "nn.functional.threshold_": (_of_tensor(0.5, 2.0), FLOATS),
    }
    return {name: Entry(name, make, dtypes) for name, (make, dtypes) in table.items()}


FUNCTIONS = _functions()


def _module(name: str, *cases: tuple[Call, tuple[Any, ...]]) -> Any:
    """What the measurement needs of a module's entry in PyTorch's table."""
    inputs = [ModuleInput(FunctionInput(*made[0], **made[1]), FunctionInput(*given)) for made, given in cases]
    return SimpleNamespace(
        module_cls=getattr(torch.nn, name),
        dtypes=(torch.float32,),
        module_inputs_func=lambda *_, **__: inputs,
    )


_IMAGE = (_some(2, 4, 6, 6),)
MODULES = {
    f"torch.nn.{name}": _module(name, *cases)
    for name, cases in {
        "Flatten": [(call(), _IMAGE), (call(2), _IMAGE), (call(0, 1), _IMAGE)],
        "Unflatten": [(call(1, (2, 2)), _IMAGE)],
        "Identity": [(call(), _IMAGE)],
        "PixelShuffle": [(call(2), _IMAGE)],
        "PixelUnshuffle": [(call(2), _IMAGE)],
        "ChannelShuffle": [(call(2), _IMAGE)],
        "Dropout": [(call(), _IMAGE), (call(0.3), _IMAGE)],
        "Dropout1d": [(call(), (_some(2, 4, 6),))],
        "Dropout2d": [(call(), _IMAGE)],
        "Dropout3d": [(call(), (_some(2, 4, 3, 3, 3),))],
        "Unfold": [(call((2, 2)), _IMAGE), (call((2, 2), stride=2), _IMAGE)],
        "Fold": [(call((4, 4), (2, 2)), (_some(1, 8, 9),))],
        "Upsample": [(call(scale_factor=2), _IMAGE), (call((8, 8), mode="bilinear"), _IMAGE)],
        "UpsamplingNearest2d": [(call(scale_factor=2), _IMAGE)],
        "UpsamplingBilinear2d": [(call(scale_factor=2), _IMAGE)],
        "RReLU": [(call(), _IMAGE)],
    }.items()
}
