"""Custom operators: what one runs for which device, with which gradient, and how modes see it."""

import ms_adapter.pytorch as torch
from ms_adapter import _C

from . import aten
from ._overloads import OpOverload, OpOverloadPacket
from ._schemas import FunctionSchema

packets = {}  # (namespace, name) -> OpOverloadPacket
pending_fakes = {}  # qualified name -> fake, registered before the operator
pending_kernels = {}  # the same -> {dispatch key: kernel}
_ROW_TYPES = {
    "SymInt": "int",
    "ScalarType": "dtype",
    "Device": "device",
    "Layout": "layout",
    "MemoryFormat": "memory_format",
    "number": "Scalar",
}
_KEYS = {"cpu": "CPU", "meta": "Meta", "cuda": "CUDA", "npu": "PrivateUse1", "mindspore": "PrivateUse1"}
_EXPLICIT, _IMPLICIT = "CompositeExplicitAutograd", "CompositeImplicitAutograd"


def _row_parameter(argument):
    """(name, type, optional, keyword only, has default, default) as the core takes it."""
    kind, optional = argument.type.removesuffix("?"), argument.type.endswith("?")
    base, bracket, _ = kind.partition("[")
    kind = _ROW_TYPES.get(base, base) + ("[]" if bracket else "")
    return (
        argument.name,
        kind,
        optional,
        argument.kwarg_only,
        argument.has_default_value(),
        argument.default_value,
    )


class CustomOverload(OpOverload):
    """An operator of torch.library."""

    def __init__(self, packet, overload, schema):
        super().__init__(packet, overload)
        self.__dict__["_schema"] = schema
        self.kernels, self.fake, self.backward, self.setup_context = {}, None, None, None
        self.dispatch_rules, self.vmap, self.autocast_dtype = {}, None, None
        self._function, self._excluded = None, False
        self.is_function = False  # made by custom_op, not by Library.define
        self._written = [i for i, a in enumerate(schema.arguments) if a.alias_info and a.alias_info.is_write]
        self._n_plain = sum(not a.kwarg_only for a in schema.arguments)
        name = f"{self.namespace}::{self._opname}"
        self._custom_row = _C.add_custom_row(
            name, schema.overload_name, str(schema), [_row_parameter(a) for a in schema.arguments], self._run
        )
        aten.custom_rows[self._custom_row] = self

    def __call__(self, /, *args, **kwargs):
        if self.dispatch_rules and (mode := torch.utils._python_dispatch._get_current_dispatch_mode()):
            rule = self.dispatch_rules.get(type(mode))
            if rule is not None:
                with torch.utils._python_dispatch._pop_mode_temporarily():
                    return rule(mode, self, (), args, kwargs)
        return _C.call_custom(self, self._custom_row, args, kwargs)

    # ---- the call, below the layers -------------------------------------------------------------
    def _run(self, *values):
        dtype = (self.autocast_dtype or {}).get("cpu")
        if dtype is not None and torch.is_autocast_enabled("cpu"):
            cast = lambda v: v.to(dtype) if isinstance(v, torch.Tensor) and v.is_floating_point() else v
            with torch.autocast("cpu", enabled=False):
                return self._run(*torch.utils._pytree.tree_map(cast, values))
        args, named = values[: self._n_plain], self._schema.arguments[self._n_plain :]
        kwargs = {a.name: v for a, v in zip(named, values[self._n_plain :])}
        own = self.kernels.get("Autograd") or self.kernels.get("AutogradCPU")
        if own is not None and not self._excluded and torch.is_grad_enabled():
            self._excluded = True
            try:
                return own(*args, **kwargs)
            finally:
                self._excluded = False
        if _IMPLICIT in self.kernels and self._device_kernel(values) is None:
            return self.kernels[_IMPLICIT](*args, **kwargs)
        if torch.is_grad_enabled() and any(t.requires_grad for t in _tensors(values)):
            return self._recorded(args, kwargs)
        return self._below_autograd(args, kwargs)

    def _recorded(self, args, kwargs):
        if self._function is None:
            self._function = _make_function(self)
        lengths = [len(a) if isinstance(a, (list, tuple)) else None for a in args]
        flat = [item for a in args for item in (a if isinstance(a, (list, tuple)) else (a,))]
        made = self._function.apply(*flat, (lengths, kwargs))
        listed = self._schema.returns and self._schema.returns[0].type == "Tensor[]"
        return list(made) if listed and isinstance(made, tuple) else made

    def _below_autograd(self, args, kwargs):
        tensors = _tensors((*args, *kwargs.values()))
        with torch.no_grad():
            if any(type(t) not in (torch.Tensor, torch.nn.Parameter) for t in tensors):
                result = self._handed_over(tensors, args, kwargs)
                if result is not NotImplemented:
                    return result
            result = self._kernel((*args, *kwargs.values()))(*args, **kwargs)
        self._check_fresh(result, tensors)
        written = [(*args, *kwargs.values())[i] for i in self._written]
        for tensor in _tensors(written):
            torch.autograd.graph.increment_version(tensor)
        return result

    def _handed_over(self, tensors, args, kwargs):
        """What a rule for the class of an argument makes of the call, or its __torch_dispatch__."""
        for tensor in tensors:
            rule = self.dispatch_rules.get(type(tensor))
            if rule is not None:
                return rule(self, tuple({type(t): None for t in tensors}), args, kwargs)
        return _C.hand_to_class(self, self._custom_row, args, kwargs)

    def _device_kernel(self, values):
        device = next((t.device.type for t in _tensors(values)), "cpu")
        if device == "meta" and self.fake is not None:
            return self.fake
        return self.kernels.get(_KEYS.get(device, device.upper()))

    def _kernel(self, values):
        found = self._device_kernel(values)
        device = next((t.device.type for t in _tensors(values)), "cpu")
        if found is None and device != "meta":
            found = self.kernels.get(_EXPLICIT)
        found = found or self.kernels.get(_IMPLICIT)
        if found is None and device == "meta":
            raise (RuntimeError if self.is_function else NotImplementedError)(
                f"{self._name}: attempted to run this operator with Meta tensors, but there was no fake impl "
                "or Meta kernel registered for this operator; register one with torch.library.register_fake."
            )
        if found is None:
            raise NotImplementedError(
                f"Could not run '{self._name}' with arguments from the '{_KEYS.get(device, device)}' "
                f"backend: kernels are registered for {sorted(self.kernels) or 'no device'}."
            )
        return found

    def _check_fresh(self, result, tensors):
        """A result may not be an input or share its memory: its gradient and version would be wrong."""
        if any(r.alias_info for r in self._schema.returns):
            return
        for made in _tensors(result if isinstance(result, (tuple, list)) else (result,)):
            for given in tensors:
                if made is given or _share_memory(made, given):
                    raise RuntimeError(
                        f"{self._name} (with implementation in {self._where()}): The output of this custom "
                        "operator (1) must not also be an input to this custom operator and (2) may not "
                        "alias any inputs to this custom operator or other returns. Please return a clone "
                        "of the offending tensor."
                    )

    def _where(self):
        kernel = next(iter(self.kernels.values()), None)
        return getattr(kernel, "__module__", None) or "an unknown module"


def _share_memory(a, b):
    if not a.numel() or not b.numel() or "cpu" not in (a.device.type, b.device.type):
        return False
    try:
        return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
    except (NotImplementedError, RuntimeError):  # tensors without memory of their own
        return False


def _tensors(values):
    """The tensors among arguments, those in lists included."""
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += [item for item in value if isinstance(item, torch.Tensor)]
    return found


def _make_function(op):
    """The autograd.Function of an operator, with its registered gradient or with one that raises."""

    def regroup(flat, lengths):
        items, grouped = iter(flat), []
        for length in lengths:
            grouped.append(next(items) if length is None else [next(items) for _ in range(length)])
        return grouped

    def forward(ctx, *flat):
        lengths, kwargs = flat[-1]
        args = regroup(flat[:-1], lengths)
        result = op._below_autograd(tuple(args), kwargs)
        ctx._lengths = lengths
        if op.setup_context is not None:
            names = {"keyword_only_inputs": kwargs} if kwargs else {}
            op.setup_context(ctx=ctx, inputs=tuple(args), output=result, **names)
        return tuple(result) if isinstance(result, list) else result

    def backward(ctx, *grads):
        if op.backward is None:
            raise RuntimeError(
                f"Trying to backward through {op._name} but no autograd formula was registered. "
                "If you want it to have one, call torch.library.register_autograd."
            )
        listed = op._schema.returns and op._schema.returns[0].type == "Tensor[]"
        made = op.backward(ctx, list(grads)) if listed else op.backward(ctx, *grads)
        made = made if isinstance(made, tuple) else (made,)
        made += (None,) * (len(ctx._lengths) - len(made))  # for arguments that were left out
        if len(made) > len(ctx._lengths):
            raise RuntimeError(
                f"{op._name}: its backward returned {len(made)} gradients for {len(ctx._lengths)} inputs."
            )
        flat = []
        for grad, length in zip(made, ctx._lengths):
            flat += [grad] if length is None else list(grad) if grad is not None else [None] * length
        return (*flat, None)

    name = f"GeneratedBackwardFor_{op.namespace}_{op._opname}_{op._overloadname}"
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(name, (torch.autograd.Function,), body)


def define(schema, make=CustomOverload):
    """The overload of a FunctionSchema whose name is ``ns::name``; RuntimeError for a second one."""
    namespace, _, name = schema.name.partition("::")
    packet = packets.get((namespace, name)) or OpOverloadPacket(namespace, name, None)
    label = schema.overload_name or "default"
    if label in packet._overloads:
        raise RuntimeError(
            f"Tried to register an operator ({schema}) with the same name and overload name twice."
        )
    made = packet._overloads[label] = make(packet, label, schema)
    if len(packet._overloads) == 1:
        packet._function = made
    else:
        packet._function = lambda *args, **kwargs: _first_that_fits(packet, args, kwargs)
    packets[(namespace, name)] = packet
    made.fake = pending_fakes.pop(made.name(), made.fake)
    made.kernels.update(pending_kernels.pop(made.name(), {}))
    return made


def _first_that_fits(packet, args, kwargs):
    """Calls the first overload that takes the arguments, the default first."""
    order = sorted(packet._overloads.values(), key=lambda o: o._overloadname != "default")
    failed = None
    for overload in order:
        try:
            overload._schema.signature().bind(*args, **kwargs)
            return overload(*args, **kwargs)
        except TypeError as err:
            failed = err
    raise failed


def forget(overload):
    """Takes an operator away again."""
    packet = overload.overloadpacket
    packet._overloads.pop(overload._overloadname, None)
    if not packet._overloads:
        packets.pop((packet._namespace, packet.__name__), None)


__all__ = [
    "CustomOverload",
    "FunctionSchema",
    "define",
    "forget",
    "packets",
    "pending_fakes",
    "pending_kernels",
]
