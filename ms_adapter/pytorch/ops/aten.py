"""torch.ops.aten: the operators under the names that exported graphs and decompositions use.

``torch.ops.aten.add``, ``torch.ops.aten.add.Tensor`` and ``torch.ops.aten.add.out`` all call the operator
with the arguments given: our overloads are chosen by these, whatever the name behind the point.
"""

import sys
import types

from ms_adapter import _C

_SPACES = ("linalg", "fft", "special", "sparse")


class OpOverload:
    """An operator with PyTorch's name of an overload."""

    def __init__(self, packet, overload):
        self.overloadpacket, self._overloadname = packet, overload
        self.__name__ = f"{packet.__name__}.{overload}"
        self.__module__ = "torch._ops.aten"

    def __call__(self, /, *args, **kwargs):
        return self.overloadpacket(*args, **kwargs)

    def name(self):
        """The operator's name with its namespace."""
        return f"aten::{self.__name__}".removesuffix(".default")

    def __repr__(self):
        return f"<OpOverload(op='aten.{self.overloadpacket.__name__}', overload='{self._overloadname}')>"


class OpOverloadPacket:
    """An operator; its attributes are its overloads."""

    def __init__(self, name, function):
        self.__name__, self._function = name, function
        self._qualified_op_name = f"aten::{name}"
        self.__module__ = "torch._ops.aten"

    def __call__(self, /, *args, **kwargs):
        if "self" in kwargs:  # as the schemas of aten call the first parameter
            kwargs["input"] = kwargs.pop("self")
        return self._function(*args, **kwargs)

    def __getattr__(self, overload):
        if overload.startswith("_"):
            raise AttributeError(f"'aten.{self.__name__}' has no overload '{overload}'")
        made = self.__dict__[overload] = OpOverload(self, overload)
        return made

    def __repr__(self):
        return f"<OpOverloadPacket(op='aten.{self.__name__}')>"


def _find(name):
    """The function of the registry that aten calls ``name``, as linalg.inv for linalg_inv."""
    space, _, rest = name.partition("_")
    places = [name, f"nn.functional.{name}"] + ([f"{space}.{rest}"] if space in _SPACES else [])
    found = next((_C.functions[place] for place in places if place in _C.functions), None)
    return found or (getattr(_C.Tensor, name, None) if not name.startswith("__") else None)


class _Aten(types.ModuleType):
    """The module: what is put into it becomes a packet, what is asked for is looked up once."""

    def __setattr__(self, name, value):
        super().__setattr__(name, OpOverloadPacket(name, value) if callable(value) else value)

    def __getattr__(self, name):
        found = None if name.startswith("__") else _find(name)
        if found is None:
            raise AttributeError(
                f"torch.ops.aten.{name}: ms_adapter has no operator '{name}'; docs/operators.md lists them."
            )
        setattr(self, name, found)
        return self.__dict__[name]


sys.modules[__name__].__class__ = _Aten
