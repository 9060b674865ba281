"""Losses: the reduction arguments, size checks and weighting that PyTorch does in Python."""

import warnings

import ms_adapter.pytorch as torch

from ... import _operators
from .._reduction import get_enum as _get_enum
from .._reduction import resolve as _resolve

_rows = _operators.Rows("nn.functional")


def cross_entropy(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
):
    """The cross entropy of logits (N, C, ...) against class indices (N, ...) or probabilities (N, C, ...).

    >>> import ms_adapter.pytorch as torch
    >>> cross_entropy(torch.zeros(1, 2), torch.tensor([0]))
    tensor(0.6931)
    """
    reduction = _get_enum(_resolve(size_average, reduce, reduction))
    return _rows.cross_entropy_loss(input, target, weight, reduction, ignore_index, label_smoothing)


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """The negative log likelihood: ``-input`` (N, C, ...) at the class indices ``target`` (N, ...)."""
    reduction = _get_enum(_resolve(size_average, reduce, reduction))
    return _rows.nll_loss_nd(input, target, weight, reduction, ignore_index)


def _to_one_shape(input, target):
    """Both broadcast to their common shape, with a warning where they differ."""
    if target.size() == input.size():
        return input, target
    warnings.warn(
        f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This "
        "will likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
        stacklevel=3,
    )
    return torch.broadcast_tensors(input, target)


def _weighted(errors, weight, reduction, total_weight):
    """Errors times ``weight``, reduced; the mean is over ``total_weight`` where given, else over the
    elements.
    """
    if weight.size() != errors.size():
        raise ValueError("Weights and input must have the same size.")
    errors = errors * weight
    if reduction == "none":
        return errors
    if reduction == "sum":
        return torch.sum(errors)
    if reduction == "mean":
        return errors.mean() if total_weight is None else torch.sum(errors) / total_weight
    raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The squared differences of ``input`` and ``target``, their mean by default."""
    reduction = _resolve(size_average, reduce, reduction)
    input, target = _to_one_shape(input, target)
    if weight is None:
        return _rows.mse_loss(input, target, _get_enum(reduction))
    return _weighted(torch.pow(input - target, 2), weight, reduction, torch.sum(weight))


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The absolute differences of ``input`` and ``target``, their mean by default."""
    reduction = _resolve(size_average, reduce, reduction)
    input, target = _to_one_shape(input, target)
    if weight is None:
        return _rows.l1_loss(input, target, _get_enum(reduction))
    return _weighted(torch.abs(input - target), weight, reduction, torch.sum(weight))


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """Squared differences below ``beta``, absolute ones above."""
    reduction = _get_enum(_resolve(size_average, reduce, reduction))
    input, target = _to_one_shape(input, target)
    if beta == 0.0:
        return _rows.l1_loss(input, target, reduction)
    return _rows.smooth_l1_loss(input, target, reduction, beta)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """Squared differences below ``delta``, linear ones above."""
    input, target = _to_one_shape(input, target)
    if weight is None:
        return _rows.huber_loss(input, target, _get_enum(reduction), delta)
    return _weighted(_rows.huber_loss(input, target, _get_enum("none"), delta), weight, reduction, None)


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The cross entropy of probabilities ``input`` against ``target``, both in [0, 1]."""
    reduction = _get_enum(_resolve(size_average, reduce, reduction))
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is "
            "deprecated. Please ensure they have the same size."
        )
    if weight is not None:
        weight = weight.expand(torch.broadcast_shapes(target.size(), weight.size()))
    return _rows.binary_cross_entropy(input, target, weight, reduction)


def binary_cross_entropy_with_logits(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):
    """The cross entropy of ``sigmoid(input)`` against ``target``, computed as one so that it does not
    overflow.
    """
    reduction = _get_enum(_resolve(size_average, reduce, reduction))
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return torch.binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction)


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """The Kullback-Leibler divergence of ``target`` from the log-probabilities ``input``."""
    reduction = _resolve(size_average, reduce, reduction)
    if reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size. "
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition.",
            stacklevel=2,
        )
    batchmean = reduction == "batchmean"
    loss = torch.kl_div(input, target, _get_enum("sum" if batchmean else reduction), log_target=log_target)
    return loss / input.size()[0] if batchmean and input.dim() != 0 else loss


def poisson_nll_loss(
    input, target, log_input=True, full=False, size_average=None, eps=1e-08, reduce=None, reduction="mean"
):
    """The negative log likelihood of counts ``target`` under Poisson rates ``input`` (their logarithms by
    default).
    """
    reduction = _get_enum(_resolve(size_average, reduce, reduction))
    return torch.poisson_nll_loss(input, target, log_input, full, eps, reduction)


def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """``input`` where ``target`` is 1, ``max(0, margin - input)`` where it is -1."""
    reduction = _get_enum(_resolve(size_average, reduce, reduction))
    return torch.hinge_embedding_loss(input, target, margin, reduction)


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """``log(1 + exp(-target * input))``."""
    return _rows.soft_margin_loss(input, target, _get_enum(_resolve(size_average, reduce, reduction)))


def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """``max(0, -target * (input1 - input2) + margin)``: the first should rank higher where ``target`` is
    1.
    """
    reduction = _get_enum(_resolve(size_average, reduce, reduction))
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return torch.margin_ranking_loss(input1, input2, target, margin, reduction)


def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """``1 - cos`` where ``target`` is 1, ``max(0, cos - margin)`` where it is -1."""
    reduction = _get_enum(_resolve(size_average, reduce, reduction))
    return torch.cosine_embedding_loss(input1, input2, target, margin, reduction)


def triplet_margin_loss(
    anchor,
    positive,
    negative,
    margin=1.0,
    p=2,
    eps=1e-06,
    swap=False,
    size_average=None,
    reduce=None,
    reduction="mean",
):
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)`` with the p-norm as distance."""
    reduction = _get_enum(_resolve(size_average, reduce, reduction))
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return torch.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction)
