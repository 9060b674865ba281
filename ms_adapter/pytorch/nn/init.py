"""Initialisation of parameters in place: the same formulas, and the same draws from a seed, as PyTorch's."""

import functools
import math
import warnings

import ms_adapter.pytorch as torch

_CONVOLUTIONS = {f"conv{transposed}{n}d" for transposed in ("", "_transpose") for n in (1, 2, 3)}


def calculate_gain(nonlinearity, param=None):
    """The factor by which a nonlinearity's layer scales its initial weights.

    >>> calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity in _CONVOLUTIONS or nonlinearity in ("linear", "sigmoid"):
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4  # found by experiment; PyTorch documents it as such
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


@torch.no_grad()
def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Fill with draws from the uniform distribution on [a, b)."""
    return tensor.uniform_(a, b, generator=generator)


@torch.no_grad()
def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Fill with draws from the normal distribution."""
    return tensor.normal_(mean, std, generator=generator)


@torch.no_grad()
def constant_(tensor, val):
    """Fill with ``val``."""
    return tensor.fill_(val)


@torch.no_grad()
def ones_(tensor):
    """Fill with 1."""
    return tensor.fill_(1.0)


@torch.no_grad()
def zeros_(tensor):
    """Fill with 0."""
    return tensor.zero_()


@torch.no_grad()
def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Fill with draws from the normal distribution, those outside [a, b] drawn again.

    Where [a, b] is likely, normal draws are rejected; where it is a tail, uniform ones, by the density's
    height.
    """
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
            "incorrect.",
            stacklevel=3,
        )

    def below(x):
        return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0

    if below((b - mean) / std) - below((a - mean) / std) > 0.3:
        return _reject_normal(tensor, mean, std, a, b, generator)
    return _reject_uniform(tensor, mean, std, a, b, generator)


def _reject_normal(tensor, mean, std, a, b, generator):
    low, high = (tensor.new_tensor(bound, device="cpu").item() for bound in (a, b))
    result = tensor.normal_(mean, std, generator=generator)
    outside = (result < low) | (result > high)
    while outside.any():
        result = torch.where(
            outside, torch.empty_like(result).normal_(mean, std, generator=generator), result
        )
        outside = (result < low) | (result > high)
    return tensor if result is tensor else tensor.copy_(result)


def _reject_uniform(tensor, mean, std, a, b, generator):
    log_peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2

    def rejected(candidates):
        log_density = candidates.clone().sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(log_peak)
        return torch.empty_like(tensor).uniform_(generator=generator).log_().gt(log_density)

    result = tensor.uniform_(a, b, generator=generator).clone()
    pending = rejected(result)
    while pending.any():
        candidates = torch.empty_like(tensor).uniform_(a, b, generator=generator)
        result = torch.where(pending, candidates, result)
        pending = torch.where(pending, rejected(candidates), pending)
    return tensor.copy_(result)


@torch.no_grad()
def eye_(tensor):
    """Fill a matrix with the identity."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return tensor.copy_(torch.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


@torch.no_grad()
def dirac_(tensor, groups=1):
    """Fill a convolution's weight so that it passes its input channels through, in each of ``groups``."""
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.size(0) % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    if tensor.is_meta:
        return tensor
    tensor.zero_()
    per_group = tensor.size(0) // groups
    centre = tuple(size // 2 for size in tensor.shape[2:])
    for group in range(groups):
        for d in range(min(per_group, tensor.size(1))):
            tensor[(group * per_group + d, d, *centre)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor):
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.size(1) * field, tensor.size(0) * field


def _calculate_correct_fan(tensor, mode):
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Fill uniformly with a variance of ``2 gain^2 / (fan_in + fan_out)``."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = math.sqrt(3.0) * (gain * math.sqrt(2.0 / float(fan_in + fan_out)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Fill normally with a variance of ``2 gain^2 / (fan_in + fan_out)``."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


def _kaiming_std(tensor, a, mode, nonlinearity):
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


def _is_empty(tensor):
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return True
    return False


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Fill uniformly with a variance of ``gain^2 / fan``; ``a`` is the slope of a leaky ReLU.

    >>> import ms_adapter.pytorch as torch
    >>> kaiming_uniform_(torch.empty(3, 5), mode="fan_in", nonlinearity="relu").shape
    torch.Size([3, 5])
    """
    if _is_empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Fill normally with a variance of ``gain^2 / fan``; ``a`` is the slope of a leaky ReLU."""
    if _is_empty(tensor):
        return tensor
    return normal_(tensor, 0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


@torch.no_grad()
def orthogonal_(tensor, gain=1, generator=None):
    """Fill with an orthogonal matrix (dimensions after the first flattened), times ``gain``."""
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    rows = tensor.size(0)
    cols = tensor.numel() // rows
    flat = tensor.new_empty((rows, cols)).normal_(0, 1, generator=generator)
    q, r = torch.linalg.qr(flat.t() if rows < cols else flat)
    q = q * torch.diag(r, 0).sign()  # makes the distribution uniform over the orthogonal matrices
    return tensor.copy_((q.t() if rows < cols else q).reshape(tensor.shape)).mul_(gain)


@torch.no_grad()
def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Fill a matrix normally, then zero a share ``sparsity`` of each column."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    if tensor.is_meta:
        return tensor
    rows, cols = tensor.shape
    tensor.normal_(0, std, generator=generator)
    for col in range(cols):
        tensor[torch.randperm(rows)[: math.ceil(sparsity * rows)], col] = 0
    return tensor


def _without_underscore(function):
    new, old = function.__name__, function.__name__[:-1]

    @functools.wraps(function)
    def deprecated(*args, **kwargs):
        warnings.warn(
            f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning, stacklevel=2
        )
        return function(*args, **kwargs)

    deprecated.__name__ = deprecated.__qualname__ = old
    deprecated.__doc__ = f"The older name of :func:`{new}`."
    return deprecated


for _function in (
    uniform_,
    normal_,
    constant_,
    eye_,
    dirac_,
    xavier_uniform_,
    xavier_normal_,
    kaiming_uniform_,
    kaiming_normal_,
    orthogonal_,
    sparse_,
):
    globals()[_function.__name__[:-1]] = _without_underscore(_function)
