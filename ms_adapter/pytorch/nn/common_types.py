"""Names for the types of sizes given as one number or as one for each dimension."""

from collections.abc import Sequence
from typing import TypeVar

_T = TypeVar("_T")
_scalar_or_tuple_any_t = _T | tuple[_T, ...]
_size_any_t, _ratio_any_t = (_scalar_or_tuple_any_t[kind] for kind in (int, float))
for _n in range(1, 7):
    globals()[f"_scalar_or_tuple_{_n}_t"] = _T | tuple[(_T,) * _n]
    globals()[f"_size_{_n}_t"] = int | tuple[(int,) * _n]
    globals()[f"_ratio_{_n}_t"] = float | tuple[(float,) * _n]
_tensor_list_t = Sequence
