"""torch.autograd.functional: products with Jacobians and Hessians, and those themselves."""

import ms_adapter.pytorch as torch
from ms_adapter import _C

Tensor = _C.Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def _tuple_of_tensors(value, what, who):
    single = not isinstance(value, tuple)
    values = (value,) if single else value
    for i, one in enumerate(values):
        if not isinstance(one, Tensor):
            where = f"value at index {i}" if not single else "value"
            raise TypeError(
                f"The {what} given to {who} must be either a Tensor or a tuple of Tensors but the given "
                f"{where} has type {type(one)}."
            )
    return not single, values


def _inputs(inputs, who, create_graph):
    """Whether a tuple was given, and the inputs as new tensors to differentiate by."""
    is_tuple, values = _tuple_of_tensors(inputs, "inputs", who)
    if create_graph:
        return is_tuple, tuple(
            x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in values
        )
    return is_tuple, tuple(x.detach().requires_grad_() for x in values)


def _call(func, inputs, who):
    return _tuple_of_tensors(func(*inputs), "outputs of the user-provided function", who)


def _vector(v, like, who, side):
    if v is None:
        if len(like) != 1 or like[0].nelement() != 1:
            raise RuntimeError(
                f"The vector v can only be None if the {side} is a single Tensor with a single element: "
                f"{who} needs it"
            )
        return (torch.ones_like(like[0]),)
    _, values = _tuple_of_tensors(v, "v", who)
    if len(values) != len(like):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(values)}.")
    for i, (one, other) in enumerate(zip(values, like, strict=True)):
        if one.shape != other.shape:
            raise RuntimeError(
                f"Entry {i} in v has invalid size: should be {other.shape} but got {one.shape}."
            )
    return values


def _grad(outputs, inputs, weights, create_graph):
    """Gradients, None where an input is not used; outputs without a history count for nothing."""
    pairs = [(o, w) for o, w in zip(outputs, weights, strict=True) if o is not None and o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    outs, given = zip(*pairs, strict=True)
    return torch.autograd.grad(
        outs, inputs, given, retain_graph=True, create_graph=create_graph, allow_unused=True
    )


def _filled(grads, like, strict, who, create_graph):
    """Zeros for what is missing; with ``strict`` an error."""
    for i, g in enumerate(grads):
        if strict and g is None:
            raise RuntimeError(
                f"The output of the user-provided function is independent of input {i}. This is not allowed "
                f"in strict mode ({who})."
            )
        if strict and create_graph and not g.requires_grad:
            raise RuntimeError(
                f"The derivative of the user-provided function is independent of input {i}. This is not "
                f"allowed in strict mode when create_graph=True ({who})."
            )
    return tuple(torch.zeros_like(x) if g is None else g for g, x in zip(grads, like, strict=True))


def _check_outputs(outputs, strict, who):
    for i, out in enumerate(outputs):
        if strict and not out.requires_grad:
            raise RuntimeError(
                f"Output {i} of the user-provided function does not require gradients. The outputs must be "
                f"computed in a differentiable manner from the input when running in strict mode ({who})."
            )


def _result(values, is_tuple, create_graph):
    if not create_graph:
        values = tuple(v.detach() for v in values)
    return tuple(values) if is_tuple else values[0]


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """``(func(*inputs), v^T J)``: the outputs, and their gradients weighted by ``v``.

    >>> import ms_adapter.pytorch as torch
    >>> torch.autograd.functional.vjp(torch.exp, torch.zeros(2), torch.tensor([1.0, 2.0]))[1]
    tensor([1., 2.])
    """
    with torch.enable_grad():
        is_tuple, xs = _inputs(inputs, "vjp", create_graph)
        out_tuple, outputs = _call(func, xs, "vjp")
        _check_outputs(outputs, strict, "vjp")
        weights = _vector(v, outputs, "vjp", "output")
    enable = create_graph or torch.is_grad_enabled()
    with torch.set_grad_enabled(enable):
        grads = _filled(_grad(outputs, xs, weights, create_graph), xs, strict, "vjp", create_graph)
    return _result(outputs, out_tuple, create_graph), _result(grads, is_tuple, create_graph)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """``(func(*inputs), J v)``: the outputs, and their change along ``v``, by two backward passes.

    >>> import ms_adapter.pytorch as torch
    >>> torch.autograd.functional.jvp(torch.exp, torch.zeros(2), torch.tensor([1.0, 2.0]))[1]
    tensor([1., 2.])
    """
    with torch.enable_grad():
        is_tuple, xs = _inputs(inputs, "jvp", create_graph)
        along = _vector(v, xs, "jvp", "input")
        out_tuple, outputs = _call(func, xs, "jvp")
        _check_outputs(outputs, strict, "jvp")
        weights = tuple(torch.zeros_like(out, requires_grad=True) for out in outputs)
        pulled = _filled(_grad(outputs, xs, weights, True), xs, strict, "jvp", True)
        moved = _grad(pulled, weights, along, create_graph)
        moved = _filled(moved, outputs, strict, "jvp", create_graph)
    return _result(outputs, out_tuple, create_graph), _result(moved, out_tuple, create_graph)


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """The Jacobian of ``func``: shape ``(*output.shape, *input.shape)``; tuples where tuples came in or out.

    Args:
        vectorize: all rows in one mapped backward.
        strategy: ``"forward-mode"`` goes by columns, with ``vectorize`` only.

    >>> import ms_adapter.pytorch as torch
    >>> torch.autograd.functional.jacobian(torch.exp, torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function '
            "has more outputs "
            'than inputs, "forward-mode" tends to be more performant.'
        )
    if strategy == "forward-mode":
        return _jacobian_forward(func, inputs, create_graph, strict, vectorize)
    with torch.enable_grad():
        is_tuple, xs = _inputs(inputs, "jacobian", create_graph)
        out_tuple, outputs = _call(func, xs, "jacobian")
        _check_outputs(outputs, strict, "jacobian")
        if vectorize and strict:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not "
                "supported together."
            )
        rows_of = _mapped_rows if vectorize else _rows
        cells = [rows_of(out, xs, create_graph, strict) for out in outputs]
    shaped = [
        [c.reshape(*out.shape, *x.shape) for c, x in zip(row, xs, strict=True)]
        for row, out in zip(cells, outputs, strict=True)
    ]
    return _nested(shaped, out_tuple, is_tuple, create_graph)


def _nested(cells, out_tuple, is_tuple, create_graph):
    rows = tuple(_result(tuple(row), is_tuple, create_graph) for row in cells)
    return rows if out_tuple else rows[0]


def _rows(out, xs, create_graph, strict):
    columns = [[] for _ in xs]
    for place in range(out.nelement()):
        unit = torch.zeros(out.nelement(), dtype=out.dtype, device=out.device)
        unit[place] = 1
        grads = _grad((out,), xs, (unit.view(out.shape),), create_graph)
        grads = _filled(grads, xs, strict, "jacobian", create_graph)
        for column, g in zip(columns, grads, strict=True):
            column.append(g)
    return [
        torch.stack(column) if column else x.new_zeros((0, *x.shape))
        for column, x in zip(columns, xs, strict=True)
    ]


def _mapped_rows(out, xs, create_graph, strict):
    units = torch.eye(out.nelement(), dtype=out.dtype, device=out.device).view(-1, *out.shape)
    if not out.requires_grad or not out.nelement():
        return [x.new_zeros((out.nelement(), *x.shape)) for x in xs]
    rows = torch.autograd.grad(
        out, xs, units, create_graph=create_graph, retain_graph=True, allow_unused=True, is_grads_batched=True
    )
    return [
        x.new_zeros((out.nelement(), *x.shape)) if r is None else r for r, x in zip(rows, xs, strict=True)
    ]


def _jacobian_forward(func, inputs, create_graph, strict, vectorize):
    if strict:
        raise NotImplementedError(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not '
            "supported together "
            '(yet). Please either set `strict=False` or `strategy="reverse-mode"`.'
        )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for "
            "`vectorize=True`."
        )
    is_tuple, values = _tuple_of_tensors(inputs, "inputs", "jacobian")
    xs = values if create_graph else tuple(x.detach() for x in values)
    seen = {}

    def of_inputs(*given):
        seen["tuple"], outputs = _call(func, given, "jacobian")
        return outputs

    columns = torch.func.jacfwd(of_inputs, argnums=tuple(range(len(xs))))(*xs)
    return _nested(columns, seen["tuple"], is_tuple, create_graph)


def _scalar_of(func, who):
    def checked(*inputs):
        out_tuple, outputs = _call(func, inputs, who)
        if out_tuple or outputs[0].nelement() != 1:
            raise RuntimeError(
                f"The function given to {who} should return a single Tensor with a single element, not "
                f"{len(outputs)} of shape {tuple(outputs[0].shape)}"
            )
        return outputs[0].reshape(())

    return checked


def hessian(
    func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"
):
    """The second derivatives of ``func``, whose output is one number: ``(*input.shape, *input.shape)``.

    >>> import ms_adapter.pytorch as torch
    >>> torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    is_tuple, _ = _tuple_of_tensors(inputs, "inputs", "hessian")
    scalar = _scalar_of(func, "hessian")

    def gradient(*xs):
        if outer_jacobian_strategy == "forward-mode":
            return torch.func.grad(scalar, argnums=tuple(range(len(xs))))(*xs)
        return jacobian(scalar, xs, create_graph=True, strict=strict)

    result = jacobian(
        gradient,
        inputs,
        create_graph=create_graph,
        strict=strict,
        vectorize=vectorize,
        strategy=outer_jacobian_strategy,
    )
    return result if is_tuple else result[0]


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """``(func(*inputs), v^T H)``: the value, and the product of ``v`` with the second derivatives.

    >>> import ms_adapter.pytorch as torch
    >>> torch.autograd.functional.vhp(lambda x: (x ** 3).sum(), torch.ones(2), torch.ones(2))[1]
    tensor([6., 6.])
    """
    with torch.enable_grad():
        is_tuple, xs = _inputs(inputs, "vhp", create_graph)
        weights = _vector(v, xs, "vhp", "input")
        value = _scalar_of(func, "vhp")(*xs)
        _check_outputs((value,), strict, "vhp")
        first = _filled(_grad((value,), xs, (None,), True), xs, strict, "vhp", True)
        products = _filled(_grad(first, xs, weights, create_graph), xs, strict, "vhp", create_graph)
    return _result((value,), False, create_graph), _result(products, is_tuple, create_graph)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """``(func(*inputs), H v)``: as :func:`vhp`, by a third backward pass.

    >>> import ms_adapter.pytorch as torch
    >>> torch.autograd.functional.hvp(lambda x: (x ** 3).sum(), torch.ones(2), torch.ones(2))[1]
    tensor([6., 6.])
    """
    with torch.enable_grad():
        is_tuple, xs = _inputs(inputs, "hvp", create_graph)
        along = _vector(v, xs, "hvp", "input")
        value = _scalar_of(func, "hvp")(*xs)
        _check_outputs((value,), strict, "hvp")
        first = _filled(_grad((value,), xs, (None,), True), xs, strict, "hvp", True)
        weights = tuple(torch.zeros_like(x, requires_grad=True) for x in xs)
        pulled = _filled(_grad(first, xs, weights, True), xs, strict, "hvp", True)
        products = _grad(pulled, weights, along, create_graph)
        products = _filled(products, xs, strict, "hvp", create_graph)
    return _result((value,), False, create_graph), _result(products, is_tuple, create_graph)
