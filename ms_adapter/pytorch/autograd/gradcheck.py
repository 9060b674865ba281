"""gradcheck: compares a function's gradients with finite differences, one element at a time."""

import itertools

import ms_adapter.pytorch as torch

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """A gradient that does not agree with finite differences, or that could not be checked."""


def _tensors(value):
    return (value,) if isinstance(value, torch.Tensor) else tuple(value)


def _differentiable(tensors):
    return [t for t in tensors if isinstance(t, torch.Tensor) and t.requires_grad]


def _outputs(func, inputs):
    made = _tensors(func(*inputs))
    return [
        out for out in made if isinstance(out, torch.Tensor) and (out.is_floating_point() or out.is_complex())
    ]


def _check_inputs(inputs):
    wanted = _differentiable(inputs)
    if not wanted:
        raise ValueError(
            "gradcheck expects at least one input tensor to have requires_grad=True, but none of the them "
            "have."
        )
    for tensor in wanted:
        if tensor.dtype not in (torch.float64, torch.complex128):
            raise ValueError(
                f"gradcheck: an input requires gradient and is {tensor.dtype}; finite differences need "
                "double precision: pass float64 or complex128."
            )
        expanded = any(
            stride == 0 and size > 1 for stride, size in zip(tensor.stride(), tensor.shape, strict=True)
        )
        if expanded:
            raise RuntimeError(
                "The input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You should call "
                ".contiguous on the input before passing it to gradcheck."
            )
    return wanted


def _numerical(func, inputs, wanted, eps):
    """For each input and output, the Jacobian by central differences: (input elements, output elements).

    For complex inputs it is the conjugate Wirtinger derivative's two real parts folded into the gradient's
    convention.
    """
    columns = []
    with torch.no_grad():
        for tensor in wanted:
            rows = []
            for place in itertools.product(*map(range, tensor.shape)):
                along_real = _difference(func, inputs, tensor, place, eps, eps)
                along_imag = (
                    _difference(func, inputs, tensor, place, eps * 1j, eps) if tensor.is_complex() else None
                )
                rows.append((along_real, along_imag))
            columns.append(rows)
    return columns


def _difference(func, inputs, tensor, place, step, eps):
    """The outputs' changes when the elements at ``place`` move by ``step``, for each ``eps`` of it."""
    data = tensor.data
    kept = data[place].clone()
    data[place] = kept + step
    above = [out.clone() for out in _outputs(func, inputs)]
    data[place] = kept - step
    below = [out.clone() for out in _outputs(func, inputs)]
    data[place] = kept
    return [(a - b) / (2 * eps) for a, b in zip(above, below, strict=True)]


def _expected(rows, index, weight, tensor):
    """The gradient of ``Re(conj(weight) . output[index])`` from the finite differences."""
    values = []
    for along_real, along_imag in rows:
        real = (weight.conj() * along_real[index]).sum()
        real = real.real if real.is_complex() else real
        if along_imag is None:
            values.append(real.item())
        else:
            imag = (weight.conj() * along_imag[index]).sum()
            imag = imag.real if imag.is_complex() else imag
            values.append(complex(real.item(), imag.item()))
    return torch.tensor(values, dtype=tensor.dtype).reshape(tensor.shape)


def _weights(out):
    """Output gradients to try: a one in each element, and for complex outputs an i too."""
    units = (1, 1j) if out.is_complex() else (1,)
    for unit in units:
        for place in itertools.product(*map(range, out.shape)):
            weight = torch.zeros_like(out.detach(), memory_format=torch.contiguous_format)
            weight[place] = unit
            yield weight


def _compare(got, expected, where, atol, rtol):
    gap, limit = (got - expected).abs(), atol + rtol * expected.abs()
    if not bool((gap <= limit).all()):
        raise GradcheckError(f"Jacobian mismatch for {where},\nnumerical:{expected}\nanalytical:{got}\n")


def gradcheck(
    func,
    inputs,
    *,
    eps=1e-06,
    atol=1e-05,
    rtol=0.001,
    raise_exception=True,
    nondet_tol=0.0,
    check_undefined_grad=True,
    check_grad_dtypes=False,
    check_batched_grad=False,
    check_batched_forward_grad=False,
    check_forward_ad=False,
    check_backward_ad=True,
    fast_mode=False,
    masked=None,
):
    """Whether the gradients of ``func(*inputs)`` agree with finite differences; raises GradcheckError where
    not.

    Args:
        func: takes the inputs and returns a tensor or a tuple of them.
        inputs: tensors; those that require gradients must be float64 or complex128.
        raise_exception: ``False`` returns False in place of raising.
        fast_mode: compares along one random direction of each input instead of element by element.

    >>> import ms_adapter.pytorch as torch
    >>> torch.autograd.gradcheck(torch.sin, torch.tensor([0.5], dtype=torch.float64, requires_grad=True))
    True
    """
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Expected check_forward_ad=True when check_batched_forward_grad=True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Expected check_backward_ad=True when check_batched_grad=True")
    inputs = _tensors(inputs)
    try:
        wanted = _check_inputs(inputs)
        if check_backward_ad and fast_mode:
            _check_along(func, inputs, wanted, eps, atol, rtol, forward=False)
        elif check_backward_ad:
            _check_backward(func, inputs, wanted, eps, atol, rtol, nondet_tol, check_undefined_grad)
        if check_forward_ad and fast_mode:
            _check_along(func, inputs, wanted, eps, atol, rtol, forward=True)
        elif check_forward_ad:
            _check_forward(func, inputs, wanted, eps, atol, rtol)
        if check_batched_grad:
            _check_batched_backward(func, inputs, wanted, atol, rtol)
        if check_batched_forward_grad:
            _check_batched_forward(func, inputs, wanted, atol, rtol)
    except (GradcheckError, RuntimeError):
        if raise_exception:
            raise
        return False
    return True


def _check_backward(func, inputs, wanted, eps, atol, rtol, nondet_tol, check_undefined_grad):
    outputs = _outputs(func, inputs)
    columns = _numerical(func, inputs, wanted, eps)
    for index, out in enumerate(outputs):
        if not out.requires_grad:
            for rows, tensor in zip(columns, wanted, strict=True):
                for weight in _weights(out):
                    numerical = _expected(rows, index, weight, tensor)
                    _compare(
                        torch.zeros_like(numerical), numerical, f"output {index} without gradient", atol, rtol
                    )
            continue
        for weight in _weights(out):
            grads, again = (
                torch.autograd.grad(out, wanted, weight, retain_graph=True, allow_unused=True)
                for _ in range(2)
            )
            for place, (got, twice, tensor) in enumerate(zip(grads, again, wanted, strict=True)):
                numerical = _expected(columns[place], index, weight, tensor)
                got = torch.zeros_like(numerical) if got is None else got
                twice = got if twice is None else twice
                if got.numel() and (got - twice).abs().max().item() > nondet_tol:
                    raise GradcheckError(
                        f"Backward is not reentrant: input {place} got two different gradients."
                    )
                if got.shape != tensor.shape:
                    raise GradcheckError(
                        f"grad is incorrect size: {got.shape} for an input of {tensor.shape}"
                    )
                _compare(got, numerical, f"output {index} with respect to input {place}", atol, rtol)
    if check_undefined_grad and len(outputs) > 1:
        _check_undefined(outputs, wanted)


def _direction(tensor, generator):
    """A random tensor of norm 1."""
    made = torch.randn(tensor.shape, dtype=tensor.dtype, generator=generator)
    return made / made.norm()


def _product(weight, change):
    """``Re(<weight, change>)``: by how much the weighted sum changes."""
    total = (weight.conj() * change).sum()
    return total.real if total.is_complex() else total


def _check_along(func, inputs, wanted, eps, atol, rtol, forward):
    """The fast mode: each Jacobian between one random direction of an input and one of an output."""
    generator = torch.Generator()
    generator.manual_seed(0)
    outputs = _outputs(func, inputs)
    weights = [_direction(out, generator) for out in outputs]
    for place, tensor in enumerate(wanted):
        along = _direction(tensor, generator)
        with torch.no_grad():
            changes = _difference(func, inputs, tensor, ..., eps * along, eps)
        moved = _moved(func, inputs, tensor, along) if forward else changes
        for index, (out, weight) in enumerate(zip(outputs, weights, strict=True)):
            numerical = _product(weight, changes[index])
            if forward:
                analytical = _product(weight, moved[index].detach())
            elif out.requires_grad:
                (grad,) = torch.autograd.grad(out, tensor, weight, retain_graph=True, allow_unused=True)
                analytical = _product(along, torch.zeros_like(along) if grad is None else grad)
            else:
                analytical = torch.zeros_like(numerical)
            entries = weight.abs().sum() * along.abs().sum()  # each of which may be off by atol
            where = f"output {index} with respect to input {place}, in fast mode"
            _compare(analytical, numerical, where, atol * entries.item(), rtol)


def _moved(func, inputs, tensor, tangent):
    """The outputs' changes when ``tensor`` moves along ``tangent``, by forward-mode AD."""
    ad = torch.autograd.forward_ad
    with ad.dual_level():
        given = [ad.make_dual(x, tangent) if x is tensor else x for x in inputs]
        pairs = [ad.unpack_dual(out) for out in _outputs(func, given)]
    return [torch.zeros_like(p) if t is None else t for p, t in pairs]


def _check_forward(func, inputs, wanted, eps, atol, rtol):
    columns = _numerical(func, inputs, wanted, eps)
    for index, (tensor, rows) in enumerate(zip(wanted, columns, strict=True)):
        for place, differences in zip(itertools.product(*map(range, tensor.shape)), rows, strict=True):
            for unit, expected in zip((1, 1j), differences, strict=True):
                if expected is None:
                    continue
                tangent = torch.zeros_like(tensor.detach(), memory_format=torch.contiguous_format)
                tangent[place] = unit
                for got, want in zip(_moved(func, inputs, tensor, tangent), expected, strict=True):
                    _compare(got.detach(), want, f"input {index}, by forward-mode AD", atol, rtol)


def _two_like(tensor):
    return torch.randn(2, *tensor.shape, dtype=tensor.dtype, device=tensor.device)


def _check_batched_backward(func, inputs, wanted, atol, rtol):
    for out in _outputs(func, inputs):
        if not out.requires_grad:
            continue
        weights = _two_like(out)
        options = {"retain_graph": True, "allow_unused": True}
        mapped = torch.autograd.grad(out, wanted, weights, is_grads_batched=True, **options)
        each = [torch.autograd.grad(out, wanted, w, **options) for w in weights]
        for got, *rows in zip(mapped, *each, strict=True):
            if got is not None:
                _compare(got, torch.stack(rows), "gradients under vmap", atol, rtol)


def _check_batched_forward(func, inputs, wanted, atol, rtol):
    for tensor in wanted:
        tangents = _two_like(tensor)
        mapped = torch.vmap(lambda t, x=tensor: tuple(_moved(func, inputs, x, t)))(tangents)
        each = [_moved(func, inputs, tensor, t) for t in tangents]
        for got, *rows in zip(mapped, *each, strict=True):
            _compare(got.detach(), torch.stack(rows).detach(), "forward-mode AD under vmap", atol, rtol)


def _check_undefined(outputs, wanted):
    """Backward must also run when only some of the outputs have a gradient."""
    for out in outputs:
        if out.requires_grad:
            torch.autograd.grad(out, wanted, torch.ones_like(out), retain_graph=True, allow_unused=True)


def gradgradcheck(
    func,
    inputs,
    grad_outputs=None,
    *,
    eps=1e-06,
    atol=1e-05,
    rtol=0.001,
    gen_non_contig_grad_outputs=False,
    raise_exception=True,
    nondet_tol=0.0,
    check_undefined_grad=True,
    check_grad_dtypes=False,
    check_batched_grad=False,
    check_fwd_over_rev=False,
    check_rev_over_rev=True,
    fast_mode=False,
    masked=False,
):
    """Whether the second derivatives of ``func(*inputs)`` agree with finite differences of the first.

    >>> import ms_adapter.pytorch as torch
    >>> torch.autograd.gradgradcheck(torch.sin, torch.tensor([0.5], dtype=torch.float64, requires_grad=True))
    True
    """
    inputs = _tensors(inputs)
    outputs = _outputs(func, inputs)
    if grad_outputs is None:
        grad_outputs = [torch.randn_like(out.detach()).requires_grad_() for out in outputs]
    grad_outputs = _tensors(grad_outputs)
    count = len(inputs)

    @torch.enable_grad()  # finite differences are taken without recording
    def first_derivatives(*args):
        wanted = _differentiable(args[:count])
        outs = _outputs(func, args[:count])
        pairs = [(out, grad) for out, grad in zip(outs, args[count:], strict=True) if out.requires_grad]
        grads = torch.autograd.grad(
            [out for out, _ in pairs],
            wanted,
            [grad for _, grad in pairs],
            create_graph=True,
            allow_unused=True,
        )
        return tuple(grad for grad in grads if grad is not None)

    return gradcheck(
        first_derivatives,
        (*inputs, *grad_outputs),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
    )
