"""Tensors from ranges and files: the creating functions that PyTorch keeps beside its operators."""

import math
import mmap
import warnings

import ms_adapter.pytorch as torch

__all__ = ["from_file", "range"]


def range(
    start=0,
    end=None,
    step=1,
    *,
    out=None,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
):
    """start, start + step, ... up to ``end``, which is included; ``torch.arange`` is its successor.

    >>> import ms_adapter.pytorch as torch
    >>> torch.range(0, 1, 0.5)
    tensor([0.0000, 0.5000, 1.0000])
    """
    warnings.warn(
        "torch.range includes its end, unlike Python's range, and is deprecated: use torch.arange.",
        stacklevel=2,
    )
    if end is None:
        start, end = 0, start
    if step == 0:
        raise RuntimeError("range: step must be nonzero.")
    if (end - start) * step < 0:
        raise RuntimeError(
            f"range: upper bound and lower bound inconsistent with step sign: {start} to {end} by {step}."
        )
    dtype = out.dtype if out is not None else dtype or torch.get_default_dtype()
    count = math.floor((end - start) / step) + 1
    exact = torch.float64 if dtype.is_floating_point or dtype.is_complex else torch.int64
    values = (torch.arange(count, dtype=exact, device=device) * step + start).to(dtype)
    if out is not None:
        return out.resize_(values.shape).copy_(values)
    return values.requires_grad_(requires_grad)


def from_file(
    filename,
    shared=None,
    size=0,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=None,
    requires_grad=False,
):
    """A vector of ``size`` elements over the memory of a file.

    With ``shared`` what is written to the tensor goes to the file, which is made or lengthened where it is
    too short; else the file is only read. RuntimeError where it cannot be mapped.
    """
    dtype = dtype or torch.get_default_dtype()
    nbytes = size * dtype.itemsize
    try:
        with open(filename, "a+b" if shared else "rb") as file:
            length = file.seek(0, 2)
            if length < nbytes:
                if not shared:
                    raise RuntimeError(f"from_file: {filename} has {length} bytes, {nbytes} are wanted.")
                file.truncate(nbytes)
            access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
            memory = mmap.mmap(file.fileno(), nbytes, access=access) if nbytes else bytearray()
    except OSError as err:
        raise RuntimeError(f"from_file: cannot map {filename}: {err}") from None
    if not nbytes:
        return torch.empty(0, dtype=dtype, requires_grad=requires_grad)
    return torch.frombuffer(memory, dtype=dtype, count=size).requires_grad_(requires_grad)


def _sample_dirichlet(input, generator=None):
    """Shares that sum to 1 along the last dimension, of the concentrations in ``input``: gamma draws divided
    by their sum, drawn in double as small concentrations need it. No share is 0 or 1.
    """
    draws = torch._standard_gamma(input.double(), generator=generator)
    shares = draws / draws.clamp(min=torch.finfo(draws.dtype).tiny).sum(-1, keepdim=True)
    limits = torch.finfo(input.dtype)
    return shares.to(input.dtype).clamp(min=limits.tiny, max=1 - limits.eps / 2)
