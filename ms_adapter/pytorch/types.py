"""torch.types: names for annotations."""

import os
from collections.abc import Sequence
from typing import IO, Any, TypeAlias, Union

import ms_adapter.pytorch as torch

from ._symbolic import SymBool, SymFloat, SymInt

__all__ = ["BoolLikeType", "Device", "FileLike", "FloatLikeType", "IntLikeType", "Number", "Storage"]

Number: TypeAlias = int | float | bool
py_sym_types = (SymInt, SymFloat, SymBool)
PySymType: TypeAlias = SymInt | SymFloat | SymBool
IntLikeType: TypeAlias = int | SymInt
FloatLikeType: TypeAlias = float | SymFloat
BoolLikeType: TypeAlias = bool | SymBool
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
Device: TypeAlias = Union["torch.device", str, int, None]
Storage: TypeAlias = Any
Size: TypeAlias = Sequence[int]
_device: TypeAlias = torch.device
_dtype: TypeAlias = torch.dtype
_layout: TypeAlias = torch.layout
_bool: TypeAlias = bool
_int: TypeAlias = int
_float: TypeAlias = float
_size: TypeAlias = Sequence[int]
