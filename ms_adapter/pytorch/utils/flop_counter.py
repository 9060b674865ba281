"""Counts floating point operations of what runs, by module and by operator."""

import collections
import functools
import math

import ms_adapter.pytorch as torch

from ._python_dispatch import TorchDispatchMode

__all__ = ["FlopCounterMode", "flop_registry", "register_flop_formula"]

_aten, _msa = torch.ops.aten, torch.ops.msa
flop_registry = {}


def register_flop_formula(targets, get_raw=False):
    """Decorates ``formula(*shapes, out_shape=..., **kwargs)``, the operations of one call of ``targets``.

    Tensors are given as their shapes; with ``get_raw`` as they are, and the result as ``out_val``.
    """

    def register(formula):
        @functools.wraps(formula)
        def by_shapes(*args, out_val=None, **kwargs):
            if get_raw:
                return formula(*args, out_val=out_val, **kwargs)
            args, kwargs, out = torch.utils._pytree.tree_map(_shape, (args, kwargs, out_val))
            return formula(*args, out_shape=out, **kwargs)

        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = by_shapes
        return formula

    return register


def _shape(value):
    return value.shape if isinstance(value, torch.Tensor) else value


def _product(left, right):
    *batch, m, k = left
    return math.prod(batch) * m * k * right[-1] * 2


@register_flop_formula(_aten.mm)
def mm_flop(a_shape, b_shape, *args, out_shape=None, **kwargs):
    """A product of matrices: a multiplication and an addition for each term."""
    return _product(a_shape, b_shape)


@register_flop_formula(_aten.addmm)
def addmm_flop(self_shape, a_shape, b_shape, *args, out_shape=None, **kwargs):
    """The same; the sum with the first argument is not counted, as in PyTorch."""
    return _product(a_shape, b_shape)


@register_flop_formula(_aten.bmm)
def bmm_flop(a_shape, b_shape, *args, out_shape=None, **kwargs):
    """Products of batches of matrices."""
    return _product(a_shape, b_shape)


@register_flop_formula(_aten.baddbmm)
def baddbmm_flop(self_shape, a_shape, b_shape, *args, out_shape=None, **kwargs):
    """The same with a sum."""
    return _product(a_shape, b_shape)


@register_flop_formula(_aten.linear)
def linear_flop(x_shape, w_shape, *args, out_shape=None, **kwargs):
    """A linear layer; the bias is not counted."""
    return math.prod(x_shape) * w_shape[0] * 2


@register_flop_formula(_aten.matmul)
def matmul_flop(a_shape, b_shape, *args, out_shape=None, **kwargs):
    """A product of any number of dimensions; those with a vector are not counted, as in PyTorch."""
    if len(a_shape) < 2 or len(b_shape) < 2:
        return 0
    return math.prod(out_shape) * a_shape[-1] * 2


@register_flop_formula([_aten.dot, _aten.mv])
def mv_flop(a_shape, b_shape, *args, out_shape=None, **kwargs):
    """Products with a vector: PyTorch does not count them."""
    return 0


def _conv_flop_count(positions_shape, w_shape, groups):
    """Each of ``positions_shape``'s elements takes part in the products of one output channel's weights."""
    return math.prod(positions_shape) * math.prod(w_shape[1:]) * 2


@register_flop_formula(_msa._conv)
def conv_flop(x_shape, w_shape, bias, stride, padding, dilation, groups, *args, out_shape=None, **kwargs):
    """A convolution, over its output's positions."""
    return _conv_flop_count(out_shape, w_shape, groups)


@register_flop_formula(_msa._conv_input_grad)
def conv_input_grad_flop(grad_shape, w_shape, *args, out_shape=None, **kwargs):
    """Its gradient by the input (also a transposed convolution), over the gradient's positions."""
    return _conv_flop_count(grad_shape, w_shape, 1)


@register_flop_formula(_msa._conv_weight_grad)
def conv_weight_grad_flop(grad_shape, x_shape, *args, out_shape=None, **kwargs):
    """Its gradient by the weight, over the gradient's positions."""
    return _conv_flop_count(grad_shape, out_shape, 1)


@register_flop_formula(_msa._attention)
def attention_flop(query_shape, key_shape, value_shape, *args, out_shape=None, **kwargs):
    """Attention: the products of queries and keys, and of their scores and values."""
    *batch, q, d = query_shape
    k, v = key_shape[-2], value_shape[-1]
    return math.prod(batch) * (q * k * d + q * k * v) * 2


class FlopCounterMode:
    """Counts inside a with block; ``display=False`` prints no table at its end.

    Products of matrices, convolutions and attention are counted, by modules where ``nn.Module`` objects are
    called.

    >>> import ms_adapter.pytorch as torch
    >>> from ms_adapter.pytorch.utils.flop_counter import FlopCounterMode
    >>> layer = torch.nn.Linear(3, 4)
    >>> with FlopCounterMode(display=False) as counter:
    ...     _ = layer(torch.ones(2, 3))
    >>> counter.get_total_flops()
    48
    """

    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None):
        self.flop_counts = collections.defaultdict(lambda: collections.defaultdict(int))
        self.depth, self.display = depth, display
        self.flop_registry = {**flop_registry, **(custom_mapping or {})}
        self._parents = ["Global"]

    def get_total_flops(self):
        """All operations counted."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self):
        """{module's name: {operator: operations}}."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth=None):
        """A table of the modules down to a depth, as text."""
        depth = self.depth if depth is None else depth
        total = max(1, self.get_total_flops())
        rows = [("Module", "FLOP", "% Total")]
        for name, counts in self.flop_counts.items():
            level = name.count(".") + (name != "Global")
            if level > depth:
                continue
            for label, count in [
                (name, sum(counts.values())),
                *((f" - {op}", n) for op, n in counts.items()),
            ]:
                rows.append(("  " * level + str(label), _short(count), f"{100 * count / total:.2f}%"))
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        rows.insert(1, tuple("-" * width for width in widths))
        return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in rows)

    def __enter__(self):
        self.flop_counts.clear()
        self._mode = _Counting(self)
        self._hooks = [
            torch.nn.modules.module.register_module_forward_pre_hook(self._enter_module),
            torch.nn.modules.module.register_module_forward_hook(self._leave_module, always_call=True),
        ]
        self._names, self._roots = {}, []
        self._mode.__enter__()
        return self

    def __exit__(self, *exc_info):
        self._mode.__exit__(*exc_info)
        for hook in self._hooks:
            hook.remove()
        if self.display:
            print(self.get_table(self.depth))

    def _enter_module(self, module, inputs):
        if module not in self._names:
            root = type(module).__name__
            for name, inner in module.named_modules(prefix=root):
                self._names.setdefault(inner, name)
        self._parents.append(self._names[module])

    def _leave_module(self, module, inputs, output):
        self._parents.pop()

    def _count(self, packet, result, args, kwargs):
        formula = self.flop_registry.get(packet)
        if formula is None:
            return
        count = formula(*args, **kwargs, out_val=result)
        for name in set(self._parents):
            self.flop_counts[name][packet] += count


class _Counting(TorchDispatchMode):
    def __init__(self, counter):
        super().__init__()
        self.counter = counter

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        self.counter._count(func.overloadpacket, result, args, kwargs)
        return result


def _short(count):
    """1234567 as 1.235M."""
    for size, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K")):
        if count >= size:
            return f"{count / size:.3f}{letter}"
    return str(count)
