"""torch.ops.aten: the operators under the names that exported graphs, decompositions and modes use.

``torch.ops.aten.add``, ``torch.ops.aten.add.Tensor`` and ``torch.ops.aten.add.out`` call the operator with
the arguments given. Rows that PyTorch has no name for are in ``torch.ops.msa``.
"""

import functools
import importlib
import sys
import types

from ms_adapter import _C

from . import torchvision
from ._overloads import OpOverloadPacket

_SPACES = ("linalg", "fft", "special", "sparse")

# How PyTorch's overloads are called where that does not follow from the row. A tuple: the name with a
# tensor, and with a number, in the place of the last tensor.
_COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
_BITS = ["bitwise_and", "bitwise_or", "bitwise_xor"]
_OTHERS = ["remainder", "fmod", "rsub", "masked_fill", "lerp"]
_PAIRS = dict.fromkeys([*_COMPARISONS, *_BITS, *_OTHERS], ("Tensor", "Scalar"))
_PAIRS |= dict.fromkeys(["bitwise_left_shift", "bitwise_right_shift"], ("Tensor", "Tensor_Scalar"))
_PAIRS |= {
    "floor_divide": ("default", "Scalar"),
    "pow": ("Tensor_Tensor", "Tensor_Scalar"),
    "xlogy": ("Tensor", "Scalar_Other"),
    "where": ("self", "ScalarOther"),
}
_OVERLOADS = dict.fromkeys(["add", "sub", "mul", "div", "slice", "split", "_index"], "Tensor")
_OVERLOADS |= dict.fromkeys(["transpose", "select", "unbind", "softmax", "log_softmax"], "int")
_OVERLOADS |= {
    "fill_": "Scalar",
    "empty": "memory_format",
    "sum.dim": "dim_IntList",
    "prod.dim": "dim_int",
    "bernoulli_.tensor": "Tensor",
}
_OURS_ALONE = frozenset(["gelu_tanh", "gelu_tanh_backward", "clamp_between", "div_floor", "div_trunc"])
custom_rows = {}  # row -> the overload that torch.library made for it
_NAMES = {
    "alias": "detach",
    "_expand": "expand",
    "_index": "index",
    "gelu_erf": "gelu",
    "gelu_erf_backward": "gelu_backward",
    "_to_copy": "_to_copy",
}


@functools.cache
def _public_spaces():
    """Operators of torch.special and the like: aten writes the namespace before the name."""
    top = {name for name in _C.functions if "." not in name}
    found = {}
    for dotted in _C.functions:
        space, _, name = dotted.rpartition(".")
        if space in _SPACES and name not in top:
            found.setdefault(name, f"{space}_{name}")
    return found


def name_in_aten(name, overload, form, number):
    """("mul", "Tensor") for a row and a form of it; ``number``: a number is in a tensor's place."""
    base = _NAMES.get(name) or _public_spaces().get(name, name)
    known = _PAIRS.get(name)
    label = known[number] if known else _OVERLOADS.get(f"{name}.{overload}" if overload else name)
    label = label or overload or "default"
    if form == "inplace" and not base.endswith("_"):
        return f"{base}_", label
    if form == "out":
        return base, "out" if label in ("default", "Tensor") else f"{label}_out"
    return base, label


def _make_overload(row, form, numbers):
    """The overload that stands for a row, for the core."""
    if row in custom_rows:
        return custom_rows[row]
    name, overload = _rows()[0][row]
    base, label = name_in_aten(name, overload, form, bool(numbers))
    theirs = name in _NAMES or _find_public(base) or name[0] != "_" and name not in _OURS_ALONE
    space = torchvision if torchvision.is_row(base) else sys.modules[__name__] if theirs else _msa
    made = getattr(space, base)._overload(label)
    made._row = find_row(base, label) or (row, form)
    return made


@functools.cache
def _rows():
    """({row: (name, overload)}, {(aten name, overload): (row, form)})."""
    names, found = {}, {}
    # A row with the name itself goes before one that only runs inside of it.
    for row, name, overload, _, _, forms in sorted(_C.rows(), key=lambda entry: entry[1] in _NAMES):
        names[row] = (name, overload)
        for form in forms.split():
            for number in (False, True):
                found.setdefault(name_in_aten(name, overload, form, number), (row, form))
    return names, found


def find_row(name, overload):
    """(row, form) of an overload, or None where the registry has no row of its own for it."""
    return _rows()[1].get((name, overload))


def _find_public(name):
    """The function or method that aten calls ``name``, as linalg.inv for linalg_inv."""
    space, _, rest = name.partition("_")
    places = [name, f"nn.functional.{name}"] + ([f"{space}.{rest}"] if space in _SPACES else [])
    found = next((_C.functions[place] for place in places if place in _C.functions), None)
    return found or (getattr(_C.Tensor, name, None) if not name.startswith("__") else None)


def _find(name):
    """The same, or the row of that name."""
    found = _find_public(name)
    if found is None and (row := find_row(name, "default") or find_row(name, "Tensor")):
        return lambda *args, **kwargs: _C.call_row(None, *row, args, kwargs)
    return found or _only_here(name)


def _only_here(name):
    """An operator without a name outside of aten."""
    module = importlib.import_module("._aten_only", __package__)  # needs the whole face
    found = vars(module).get(name)
    return found if isinstance(found, types.FunctionType) else None


class _Space(types.ModuleType):
    """A module whose attributes are packets, looked up once each."""

    def __setattr__(self, name, value):
        plain = not callable(value) or isinstance(value, (type, types.FunctionType, OpOverloadPacket))
        super().__setattr__(name, value if plain else OpOverloadPacket("aten", name, value))

    def __getattr__(self, name):
        found = None if name.startswith("__") else _find(name)
        if found is None:
            raise AttributeError(
                f"torch.ops.aten.{name}: ms_adapter has no operator '{name}'; docs/operators.md lists them."
            )
        made = self.__dict__[name] = OpOverloadPacket("aten", name, found)
        return made


class _Own(types.ModuleType):
    """torch.ops.msa: rows without a name in aten."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        found = find_row(name, "default")
        if found is None:
            raise AttributeError(f"torch.ops.msa.{name}: the registry has no row of that name.")
        call = lambda *args, **kwargs: _C.call_row(None, *found, args, kwargs)
        made = self.__dict__[name] = OpOverloadPacket("msa", name, call)
        return made


_msa = _Own("torch.ops.msa", "The registry's rows that PyTorch has no name for.")
sys.modules[__name__].__class__ = _Space
_C.set_overload_maker(_make_overload)
