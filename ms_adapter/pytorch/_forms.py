"""Operators in forms that rows do not have: lists as outputs, losses with numbers for words."""

import ms_adapter.pytorch as torch

__all__ = [
    "ctc_loss",
    "dequantize",
    "resize_as_",
    "split",
    "split_copy",
    "split_with_sizes_copy",
    "unbind_copy",
]


def _into(name, views, out, resizes=True):
    """Copies of the views, or the views copied into the tensors of ``out``."""
    if out is None:
        return tuple(view.clone(memory_format=torch.contiguous_format) for view in views)
    shapes = [tuple(view.shape) for view in views]
    if len(out) != len(views) or not (resizes or [tuple(target.shape) for target in out] == shapes):
        raise RuntimeError(f"{name}: expected out= of tensors with the shapes {shapes}.")
    for target, view in zip(out, views, strict=True):
        if target.shape != view.shape:
            target.resize_(view.shape)
        target.copy_(view)
    return None


def split(tensor, split_size_or_sections, dim=0):
    """Views of pieces of one size, the last of which may be smaller, or of a list of sizes.

    >>> import ms_adapter.pytorch as torch
    >>> torch.split(torch.arange(5), 2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    return tensor.split(split_size_or_sections, dim)


def unbind_copy(input, dim=0, *, out=None):
    """:func:`torch.unbind` as copies, or copied into the tensors of ``out``.

    >>> import ms_adapter.pytorch as torch
    >>> torch.unbind_copy(torch.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    return _into("unbind_copy", input.unbind(dim), out)


def split_copy(input, split_size, dim=0, *, out=None):
    """:func:`torch.split` as copies, or copied into the tensors of ``out``."""
    return _into("split_copy", input.split(split_size, dim), out, resizes=False)


def split_with_sizes_copy(input, split_sizes, dim=0, *, out=None):
    """:func:`torch.split` with a list of sizes as copies, or copied into the tensors of ``out``."""
    return _into("split_with_sizes_copy", input.split_with_sizes(split_sizes, dim), out)


def resize_as_(input, the_template, *, memory_format=None):
    """``input`` resized in place to the size of ``the_template``; elements that come new are undefined."""
    return input.resize_as_(the_template, memory_format=memory_format)


def dequantize(input):
    """The tensor, or each of a list, as float32; quantized tensors are not supported."""
    if isinstance(input, (list, tuple)):
        return tuple(tensor.dequantize() for tensor in input)
    return input.dequantize()


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=0, zero_infinity=False):
    """:func:`torch.nn.functional.ctc_loss` with the reduction as a number: 0 none, 1 mean, 2 sum."""
    word = ("none", "mean", "sum")[reduction]
    return torch.nn.functional.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, word, zero_infinity
    )
