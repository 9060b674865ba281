"""Convolutions and transposed convolutions in one, two and three dimensions."""

import inspect
import math

import ms_adapter.pytorch as torch

from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module
from .utils import _ntuple, _reverse_repeat_tuple

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """What all convolutions share; sizes are tuples with one entry for each spatial dimension."""

    __constants__ = [
        "stride",
        "padding",
        "dilation",
        "groups",
        "padding_mode",
        "output_padding",
        "in_channels",
        "out_channels",
        "kernel_size",
    ]

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride,
        padding,
        dilation,
        transposed,
        output_padding,
        groups,
        bias,
        padding_mode,
        device=None,
        dtype=None,
    ):
        super().__init__()
        _check(in_channels, out_channels, stride, padding, groups, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = _explicit_padding(padding, kernel_size, dilation)
        self.weight = Parameter(torch.empty(self._weight_shape(), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(torch.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _weight_shape(self):
        channels = [self.out_channels, self.in_channels]
        if self.transposed:
            channels.reverse()
        return channels[0], channels[1] // self.groups, *self.kernel_size

    def reset_parameters(self):
        """Draw weight and bias uniformly from ``+-1 / sqrt(fan_in)``."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def _conv_forward(self, input, weight, bias):
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = (0,) * len(self.kernel_size)
        return self._convolve(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input):
        return self._conv_forward(input, self.weight, self.bias)

    def extra_repr(self):
        n = len(self.kernel_size)
        parts = [
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        ]
        if self.padding != (0,) * len(self.padding):
            parts.append(f"padding={self.padding}")
        if self.dilation != (1,) * n:
            parts.append(f"dilation={self.dilation}")
        if self.output_padding != (0,) * n:
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)

    def __setstate__(self, state):
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


def _check(in_channels, out_channels, stride, padding, groups, padding_mode):
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups != 0:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups != 0:
        raise ValueError("out_channels must be divisible by groups")
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of 'same', 'valid'")
        if padding == "same" and any(s != 1 for s in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if padding_mode not in _PADDING_MODES:
        raise ValueError(
            f"padding_mode must be one of {_PADDING_MODES}, but got padding_mode='{padding_mode}'"
        )


def _explicit_padding(padding, kernel_size, dilation):
    """The padding as ``F.pad`` takes it, both ends of each dimension, last dimension first."""
    if not isinstance(padding, str):
        return _reverse_repeat_tuple(padding, 2)
    pairs = []
    for d, k in zip(reversed(dilation), reversed(kernel_size), strict=True):
        total = d * (k - 1) if padding == "same" else 0
        pairs += [total // 2, total - total // 2]
    return pairs


def _conv_class(n):
    """The constructor of the n-dimensional convolution: each size may be one number or n."""
    expand = _ntuple(n)

    class Conv(_ConvNd):
        def __init__(
            self,
            in_channels,
            out_channels,
            kernel_size,
            stride=1,
            padding=0,
            dilation=1,
            groups=1,
            bias=True,
            padding_mode="zeros",
            device=None,
            dtype=None,
        ):
            super().__init__(
                in_channels,
                out_channels,
                expand(kernel_size),
                expand(stride),
                padding if isinstance(padding, str) else expand(padding),
                expand(dilation),
                False,
                expand(0),
                groups,
                bias,
                padding_mode,
                device=device,
                dtype=dtype,
            )

    return Conv


def _conv_transpose_class(n):
    """The constructor and forward of the n-dimensional transposed convolution."""
    expand = _ntuple(n)

    class ConvTranspose(_ConvTransposeNd):
        def __init__(
            self,
            in_channels,
            out_channels,
            kernel_size,
            stride=1,
            padding=0,
            output_padding=0,
            groups=1,
            bias=True,
            dilation=1,
            padding_mode="zeros",
            device=None,
            dtype=None,
        ):
            super().__init__(
                in_channels,
                out_channels,
                expand(kernel_size),
                expand(stride),
                expand(padding),
                expand(dilation),
                True,
                expand(output_padding),
                groups,
                bias,
                padding_mode,
                device=device,
                dtype=dtype,
            )

    return ConvTranspose


class _ConvTransposeNd(_ConvNd):
    def __init__(self, *args, **kwargs):
        padding_mode = args[10]
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(*args, **kwargs)

    def _output_padding(self, input, output_size):
        """The output padding that makes the output ``output_size`` large."""
        if output_size is None:
            return self.output_padding
        n = len(self.kernel_size)
        leading = input.dim() - n
        if len(output_size) == leading + n:
            output_size = output_size[leading:]
        if len(output_size) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} or {leading + n} "
                f"elements (got {len(output_size)})"
            )
        smallest = [
            (size - 1) * s - 2 * p + d * (k - 1) + 1
            for size, s, p, d, k in zip(
                input.shape[leading:], self.stride, self.padding, self.dilation, self.kernel_size, strict=True
            )
        ]
        largest = [low + s - 1 for low, s in zip(smallest, self.stride, strict=True)]
        if any(
            not low <= size <= high for low, size, high in zip(smallest, output_size, largest, strict=True)
        ):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {smallest} to "
                f"{largest} (for an input of {input.size()[2:]})"
            )
        return [size - low for size, low in zip(output_size, smallest, strict=True)]

    def forward(self, input, output_size=None):
        output_padding = self._output_padding(input, output_size)
        return self._convolve(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            output_padding,
            self.groups,
            self.dilation,
        )


class Conv1d(_conv_class(1)):
    """Convolution of (N, C_in, L) to (N, C_out, L_out)."""

    def _convolve(self, *args):
        return F.conv1d(*args)


class Conv2d(_conv_class(2)):
    """Convolution of (N, C_in, H, W) to (N, C_out, H_out, W_out).

    >>> import ms_adapter.pytorch as torch
    >>> torch.nn.Conv2d(3, 8, 3, padding=1)(torch.randn(1, 3, 5, 5)).shape
    torch.Size([1, 8, 5, 5])
    """

    def _convolve(self, *args):
        return F.conv2d(*args)


class Conv3d(_conv_class(3)):
    """Convolution of (N, C_in, D, H, W) to (N, C_out, D_out, H_out, W_out)."""

    def _convolve(self, *args):
        return F.conv3d(*args)


class ConvTranspose1d(_conv_transpose_class(1)):
    """Transposed convolution of (N, C_in, L): the gradient of Conv1d with respect to its input."""

    def _convolve(self, *args):
        return F.conv_transpose1d(*args)


class ConvTranspose2d(_conv_transpose_class(2)):
    """Transposed convolution of (N, C_in, H, W): the gradient of Conv2d with respect to its input."""

    def _convolve(self, *args):
        return F.conv_transpose2d(*args)


class ConvTranspose3d(_conv_transpose_class(3)):
    """Transposed convolution of (N, C_in, D, H, W): the gradient of Conv3d with respect to its input."""

    def _convolve(self, *args):
        return F.conv_transpose3d(*args)


class _LazyConvNd(LazyModuleMixin):
    """What lazy convolutions add to ``cls_to_become``, beside which they stand as a base."""

    def __init__(self, *args, **kwargs):
        given = inspect.signature(self.cls_to_become).bind(0, *args, **kwargs).arguments
        bias, out_channels = given.pop("bias", True), given.pop("out_channels")
        super().__init__(**given, out_channels=0, bias=False)
        self.out_channels = out_channels
        place = {"device": given.get("device"), "dtype": given.get("dtype")}
        self.weight = UninitializedParameter(**place)
        if bias:
            self.bias = UninitializedParameter(**place)

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        parameters = inspect.signature(cls.cls_to_become).parameters
        cls.__signature__ = inspect.Signature([p for p in parameters.values() if p.name != "in_channels"])

    def reset_parameters(self):
        """As the ordinary convolution's, once the size is known."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input, *args, **kwargs):
        """Take ``in_channels`` from the channels of ``input``."""
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._channels_of(input)
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        self.weight.materialize(self._weight_shape())
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _channels_of(self, input):
        spatial = len(self.kernel_size)
        if input.dim() not in (spatial + 1, spatial + 2):
            raise RuntimeError(
                f"Expected {spatial + 1}D (unbatched) or {spatial + 2}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {list(input.shape)}"
            )
        return input.shape[-spatial - 1]


class LazyConv1d(_LazyConvNd, Conv1d):
    """A Conv1d that takes ``in_channels`` from its first input."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConvNd, Conv2d):
    """A Conv2d that takes ``in_channels`` from its first input."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyConvNd, Conv3d):
    """A Conv3d that takes ``in_channels`` from its first input."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvNd, ConvTranspose1d):
    """A ConvTranspose1d that takes ``in_channels`` from its first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvNd, ConvTranspose2d):
    """A ConvTranspose2d that takes ``in_channels`` from its first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvNd, ConvTranspose3d):
    """A ConvTranspose3d that takes ``in_channels`` from its first input."""

    cls_to_become = ConvTranspose3d
