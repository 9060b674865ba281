"""Losses of multi-label, ranking and Gaussian problems."""

import math

import ms_adapter.pytorch as torch

from ... import _operators
from .._reduction import get_enum as _get_enum
from .._reduction import resolve as _resolve

_rows = _operators.Rows("nn.functional")


def _reduce(loss, reduction):
    if reduction == "none":
        return loss
    return {"mean": torch.mean, "sum": torch.sum}[_checked(reduction)](loss)


def _checked(reduction):
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def gaussian_nll_loss(input, target, var, full=False, eps=1e-06, reduction="mean"):
    """The negative log likelihood of ``target`` under normal distributions of mean ``input`` and variance
    ``var``.

    ``var`` has the shape of ``input``, or 1 as one size, or lacks the last dimension, or is one number.
    """
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * torch.ones_like(input)
    elif bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = var.unsqueeze(-1)
        elif not _differ_in_one_size(input, var):
            raise ValueError("var is of incorrect size")
    _checked(reduction)
    var = var.clone()
    with torch.no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduce(loss, reduction)


def _differ_in_one_size(input, var):
    """Whether ``var`` has one size of 1 where ``input`` has another, and is like it else."""
    pairs = list(zip(input.size(), var.size(), strict=False))
    return input.dim() == var.dim() and [v for i, v in pairs if i != v] == [1]


def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """The margin of each wrong class of (N, C) against each right one; ``target`` lists those, -1 ends the
    list.
    """
    return _rows.multilabel_margin_loss(input, target, _get_enum(_resolve(size_average, reduce, reduction)))


def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The mean over the classes of (N, C) of each class's own two-way cross entropy."""
    reduction = _resolve(size_average, reduce, reduction)
    log_sigmoid = torch.nn.functional.logsigmoid
    loss = -(target * log_sigmoid(input) + (1 - target) * log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return _reduce(loss.sum(dim=input.dim() - 1) / input.size(input.dim() - 1), reduction)


def multi_margin_loss(
    input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"
):
    """The margins, to the power ``p``, of the wrong classes of (N, C) against the right one."""
    reduction = _get_enum(_resolve(size_average, reduce, reduction))
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return _rows.multi_margin_loss(input, target, p, margin, weight, reduction)


def triplet_margin_with_distance_loss(
    anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"
):
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)`` with a distance of one's own."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = distance_function or torch.nn.functional.pairwise_distance
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, "
            f"but got: anchor {anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D "
            "inputs"
        )
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = torch.minimum(far, distance(positive, negative))
    return _reduce(torch.clamp_min(margin + near - far, 0), reduction)


def linear_cross_entropy(
    input,
    linear_weight,
    target,
    *,
    linear_bias=None,
    weight=None,
    reduction="mean",
    ignore_index=None,
    label_smoothing=0.0,
    options=None,
):
    """The cross entropy of ``linear(input, linear_weight)``: (N, in) and (C, ..., in) against (N, ...).

    ``options`` may ask for chunks; the loss is computed in one piece all the same.
    """
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(
            f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}"
        )
    shape = linear_weight.shape[:-1]
    if len(shape) > 1 and input.dim() == 1:
        raise RuntimeError(
            f"linear_cross_entropy: linear_weight {tuple(linear_weight.shape)} of more than two dimensions "
            f"requires batched input, (N, {linear_weight.size(-1)}), got {tuple(input.shape)}"
        )
    if ignore_index is None:
        ignore_index = -100
    elif target.is_floating_point():
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    bias = None if linear_bias is None else linear_bias.expand(shape).flatten()
    logits = torch.nn.functional.linear(input, linear_weight.flatten(0, -2), bias).unflatten(-1, shape)
    return torch.nn.functional.cross_entropy(
        logits,
        target,
        weight=weight,
        ignore_index=ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )
