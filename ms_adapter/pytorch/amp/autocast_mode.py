"""torch.autocast: a region in which operators run in the precision that suits each of them."""

import collections.abc
import functools
import warnings

import ms_adapter.pytorch as torch

from ._state import _known, is_autocast_available

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]

_CPU_DTYPES = ("bfloat16", "float16")


def autocast_decorator(autocast_instance, func):
    """``func``, run inside of the autocast region."""

    @functools.wraps(func)
    def decorate_autocast(*args, **kwargs):
        with autocast_instance:
            return func(*args, **kwargs)

    return decorate_autocast


class autocast:
    """A region in which matrix products and convolutions run in lower precision, losses in float32.

    Wrap the forward pass and the loss; backward runs outside, in the dtypes that forward chose. What an
    operator does is the field ``autocast`` of its row; see docs/mixed_precision.md.

    Args:
        device_type: the tensors' device: "cpu", "mindspore" and so on.
        dtype: the lower precision, bfloat16 or float16; at first that of ``torch.get_autocast_dtype``.
        enabled: False makes a region without autocast inside of another.
        cache_enabled: whether a weight is cast once for the region.

    >>> import ms_adapter.pytorch as torch
    >>> layer, x = torch.nn.Linear(3, 2), torch.randn(4, 3)
    >>> with torch.autocast("cpu", dtype=torch.bfloat16):
    ...     y = layer(x)
    ...     loss = torch.nn.functional.mse_loss(y, torch.zeros(4, 2))
    >>> y.dtype, loss.dtype
    (torch.bfloat16, torch.float32)
    >>> loss.backward()
    >>> layer.weight.grad.dtype
    torch.float32
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if not isinstance(device_type, str):
            raise ValueError(
                f"autocast: device_type is a str such as 'cpu', not {type(device_type).__name__}."
            )
        if not is_autocast_available(device_type):
            raise RuntimeError(f"autocast: not available on '{device_type}'.")
        self.device = device_type
        self.fast_dtype = torch.get_autocast_dtype(device_type) if dtype is None else dtype
        if device_type == "cuda" and torch.cuda.is_available():
            self.device = torch.device("cuda").type  # the accelerator that it means
        self._cache_enabled = torch.is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._enabled = enabled and self._is_possible()
        self._before = []  # for each time the region was entered and not yet left

    def _is_possible(self):
        if self.device == "cuda" and not torch.cuda.is_available():
            warnings.warn(
                "autocast: there is no CUDA device here, so autocast for 'cuda' stays off.", stacklevel=3
            )
            return False
        if self.device == "cpu" and str(self.fast_dtype).removeprefix("torch.") not in _CPU_DTYPES:
            warnings.warn(
                f"autocast: on the CPU the lower precision is bfloat16 or float16, not {self.fast_dtype}; "
                "autocast stays off.",
                stacklevel=3,
            )
            return False
        return True

    def __enter__(self):
        kind = self.device
        self._before.append(
            (
                torch.is_autocast_cache_enabled(),
                torch.is_autocast_enabled(kind),
                torch.get_autocast_dtype(kind),
            )
        )
        torch.set_autocast_enabled(kind, self._enabled)
        torch.set_autocast_dtype(kind, self.fast_dtype)
        torch.autocast_increment_nesting()
        torch.set_autocast_cache_enabled(self._cache_enabled)
        return self

    def __exit__(self, exc_type=None, exc_val=None, exc_tb=None):
        cache_enabled, enabled, dtype = self._before.pop()
        if torch.autocast_decrement_nesting() == 0:
            torch.clear_autocast_cache()
        torch.set_autocast_enabled(self.device, enabled)
        torch.set_autocast_dtype(self.device, dtype)
        torch.set_autocast_cache_enabled(cache_enabled)
        return False

    def __call__(self, func):
        """As a decorator: ``func`` runs in such a region."""
        return autocast_decorator(self, func)


def _enter_autocast(*vals):
    """The region of these arguments, entered."""
    mode = autocast(*vals)
    mode.__enter__()
    return mode


def _exit_autocast(mode):
    """Leave what :func:`_enter_autocast` entered."""
    mode.__exit__(None, None, None)


def _cast(value, device_type, dtype):
    """``value`` with the floating tensors of the device in it cast; float64 stays."""
    if isinstance(value, torch.Tensor):
        floating = value.is_floating_point() and value.dtype != torch.float64
        return value.to(dtype) if floating and value.device.type == device_type else value
    if isinstance(value, (str, bytes)):
        return value
    if isinstance(value, collections.abc.Mapping):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, collections.abc.Iterable) and not hasattr(value, "__array__"):
        items = (_cast(item, device_type, dtype) for item in value)
        return type(value)(items) if isinstance(value, (list, tuple)) else items
    return value


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """For ``forward`` of an autograd.Function: what it does under autocast.

    Args:
        device_type: the device type whose autocast is meant.
        cast_inputs: the dtype that floating inputs are cast to under autocast, which is then off inside;
            None: inputs as they are, autocast as it is.

    >>> import ms_adapter.pytorch as torch
    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     @torch.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, grad):
    ...         return 2 * ctx.saved_tensors[0] * grad
    >>> with torch.autocast("cpu"):
    ...     Square.apply(torch.ones(2, dtype=torch.bfloat16)).dtype
    torch.float32
    """
    _require_str("custom_fwd", device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorate_fwd(*args, **kwargs):
        ctx, enabled = args[0], torch.is_autocast_enabled(device_type)
        ctx._dtype = torch.get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = enabled and cast_inputs is None
        if cast_inputs is None or not enabled:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return decorate_fwd


def custom_bwd(bwd=None, *, device_type):
    """For ``backward`` of an autograd.Function: autocast as it was in ``forward``, see :func:`custom_fwd`."""
    _require_str("custom_bwd", device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorate_bwd(*args, **kwargs):
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return decorate_bwd


def _float32_on_cpu(function):
    """For functions without a row: on the CPU autocast lets them compute in float32."""

    @functools.wraps(function)
    def decorate(*args, **kwargs):
        if not torch.is_autocast_enabled("cpu"):
            return function(*args, **kwargs)
        with autocast("cpu", enabled=False):
            return function(*_cast(args, "cpu", torch.float32), **_cast(kwargs, "cpu", torch.float32))

    return decorate


def _require_str(who, device_type):
    if not isinstance(device_type, str):
        raise ValueError(f"{who}: device_type is a str such as 'cpu', not {type(device_type).__name__}.")
    _known(device_type)
