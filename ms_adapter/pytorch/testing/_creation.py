"""make_tensor: random tensors of any dtype."""

import ms_adapter.pytorch as torch

_FLOATS = (-9, 9)
_BOUNDS = {"bool": (0, 2), "uint8": (0, 10)}


def make_tensor(
    *shape,
    dtype,
    device,
    low=None,
    high=None,
    requires_grad=False,
    noncontiguous=False,
    exclude_zero=False,
    memory_format=None,
):
    """A tensor of values drawn uniformly from [low, high), by default [-9, 9] or what the dtype allows of it.

    >>> import ms_adapter.pytorch as torch
    >>> torch.testing.make_tensor((3, 2), dtype=torch.float32, device="cpu").shape
    torch.Size([3, 2])
    """
    if noncontiguous and memory_format is not None:
        raise ValueError("The parameters noncontiguous and memory_format are mutually exclusive.")
    if len(shape) == 1 and not isinstance(shape[0], int):
        shape = tuple(shape[0])
    floating = dtype.is_floating_point or dtype.is_complex
    if requires_grad and not floating:
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}"
        )
    name = str(dtype).removeprefix("torch.")
    default_low, default_high = _BOUNDS.get(name, _FLOATS if floating else (-9, 10))
    if name.startswith("uint"):
        default_low, default_high = 0, 10
    low = default_low if low is None else low
    high = default_high if high is None else high
    if low >= high and not (low == high and floating):
        raise ValueError(f"`low` must be less than `high`, but got low={low} and high={high}.")
    full = (*shape[:-1], 2 * shape[-1]) if noncontiguous and shape else shape
    if floating:
        real = torch.view_as_real(torch.empty(full, dtype=dtype, device=device)) if dtype.is_complex else None
        result = torch.empty(full, dtype=dtype, device=device)
        (torch.view_as_real(result) if real is not None else result).uniform_(low, high)
    else:
        result = torch.randint(low, high, full, dtype=torch.int64, device=device).to(dtype)
    if noncontiguous and shape:
        result = result[..., ::2]
    if exclude_zero:
        result[result == 0] = 1
    if memory_format is not None:
        result = result.clone(memory_format=memory_format)
    return result.requires_grad_(requires_grad)
