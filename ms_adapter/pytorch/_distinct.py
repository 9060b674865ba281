"""Distinct elements or slices, differences over several dimensions, histograms over several columns."""

import math
from collections import namedtuple

import ms_adapter.pytorch as torch

__all__ = ["gradient", "histogramdd", "unique", "unique_consecutive"]


class _WithoutGradient(torch.autograd.Function):
    """Hands a result on as one that hangs on ``input`` and through which no gradient can go back."""

    @staticmethod
    def forward(ctx, result, input, name):
        ctx.operator = name
        return result.view_as(result)

    @staticmethod
    def backward(ctx, grad):
        raise NotImplementedError(f"{ctx.operator}: it has no derivative; detach() its input.")


def _cut(name, result, input):
    needed = torch.is_grad_enabled() and input.requires_grad
    return _WithoutGradient.apply(result, input, name) if needed else result


_Histogram = namedtuple("histogramdd", ["hist", "bin_edges"])


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The distinct elements in order, or the distinct slices along ``dim``.

    With ``return_inverse`` also where each element went (int64, the input's shape), with ``return_counts``
    how often each occurs.

    >>> import ms_adapter.pytorch as torch
    >>> torch.unique(torch.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    slices = _slices("unique", input, dim)
    order = _order(slices)
    found, group, counts = _runs(slices.index_select(0, order))
    inverse = torch.empty_like(order).scatter_(0, order, group)
    return _answer(input, dim, _cut("unique", found, input), inverse, counts, return_inverse, return_counts)


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """Runs of equal elements, or of equal slices along ``dim``, each as one.

    >>> import ms_adapter.pytorch as torch
    >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    found, group, counts = _runs(_slices("unique_consecutive", input, dim))
    found = _cut("unique_consecutive", found, input)
    return _answer(input, dim, found, group, counts, return_inverse, return_counts)


def _slices(name, input, dim):
    """What is compared, as the first dimension."""
    if dim is None:
        return input.detach().reshape(-1)
    if input.dim() == 0:
        return input.detach().reshape(1)
    if input.numel() == 0 and input.shape[dim] != 0:
        raise RuntimeError(
            f"{name}: There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
        )
    return input.detach().movedim(dim, 0)


def _order(slices):
    """The stable order of the slices, the first elements counting most."""
    if slices.dim() == 1:
        return torch.sort(slices, stable=True)[1]
    columns = slices.reshape(slices.shape[0], -1 if slices.shape[0] else math.prod(slices.shape[1:]))
    order = torch.arange(slices.shape[0], device=slices.device)
    for column in reversed(columns.unbind(1)):
        order = order[torch.sort(column[order], stable=True)[1]]
    return order


def _runs(slices):
    """The first slice of each run of equal ones, the run of each slice, and the runs' lengths."""
    n = slices.shape[0]
    if n == 0:
        return (
            slices,
            torch.empty(0, dtype=torch.int64, device=slices.device),
            torch.empty(0, dtype=torch.int64, device=slices.device),
        )
    new = slices[1:] != slices[:-1]
    if new.dim() > 1:
        new = new.reshape(n - 1, -1).any(1) if n > 1 else new.new_empty(0)
    starts = torch.cat([torch.ones(1, dtype=torch.bool, device=new.device), new])
    places = starts.nonzero().reshape(-1)
    counts = torch.diff(places, append=torch.tensor([n], device=places.device))
    return slices.index_select(0, places), torch.cumsum(starts, 0) - 1, counts


def _answer(input, dim, found, inverse, counts, return_inverse, return_counts):
    if dim is not None and input.dim() > 0:
        found = found.movedim(0, dim).contiguous()
    if dim is None or input.dim() == 0:
        inverse = inverse.reshape(input.shape)
    answers = (found,) + (inverse,) * bool(return_inverse) + (counts,) * bool(return_counts)
    return answers if len(answers) > 1 else found


def gradient(input, *, spacing=1, dim=None, edge_order=1):
    """The derivative along each of ``dim`` (all unless given) by central differences, a tensor each.

    ``spacing`` is the distance of neighbours (a number, or one for each dimension) or their coordinates
    (tensors).
    At the edges the differences are one-sided, of first or second order.

    >>> import ms_adapter.pytorch as torch
    >>> torch.gradient(torch.tensor([1.0, 4.0, 9.0]))
    (tensor([3., 4., 5.]),)
    """
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    spacing = 1 if spacing is None else spacing
    dims = list(range(input.dim())) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    steps = list(spacing) if isinstance(spacing, (list, tuple)) else [spacing] * len(dims)
    if len(steps) != len(dims):
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length {len(dims)}, "
            f"but got a list of length {len(steps)}"
        )
    if len({d % max(input.dim(), 1) for d in dims}) != len(dims):
        raise RuntimeError(f"dim {dims} appears multiple times in the list of dims")
    for d in dims:
        if input.shape[d] < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    return tuple(_derivative(input, step, d, edge_order) for d, step in zip(dims, steps, strict=True))


def _derivative(input, step, dim, edge_order):
    x = input if input.is_floating_point() or input.is_complex() else input.to(torch.get_default_dtype())
    n = x.shape[dim]
    if isinstance(step, torch.Tensor):
        step = torch.diff(step).reshape([-1 if d == dim % x.dim() else 1 for d in range(x.dim())])
        before, after = step.narrow(dim, 0, n - 2), step.narrow(dim, 1, n - 2)
        both, steps = before + after, (step.narrow(dim, 0, 1), step.narrow(dim, n - 2, 1))
        # The slope at a point: its neighbours' slopes, each weighed by the other's width.
        inner = _weighed(x, dim, 0, n - 2, (-after / (before * both), (after - before) / (before * after),
                                            before / (after * both)))  # fmt: skip
        ends = (
            (-(before + both) / (before * both), both / (before * after), -before / (after * both)),
            (after / (before * both), -both / (before * after), (after + both) / (after * both)),
        )
        ends = tuple(
            tuple(w.narrow(dim, at, 1) for w in end) for at, end in zip((0, n - 3), ends, strict=True)
        )
        scale = 1
    else:
        inner = (x.narrow(dim, 2, n - 2) - x.narrow(dim, 0, n - 2)) / (2 * step)
        ends, steps, scale = ((-1.5, 2, -0.5), (0.5, -2, 1.5)), (step, step), step
    if edge_order == 2:
        edges = [_weighed(x, dim, at, 1, end) / scale for at, end in zip((0, n - 3), ends, strict=True)]
    else:
        edges = [
            (x.narrow(dim, at + 1, 1) - x.narrow(dim, at, 1)) / s
            for at, s in zip((0, n - 2), steps, strict=True)
        ]
    return torch.cat([edges[0], inner, edges[1]], dim)


def _weighed(x, dim, start, length, weights):
    """The sum of three neighbours, each times its weight."""
    low, middle, high = (w * x.narrow(dim, start + i, length) for i, w in enumerate(weights))
    return low + middle + high


def histogramdd(input, bins, *, range=None, weight=None, density=False):
    """How many rows of ``input`` (..., d) fall into each cell of a d-dimensional grid.

    ``bins`` is the number of bins, one for each column, or the edges (tensors); ``range`` holds both limits
    of each column in one list. Returns the named pair (hist, bin_edges).

    >>> import ms_adapter.pytorch as torch
    >>> torch.histogramdd(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), bins=[2, 2]).hist
    tensor([[0., 1.],
            [1., 0.]])
    """
    if input.dim() < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    points = input.detach().reshape(-1, input.shape[-1])
    columns = points.shape[1]
    counts = [bins] * columns if isinstance(bins, int) else list(bins)
    if len(counts) != columns:
        raise RuntimeError(
            f"torch.histogramdd: expected {columns} sequences of bin edges or bin counts, got {len(counts)}"
        )
    weights = torch.ones_like(points[:, 0]) if weight is None else weight.detach().reshape(-1)
    edges, flat = [], torch.zeros(len(points), dtype=torch.int64, device=points.device)
    inside = torch.ones(len(points), dtype=torch.bool, device=points.device)
    for column, count in enumerate(counts):
        values = points[:, column].contiguous()
        limits = range[2 * column : 2 * column + 2] if range is not None else None
        given = isinstance(count, torch.Tensor)
        edges.append(count if given else torch.histogram(values, count, range=limits).bin_edges)
        cells = len(edges[-1]) - 1
        place = torch.searchsorted(edges[-1], values, right=True) - 1
        inside &= (values >= edges[-1][0]) & (values <= edges[-1][-1])
        flat = flat * cells + place.clamp(0, cells - 1)
    shape = [len(edge) - 1 for edge in edges]
    hist = torch.zeros(math.prod(shape), dtype=input.dtype, device=input.device)
    hist = hist.scatter_add(0, flat[inside], weights[inside]).reshape(shape)
    if density:
        hist = hist / hist.sum()
        for column, edge in enumerate(edges):
            hist = hist / torch.diff(edge).reshape([1] * column + [-1] + [1] * (columns - column - 1))
    return _Histogram(_cut("histogramdd", hist, input), tuple(edges))
