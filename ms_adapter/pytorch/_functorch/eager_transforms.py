"""Gradients of functions: grad, vjp, jvp and what is made of them."""

import functools

import ms_adapter.pytorch as torch
from ms_adapter import _C

from ..utils import _pytree as pytree
from ._shared import Gradients, chosen_arguments, split_aux, tensors_in, transformed, with_arguments
from .vmap import vmap

_native = _C.transforms


def _scalar_output(output, who):
    if not isinstance(output, torch.Tensor):
        raise RuntimeError(f"{who}: Expected f(*args) to return a Tensor, got {type(output)}")
    if output.dim() != 0:
        raise RuntimeError(
            f"{who}: Expected f(*args) to return a scalar tensor, got tensor with {output.dim()} dims. Maybe "
            "you wanted to use the vjp or jacrev APIs instead?"
        )
    return output


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that returns ``(gradients, value)`` of ``func``, whose output is one number.

    Args:
        argnums: the argument to differentiate by, or a tuple of them; each is a tensor or a tree.
        has_aux: ``func`` returns ``(value, aux)``; then so does the result: ``(gradients, (value, aux))``.

    >>> import ms_adapter.pytorch as torch
    >>> torch.func.grad_and_value(lambda x: (x * x).sum())(torch.tensor([1.0, 2.0]))
    (tensor([2., 4.]), tensor(5.))
    """
    who = "grad_and_value(f)(*args)"

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        level = Gradients(chosen_arguments(args, argnums), who, "the chosen arguments")
        aux = None
        with torch.enable_grad():
            output = transformed(func, *with_arguments(args, argnums, level.tree), **kwargs)
            if has_aux:
                output, aux = split_aux(output, who)
        level.looked_at((_scalar_output(output, who),))
        with torch.set_grad_enabled(level.outer):
            grads = level.settled(level.of((output,), (torch.ones_like(_native.settle(output)),), keep=False))
        output = level.settled(output)
        return (grads, (output, level.settled(aux))) if has_aux else (grads, output)

    return wrapper


def grad(func, argnums=0, has_aux=False):
    """A function that returns the gradient of ``func``, whose output is one number.

    Args:
        argnums: the argument to differentiate by, or a tuple of them; each is a tensor or a tree.
        has_aux: ``func`` returns ``(value, aux)``; the result returns ``(gradient, aux)``.

    It nests, and maps: ``vmap(grad(f), in_dims=(None, 0))`` gives the gradients of every example. Under
    ``torch.no_grad()`` it still differentiates; a ``no_grad`` inside ``func`` holds.

    >>> import ms_adapter.pytorch as torch
    >>> torch.func.grad(torch.func.grad(torch.sin))(torch.tensor(0.0)).abs()
    tensor(0.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        grads, value = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return wrapper


def vjp(func, *primals, has_aux=False):
    """``(func(*primals), vjp_fn)``: ``vjp_fn`` takes cotangents like the output and gives gradients.

    With ``has_aux`` ``func`` returns ``(output, aux)`` and the result is ``(output, vjp_fn, aux)``.

    >>> import ms_adapter.pytorch as torch
    >>> value, back = torch.func.vjp(torch.sin, torch.tensor([0.0]))
    >>> back(torch.tensor([2.0]))
    (tensor([2.]),)
    """
    level = Gradients(primals, "vjp(f, *primals)", "primals")
    aux = None
    with torch.enable_grad():
        output = transformed(func, *level.tree)
        if has_aux:
            output, aux = split_aux(output, "vjp(f, *primals)")
    flat, spec = tensors_in(output, "vjp(f, *primals)", "the output of f")
    level.looked_at(flat)

    def vjp_fn(cotangents, retain_graph=True, create_graph=None):
        given, given_spec = pytree.tree_flatten(cotangents)
        if given_spec != spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to "
                f"the function. cotangents: {given_spec}, primal output: {spec}"
            )
        enabled = torch.is_grad_enabled() if create_graph is None else create_graph
        with torch.set_grad_enabled(enabled):
            grads = level.of(flat, given, keep=retain_graph)
        tracked = enabled and any(map(_native.tracks, given))
        return grads if tracked else level.settled(grads)

    output = level.settled(output)
    return (output, vjp_fn, level.settled(aux)) if has_aux else (output, vjp_fn)


def _same_structure(primals, tangents, who):
    flat, spec = tensors_in(primals, who, "primals")
    given, given_spec = tensors_in(tangents, who, "tangents")
    if spec != given_spec:
        raise RuntimeError(
            f"{who}: Expected primals and tangents to have the same python structure. For example, if "
            f"primals is a tuple of 3 tensors, tangents also must be. Got primals with structure {spec} and "
            f"tangents with structure {given_spec}"
        )
    for primal, tangent in zip(flat, given, strict=True):
        if primal.shape != tangent.shape:
            raise RuntimeError(
                f"{who}: a tangent has shape {tuple(tangent.shape)}, its primal {tuple(primal.shape)}"
            )
    return flat, given, spec


def _split_dual(output, level, strict):
    primal, tangent = _native.unpack_dual(output, level)
    if tangent is None:
        if strict:
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This "
                "is not allowed with strict=True."
            )
        tangent = torch.zeros_like(primal)
    return primal, tangent


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """``(func(*primals), J v)``: the output and its change along ``tangents``, by forward-mode AD.

    Args:
        primals, tangents: tuples of tensors (or trees) of the same shapes.
        strict: raise RuntimeError for an output that does not depend on the inputs.

    >>> import ms_adapter.pytorch as torch
    >>> torch.func.jvp(torch.sin, (torch.tensor(0.0),), (torch.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    who = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{who}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals). Got "
            f"{type(primals)}"
        )
    flat, given, spec = _same_structure(primals, tangents, who)
    level = _native.enter_dual()
    try:
        duals = [_native.make_dual(p, t, level) for p, t in zip(flat, given, strict=True)]
        output, aux = transformed(func, *pytree.tree_unflatten(duals, spec)), None
        if has_aux:
            output, aux = split_aux(output, who)
            aux = pytree.tree_map_only(torch.Tensor, lambda t: _native.unpack_dual(t, level)[0], aux)
        outs, out_spec = tensors_in(output, who, "the output of f")
        pairs = [_split_dual(out, level, strict) for out in outs]
    finally:
        _native.leave_dual()
    made, moved = (pytree.tree_unflatten(list(column), out_spec) for column in zip(*pairs, strict=True))
    return (made, moved, aux) if has_aux else (made, moved)


def linearize(func, *primals):
    """``(func(*primals), jvp_fn)``: ``jvp_fn(*tangents)`` is the change of the output at these primals.

    Each call of ``jvp_fn`` runs ``func`` again under forward-mode AD.

    >>> import ms_adapter.pytorch as torch
    >>> _, along = torch.func.linearize(torch.sin, torch.tensor(0.0))
    >>> along(torch.tensor(3.0))
    tensor(3.)
    """

    def jvp_fn(*tangents):
        return jvp(func, primals, tangents)[1]

    return func(*primals), jvp_fn


# --- Jacobians ----------------------------------------------------------------------------------------
def _basis(tensors):
    """For each tensor the unit vectors of all of them together: (total, *shape)."""
    numels = [t.numel() for t in tensors]
    total, start, basis = sum(numels), 0, []
    for t, n in zip(tensors, numels, strict=True):
        ones = torch.zeros(total, n, dtype=t.dtype, device=t.device)
        ones.diagonal(-start).fill_(1)
        basis.append(ones.view(total, *t.shape))
        start += n
    return basis


def _split_rows(rows, tensors):
    """(total, *rest) into one (*shape, *rest) for each tensor."""
    pieces = rows.split([t.numel() for t in tensors], 0)
    return [p.reshape(*t.shape, *rows.shape[1:]) for p, t in zip(pieces, tensors, strict=True)]


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """A function that returns the Jacobian of ``func`` by reverse-mode AD, mapped over the outputs.

    The result is a tree like ``func``'s output, whose leaves are trees like the chosen arguments, whose
    leaves have shape ``(*output.shape, *input.shape)``.

    Args:
        argnums: the argument to differentiate by, or a tuple of them.
        has_aux: ``func`` returns ``(output, aux)``.
        chunk_size: rows computed at a time; default: all.

    >>> import ms_adapter.pytorch as torch
    >>> torch.func.jacrev(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        chosen = chosen_arguments(args, argnums)
        primals, in_spec = tensors_in(chosen, "jacrev(f)(*args)", "the chosen arguments")

        def of_leaves(*leaves):
            return func(
                *with_arguments(args, argnums, pytree.tree_unflatten(list(leaves), in_spec)), **kwargs
            )

        output, back, *aux = vjp(of_leaves, *primals, has_aux=has_aux)
        outs, out_spec = tensors_in(output, "jacrev(f)(*args)", "the output of f")

        def rows_of(*cotangents):
            return back(pytree.tree_unflatten(list(cotangents), out_spec))

        rows = vmap(rows_of, chunk_size=chunk_size)(*_basis(outs))
        by_input = [_split_rows(column, outs) for column in rows]
        trees = [pytree.tree_unflatten(list(cells), in_spec) for cells in zip(*by_input, strict=True)]
        result = pytree.tree_unflatten(trees, out_spec)
        return (result, *aux) if has_aux else result

    return wrapper


def jacfwd(func, argnums=0, has_aux=False, *, chunk_size=None, randomness="error"):
    """A function that returns the Jacobian of ``func`` by forward-mode AD, mapped over the inputs.

    The result's structure is that of :func:`jacrev`; this is the faster of the two where ``func`` has more
    outputs than inputs.

    >>> import ms_adapter.pytorch as torch
    >>> torch.func.jacfwd(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        chosen = chosen_arguments(args, argnums)
        primals, in_spec = tensors_in(chosen, "jacfwd(f)(*args)", "the chosen arguments")
        kept = {}

        def of_leaves(*leaves):
            return func(
                *with_arguments(args, argnums, pytree.tree_unflatten(list(leaves), in_spec)), **kwargs
            )

        def column(*tangents):
            _, moved, *aux = jvp(of_leaves, tuple(primals), tangents, has_aux=has_aux)
            flat, kept["spec"] = pytree.tree_flatten(moved)
            return (tuple(flat), *aux)

        columns, *aux = vmap(
            column, out_dims=(-1, None) if has_aux else (-1,), randomness=randomness, chunk_size=chunk_size
        )(*_basis(primals))
        trees = []
        for moved in columns:  # (*output, total of the inputs)
            pieces = moved.split([p.numel() for p in primals], -1)
            cells = [c.reshape(*moved.shape[:-1], *p.shape) for c, p in zip(pieces, primals, strict=True)]
            trees.append(pytree.tree_unflatten(cells, in_spec))
        result = pytree.tree_unflatten(trees, kept["spec"])
        return (result, *aux) if has_aux else result

    return wrapper


def hessian(func, argnums=0):
    """A function that returns the second derivatives of ``func``: ``jacfwd(jacrev(func))``.

    >>> import ms_adapter.pytorch as torch
    >>> torch.func.hessian(lambda x: (x ** 3).sum())(torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def functionalize(func, *, remove="mutations"):
    """``func`` itself: what PyTorch takes out of a recorded graph changes no result of a call.

    >>> import ms_adapter.pytorch as torch
    >>> torch.func.functionalize(lambda x: x.clone().add_(1))(torch.zeros(2))
    tensor([1., 1.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            "functionalize(f, remove='mutations'): Valid options for inputting mutations are: "
            f"remove='mutations' or remove='mutations_and_views'. Got {remove}"
        )

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        return transformed(func, *args, **kwargs)

    return wrapped


def debug_unwrap(tensor, *, recurse=True):
    """The values behind a tensor of a vmap, for looking at; of any other tensor the tensor itself."""
    while level := _native.vmap_level(tensor):
        tensor = _native.unbatch(tensor, level)[0]
        if not recurse:
            break
    return tensor
