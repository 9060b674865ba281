"""Contractions and norms with the argument forms of PyTorch's Python functions; the work is the core's."""

import ms_adapter.pytorch as torch
from ms_adapter import _C

__all__ = ["cdist", "einsum", "norm", "tensordot"]

_ROWS_FOR_PRODUCT = 25  # from more rows on, cdist takes a matrix product unless told otherwise


def einsum(*args):
    """Sums of products as the equation says: ``einsum("ij,jk->ik", a, b)``.

    The operands may be one list; or each operand is followed by its list of integer subscripts, the result's
    list last. Raises RuntimeError where subscripts and dimensions do not fit.

    >>> import ms_adapter.pytorch as torch
    >>> torch.einsum("ij,j->i", torch.ones(2, 3), torch.arange(3.0))
    tensor([3., 3.])
    """
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand "
            "and its subscripts list"
        )
    if isinstance(args[0], torch.Tensor):
        equation, operands = _equation_of(args)
    else:
        equation, *operands = args
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    return _C.call_operator("_einsum", "", "function", equation, list(operands))


def _letters(subscripts):
    return "".join(
        "..." if s is Ellipsis else chr(ord("A") + s if s < 26 else ord("a") + s - 26) for s in subscripts
    )


def _equation_of(args):
    """The equation for operands that alternate with lists of subscripts from 0 to 51."""
    operands, parts = list(args[0 : len(args) // 2 * 2 : 2]), args[1::2]
    for subscripts in parts:
        for s in subscripts:
            if s is not Ellipsis and not 0 <= s < 52:
                raise ValueError(
                    f"einsum(): subscript in subscript list is not within the valid range [0, 52): {s}"
                )
    equation = ",".join(_letters(part) for part in parts)
    if len(args) % 2:
        equation += "->" + _letters(args[-1])
    return equation, operands


def tensordot(a, b, dims=2, out=None):
    """The sums of products over dimensions of both tensors.

    ``dims`` is how many (the last ones of ``a``, the first of ``b``) or two lists.

    >>> import ms_adapter.pytorch as torch
    >>> torch.tensordot(torch.ones(2, 3), torch.ones(3, 4), dims=1).shape
    torch.Size([2, 4])
    """
    if isinstance(dims, torch.Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        left, right = list(range(a.dim() - dims, a.dim())), list(range(dims))
    else:
        if not isinstance(dims, (tuple, list)):
            raise RuntimeError(f"tensordot: dims must be an int or two lists of ints, but got {dims!r}")
        left, right = ([d] if isinstance(d, int) else list(d) for d in dims)
    function = _C.functions["tensordot"]
    return function(a, b, left, right) if out is None else function(a, b, left, right, out=out)


def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The p-norm distances (..., n, m) between the rows of ``x1`` (..., n, d) and ``x2`` (..., m, d).

    Batches broadcast.

    >>> import ms_adapter.pytorch as torch
    >>> torch.cdist(torch.zeros(1, 2), torch.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """
    modes = {
        "use_mm_for_euclid_dist_if_necessary": x1.dim() > 1
        and max(x1.shape[-2:-1] + x2.shape[-2:-1]) > _ROWS_FOR_PRODUCT,
        "use_mm_for_euclid_dist": True,
        "donot_use_mm_for_euclid_dist": False,
    }
    if compute_mode not in modes:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    if x1.dim() < 2 or x2.dim() < 2:
        raise RuntimeError(
            f"cdist only supports at least 2D tensors, X1 got: {x1.dim()}D, X2 got: {x2.dim()}D"
        )
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    return _C.call_operator("_cdist", "", "function", x1, x2, float(p), modes[compute_mode])


def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """The norm over ``dim`` (all dimensions unless given): a number for vectors, "fro" or "nuc" for matrices.

    >>> import ms_adapter.pytorch as torch
    >>> torch.norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    if not isinstance(input, torch.Tensor):
        raise TypeError(f"norm: input must be a tensor, got {type(input).__name__}")
    dims = [dim] if isinstance(dim, int) else dim
    if p == "nuc":
        return _nuclear_norm(input, dims, keepdim, out, dtype)
    if p not in ("fro", None) and isinstance(p, str):
        raise RuntimeError(f"norm: unknown norm {p!r}; give a number, 'fro' or 'nuc'")
    order = 2.0 if p in ("fro", None) else p
    return torch.linalg.vector_norm(
        input, order, dims, keepdim, dtype=dtype, **({} if out is None else {"out": out})
    )


def _nuclear_norm(input, dims, keepdim, out, dtype):
    if dims is None:
        if input.dim() != 2:
            raise RuntimeError(
                f"norm: the nuclear norm of a {input.dim()}-d tensor needs dim, two of its dimensions"
            )
        dims = (0, 1)
    keywords = {"keepdim": keepdim, "dtype": dtype} | ({} if out is None else {"out": out})
    return torch.linalg.matrix_norm(input, "nuc", tuple(dims), **keywords)
