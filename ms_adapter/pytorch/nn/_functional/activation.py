"""Activations with what PyTorch does in Python: the ``inplace`` argument, implicit dimensions."""

import warnings

import ms_adapter.pytorch as torch

from ... import _operators

_rows = _operators.Rows("nn.functional")


def relu(input, inplace=False):
    """``max(0, x)`` of each element.

    >>> import ms_adapter.pytorch as torch
    >>> relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return _rows.relu_(input) if inplace else _rows.relu(input)


def relu6(input, inplace=False):
    """``min(max(0, x), 6)`` of each element."""
    return hardtanh(input, 0.0, 6.0, inplace)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """Each element limited to [min_val, max_val]."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return (_rows.hardtanh_ if inplace else _rows.hardtanh)(input, min_val, max_val)


def elu(input, alpha=1.0, inplace=False):
    """``x`` above 0, ``alpha * (exp(x) - 1)`` below."""
    return (_rows.elu_ if inplace else _rows.elu)(input, alpha)


def selu(input, inplace=False):
    """The self-normalising ``scale * elu(x, alpha)`` with its two fixed constants."""
    return (_rows.selu_ if inplace else _rows.selu)(input)


def celu(input, alpha=1.0, inplace=False):
    """``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``."""
    return (_rows.celu_ if inplace else _rows.celu)(input, alpha)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """``x`` above 0, ``negative_slope * x`` below."""
    return (_rows.leaky_relu_ if inplace else _rows.leaky_relu)(input, negative_slope)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """Leaky ReLU whose slope is drawn from [lower, upper] in training, and is their mean otherwise."""
    return (_rows.rrelu_ if inplace else _rows.rrelu)(input, lower, upper, training)


def silu(input, inplace=False):
    """``x * sigmoid(x)``."""
    return (_rows.silu_ if inplace else _rows.silu)(input)


def mish(input, inplace=False):
    """``x * tanh(softplus(x))``."""
    return (_rows.mish_ if inplace else _rows.mish)(input)


def hardswish(input, inplace=False):
    """``x * relu6(x + 3) / 6``."""
    return (_rows.hardswish_ if inplace else _rows.hardswish)(input)


def hardsigmoid(input, inplace=False):
    """``relu6(x + 3) / 6``."""
    return (_rows.hardsigmoid_ if inplace else _rows.hardsigmoid)(input)


def threshold(input, threshold, value, inplace=False):
    """``x`` where it is above ``threshold``, ``value`` elsewhere."""
    return (_rows.threshold_ if inplace else _rows.threshold)(input, threshold, value)


_threshold = threshold  # under both names in PyTorch


def tanhshrink(input):
    """``x - tanh(x)``."""
    return input - input.tanh()


def softsign(input):
    """``x / (1 + |x|)``."""
    return input / (input.abs() + 1)


def tanh(input):
    """The hyperbolic tangent of each element."""
    return input.tanh()


def sigmoid(input):
    """``1 / (1 + exp(-x))`` of each element."""
    return input.sigmoid()


def _get_softmax_dim(name, ndim, stacklevel):
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an "
        f"argument.",
        stacklevel=stacklevel,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """``exp(x) / sum(exp(x))`` along ``dim``, computed in ``dtype`` where given."""
    if dim is None:
        dim = _get_softmax_dim("softmax", input.dim(), _stacklevel)
    return input.softmax(dim) if dtype is None else input.softmax(dim, dtype=dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """``softmax(-x)`` along ``dim``."""
    if dim is None:
        dim = _get_softmax_dim("softmin", input.dim(), _stacklevel)
    return softmax(-input, dim, dtype=dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The logarithm of ``softmax`` along ``dim``, computed as one so that it does not underflow."""
    if dim is None:
        dim = _get_softmax_dim("log_softmax", input.dim(), _stacklevel)
    return input.log_softmax(dim) if dtype is None else input.log_softmax(dim, dtype=dtype)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """Draws from the Gumbel-softmax distribution; ``hard`` ones are one-hot, with the soft ones' gradient."""
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    gumbels = -torch.empty_like(logits, memory_format=torch.contiguous_format).exponential_().log()
    soft = ((logits + gumbels) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    return torch.zeros_like(logits).scatter_(dim, index, 1.0) - soft.detach() + soft
