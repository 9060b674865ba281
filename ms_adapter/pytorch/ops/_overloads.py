"""Operators as objects: ``torch.ops.ns.name`` and its overloads, which __torch_dispatch__ gets."""

import functools

from ms_adapter import _C

from ._schemas import FunctionSchema, parse_schema

__all__ = ["OpOverload", "OpOverloadPacket", "OperatorBase"]


class OperatorBase:
    """What is common to operators of every kind."""


class OpOverload(OperatorBase):
    """One overload of an operator. ``func is torch.ops.aten.mul.Tensor`` holds where __torch_dispatch__ gets
    it.
    """

    def __init__(self, packet, overload):
        self.overloadpacket, self._overloadname = packet, overload
        self.namespace, self._opname = packet._namespace, packet.__name__
        self.__name__ = f"{packet.__name__}.{overload}"
        self.__qualname__ = self._name = self.name()
        self.__module__ = f"torch._ops.{packet._namespace}"
        self._row = None  # (the registry's row, its form) once known, False where there is none
        self.tags = []

    def __call__(self, /, *args, **kwargs):
        if "self" in kwargs:  # as the schemas of aten call the first parameter
            kwargs["input"] = kwargs.pop("self")
        if self._row or self._find_row():
            return _C.call_row(self, *self._row, args, kwargs)
        import ms_adapter.pytorch as torch

        relevant = (*args, *kwargs.values())
        if torch.overrides.has_torch_function(relevant):
            return torch.overrides.handle_torch_function(self, relevant, *args, **kwargs)
        return self.overloadpacket(*args, **kwargs)

    def _find_row(self):
        """The row that the overload stands for alone, if there is one."""
        if self._row is None:
            from .aten import find_row

            self._row = find_row(self._opname, self._overloadname) or False
        return self._row

    def name(self):
        """The operator's name with its namespace, as "aten::add.Tensor"."""
        return f"{self.namespace}::{self.__name__}".removesuffix(".default")

    @functools.cached_property
    def _schema(self):
        """The FunctionSchema, with our names of the parameters."""
        if not self._find_row():
            return FunctionSchema(self.name().partition(".")[0], self._overloadname, (), ())
        text = _texts()[self._row[0]]
        return _as_aten(parse_schema(text), self, self._row[1])

    @property
    def is_view(self):
        """Whether the result shares its memory with the first argument."""
        return bool(self._schema.returns) and self._schema.returns[0].alias_info is not None

    def decompose(self, *args, **kwargs):
        """NotImplemented: the operators that a mode sees are not made of others."""
        return NotImplemented

    def has_kernel_for_dispatch_key(self, key):
        """Whether the operator runs on a device, by PyTorch's key for it ("CPU", "Meta")."""
        return str(key).rpartition(".")[2] in ("CPU", "Meta", "Autograd", "AutogradCPU")

    def __repr__(self):
        return f"<OpOverload(op='{self.namespace}.{self._opname}', overload='{self._overloadname}')>"

    def __str__(self):
        return f"{self.namespace}.{self.__name__}"

    def __reduce__(self):
        return _by_name, (self.namespace, self._opname, self._overloadname)

    def __deepcopy__(self, memo):
        return self


class OpOverloadPacket:
    """An operator; its attributes are its overloads."""

    def __init__(self, namespace, name, function):
        self._namespace, self.__name__, self._function = namespace, name, function
        self.__qualname__ = self._qualified_op_name = f"{namespace}::{name}"
        self.__module__ = f"torch._ops.{namespace}"
        self._overloads = {}  # those that were used; a custom operator's: all

    def __call__(self, /, *args, **kwargs):
        if self._namespace == "aten" and "self" in kwargs:
            kwargs["input"] = kwargs.pop("self")
        return self._function(*args, **kwargs)

    def _overload(self, name):
        """The overload of that name, made at first use."""
        if name not in self._overloads:
            self._overloads[name] = OpOverload(self, name)
        return self._overloads[name]

    def __getattr__(self, name):
        if name in self.__dict__.get("_overloads", ()):
            return self._overloads[name]
        if name.startswith("_") or self._namespace not in ("aten", "msa", "torchvision"):
            raise AttributeError(f"'{self._namespace}.{self.__name__}' has no overload '{name}'")
        made = self.__dict__[name] = self._overload(name)
        return made

    def overloads(self):
        """The names of the overloads that were used."""
        return list(self._overloads) or ["default"]

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self._namespace}.{self.__name__}')>"

    def __str__(self):
        return f"{self._namespace}.{self.__name__}"

    def __reduce__(self):
        return _by_name, (self._namespace, self.__name__)


def _by_name(namespace, name, overload=None):
    """An operator from its pickle."""
    import ms_adapter.pytorch as torch

    packet = getattr(getattr(torch.ops, namespace), name)
    return packet if overload is None else getattr(packet, overload)


@functools.cache
def _texts():
    return {row: schema for row, _, _, schema, _, _ in _C.rows()}


_VIEWS = frozenset(
    [
        "alias",
        "as_strided",
        "detach",
        "diagonal",
        "expand",
        "narrow",
        "permute",
        "select",
        "slice",
        "split",
        "split_with_sizes",
        "squeeze",
        "t",
        "transpose",
        "unbind",
        "unfold",
        "unsqueeze",
        "view",
    ]
)


def _as_aten(schema, overload, form):
    """A row's schema for one of its forms: what is written to is marked, views are."""
    import dataclasses

    from ._schemas import AliasInfo, Argument, Return

    arguments, returns = list(schema.arguments), list(schema.returns)
    written = AliasInfo(frozenset("a"), True)
    if form == "inplace":
        arguments[0] = dataclasses.replace(arguments[0], alias_info=written)
        returns = [Return("Tensor", written)]
    elif form == "out":
        arguments.append(Argument("out", "Tensor", kwarg_only=True, alias_info=written))
    elif overload._opname in _VIEWS:
        returns = [dataclasses.replace(r, alias_info=AliasInfo(frozenset("a"), False)) for r in returns]
    name = overload.name().partition(".")[0]
    label = "" if overload._overloadname == "default" else overload._overloadname
    return FunctionSchema(name, label, tuple(arguments), tuple(returns))
