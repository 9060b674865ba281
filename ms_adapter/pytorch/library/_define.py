"""Operators in PyTorch's lower-level way: define a schema, then kernels for it."""

import functools

from ..ops import _custom
from ..ops import torchvision as _torchvision
from ..ops._schemas import parse_schema

__all__ = ["Library", "define", "fallthrough_kernel", "find", "impl"]

_DEVICE_KEYS = {
    "cpu": "CPU",
    "cuda": "CUDA",
    "meta": "Meta",
    "npu": "PrivateUse1",
    "mindspore": "PrivateUse1",
    "default": "CompositeExplicitAutograd",
    None: "CompositeExplicitAutograd",
}
_libraries = []


class ServedByRow:
    """An operator of another library that the registry serves whole: what that library registers for it
    (shapes, gradients, autocast) is taken and not called.
    """

    def __init__(self, overload):
        self._overload, self._schema = overload, overload._schema
        self.kernels, self.dispatch_rules = {"Autograd": overload}, {}
        self.fake = self.backward = self.setup_context = self.vmap = self.autocast_dtype = None

    def __call__(self, *args, **kwargs):
        return self._overload(*args, **kwargs)

    def __repr__(self):
        return repr(self._overload)


def find(op):
    """The operator named by "ns::name" or "ns::name.overload", or given as an object.

    RuntimeError where there is none, and for operators of the registry.
    """
    if isinstance(op, _custom.CustomOverload):
        return op
    if hasattr(op, "_opoverload"):
        return op._opoverload
    name = op if isinstance(op, str) else getattr(op, "_qualified_op_name", None) or op.name()
    namespace, separator, rest = name.partition("::")
    if not separator:
        raise ValueError(f"an operator's name is written 'namespace::name', got {name!r}.")
    if namespace == "aten":
        raise NotImplementedError(
            f"{name}: other kernels for the registry's own operators are not supported; a TorchFunctionMode "
            "or TorchDispatchMode can replace them."
        )
    rest, _, overload = rest.partition(".")
    if namespace == "torchvision" and _torchvision.is_row(rest):
        return ServedByRow(getattr(_torchvision, rest).default)
    packet = _custom.packets.get((namespace, rest))
    found = packet._overloads.get(overload or "default") if packet else None
    if found is None:
        raise RuntimeError(f"operator {name} does not exist")
    return found


def key_of(device_type):
    """PyTorch's dispatch key for a device's type ("cpu"), or the key itself ("CompositeImplicitAutograd")."""
    return _DEVICE_KEYS.get(device_type, device_type)


class Library:
    """A place for operators of one namespace: ``kind`` is "DEF" (new ones), "FRAGMENT" (more), "IMPL"
    (kernels).

    >>> import ms_adapter.pytorch as torch
    >>> lib = torch.library.Library("docs_library", "DEF")
    >>> _ = lib.define("twice(Tensor x) -> Tensor")
    >>> lib.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
    >>> torch.ops.docs_library.twice(torch.ones(2))
    tensor([2., 2.])
    """

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in ("prim", "prims", "aten") and kind == "DEF":
            raise ValueError(
                f"{ns} is a reserved namespace. Please try creating a library with another name."
            )
        if kind == "DEF" and any(lib.ns == ns and lib.kind == "DEF" for lib in _libraries):
            raise RuntimeError(
                f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; please put all of "
                "your definitions in a single TORCH_LIBRARY block, or use kind='FRAGMENT'."
            )
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._op_defs, self._defined = set(), []
        _libraries.append(self)

    def __repr__(self):
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema, alias_analysis="", *, tags=()):
        """Adds an operator; returns its name."""
        if self.kind == "IMPL":
            raise RuntimeError(f"Library.define: a library of kind IMPL ({self.ns}) defines no operators.")
        if "->" not in schema:
            raise RuntimeError(f"Library.define: '{schema}' says no result; write '-> Tensor' or '-> ()'.")
        parsed = parse_schema(f"{self.ns}::{schema.strip()}")
        overload = _custom.define(parsed)
        overload.tags = list(tags) if isinstance(tags, (tuple, list)) else [tags]
        self._defined.append(overload)
        self._op_defs.add(f"{parsed.name}")
        return parsed.name.partition("::")[2]

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=False):
        """Gives an operator a kernel for a dispatch key, such as "CPU", "Meta" or
        "CompositeImplicitAutograd".
        """
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        if isinstance(op_name, str):
            op_name = op_name if "::" in op_name else f"{self.ns}::{op_name}"
        overload = find(op_name)
        if fn is fallthrough_kernel:
            return
        if with_keyset:
            fn = functools.partial(fn, None)
        if key in overload.kernels and not allow_override:
            raise RuntimeError(
                "This is not allowed since there's already a kernel registered from python overriding "
                f"{overload} 's behavior for {key} dispatch key and {self.ns} namespace."
            )
        overload.kernels[key] = fn

    def fallback(self, fn, dispatch_key="", *, with_keyset=False):
        """Raises: one kernel for all operators of a key is what TorchDispatchMode is for."""
        raise NotImplementedError(
            "Library.fallback is not supported; a TorchDispatchMode sees all operators."
        )

    def _register_fake(self, op_name, fn, _stacklevel=1, *, allow_override=False):
        find(f"{self.ns}::{op_name}").fake = fn

    def _destroy(self):
        """Takes the library's operators away."""
        for overload in self._defined:
            _custom.forget(overload)
        self._defined = []
        if self in _libraries:
            _libraries.remove(self)


def fallthrough_kernel():
    """As a kernel: this key does nothing."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


def define(qualname, schema=None, *, lib=None, tags=()):
    """Adds the operator "ns::name" with a schema such as "(Tensor x) -> Tensor".

    >>> import ms_adapter.pytorch as torch
    >>> torch.library.define("docs_define::inc", "(Tensor x) -> Tensor")
    >>> torch.library.impl("docs_define::inc", "cpu", lambda x: x + 1)
    >>> torch.ops.docs_define.inc(torch.zeros(1))
    tensor([1.])
    """
    if isinstance(qualname, Library):  # the older form: a decorator
        library, schema = qualname, schema
        name = library.define(schema, tags=tags)

        def decorate(function):
            library.impl(name, function)
            return function

        return decorate
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be str, got {type(qualname)}")
    namespace, separator, name = qualname.partition("::")
    if not separator:
        raise ValueError(f"define: the name is written 'namespace::name', got {qualname!r}.")
    library = lib or Library(namespace, "FRAGMENT")
    library.define(f"{name}{schema}", tags=tags)
    return None


def impl(qualname, types, func=None, *, lib=None):
    """Gives "ns::name" a kernel for device types ("cpu", or "default" for all); without ``func`` a
    decorator.
    """
    if isinstance(qualname, Library):  # the older form: impl(library, name, key)
        library, name, key = qualname, types, func or ""

        def decorate_older(function):
            library.impl(name, function, key)
            return function

        return decorate_older
    kinds = (types,) if isinstance(types, str) or types is None else tuple(types)

    def decorate(function):
        try:
            kernels = find(qualname).kernels
        except RuntimeError as err:  # the operator may come later
            if not isinstance(qualname, str) or isinstance(err, NotImplementedError):
                raise
            kernels = _custom.pending_kernels.setdefault(qualname.removesuffix(".default"), {})
        kernels.update((key_of(kind), function) for kind in kinds)
        return function

    return decorate if func is None else (decorate(func), None)[1]
