"""torch._foreach_*: an operator over lists of tensors, one tensor after another, as optimizers call it.

Every name is made of its operator's: ``_foreach_add_(tensors, others)`` calls ``tensor.add_(other)`` for each
pair; what is no list goes to all of them.
"""

import ms_adapter.pytorch as torch

_UNARY = {
    "abs",
    "acos",
    "asin",
    "atan",
    "ceil",
    "clone",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "expm1",
    "floor",
}
_UNARY |= {
    "frac",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "neg",
    "reciprocal",
    "round",
    "rsqrt",
    "sigmoid",
}
_UNARY |= {"sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc", "zero"}
_OTHERS = {"add", "addcdiv", "addcmul", "clamp_max", "clamp_min", "copy", "div", "lerp", "max", "maximum"}
_OTHERS |= {"minimum", "mul", "norm", "pow", "sub"}
_ONLY_NEW, _ONLY_INPLACE = {"clone", "max", "norm"}, {"copy", "zero"}
_METHODS = {"maximum_": "clamp_min_", "minimum_": "clamp_max_"}  # Tensor has no maximum_
_SCALED = {"addcdiv", "addcmul"}  # their last argument is a number, or a list of them


def _each(values, count):
    """What goes to each of ``count`` calls."""
    if isinstance(values, (list, tuple)):
        if len(values) != count:
            raise RuntimeError(
                f"Tensor lists must have the same number of tensors, got {count} and {len(values)}"
            )
        return values
    if isinstance(values, torch.Tensor) and values.dim() == 1 and values.numel() == count:
        return values.unbind(0)
    return [values] * count


def _call(name, inplace):
    method = name + "_" * inplace
    public = f"_foreach_{method}"

    def one(tensor, *args, **kwargs):
        if name == "norm":
            return torch.linalg.vector_norm(tensor, *args, **kwargs)
        if name == "pow" and not isinstance(tensor, torch.Tensor):
            return torch.pow(tensor, *args)
        if name in _SCALED and len(args) == 3:
            *args, value = args
            kwargs = {"value": value.item() if isinstance(value, torch.Tensor) else value}
        return getattr(tensor, _METHODS.get(method, method))(*args, **kwargs)

    def foreach(tensors, *args, **kwargs):
        if not isinstance(tensors, (list, tuple)):  # pow with a number as its base
            tensors = [tensors] * len(args[0])
        count = len(tensors)
        columns = [_each(arg, count) for arg in args]
        words = {key: _each(value, count) for key, value in kwargs.items()}
        made = [
            one(tensor, *(column[i] for column in columns), **{key: value[i] for key, value in words.items()})
            for i, tensor in enumerate(tensors)
        ]
        return tensors if inplace else tuple(made)

    foreach.__name__ = foreach.__qualname__ = public
    foreach.__doc__ = f"``{method}`` for each tensor of a list."
    return public, foreach


FUNCTIONS = dict(
    _call(name, inplace)
    for name in [*_UNARY, *_OTHERS]
    for inplace in (False, True)
    if name not in (_ONLY_NEW if inplace else _ONLY_INPLACE)
)
