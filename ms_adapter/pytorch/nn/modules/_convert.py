"""Changing a module's tensors in place: dtype, device, memory format."""

import types
import warnings

import ms_adapter.pytorch as torch


class Convert:
    """The converting half of :class:`Module`."""

    __slots__ = ()

    def _apply(self, fn, recurse=True):
        """Put ``fn(tensor)`` in place of each parameter, gradient and buffer, here and (``recurse``)
        below.
        """
        if recurse:
            for module in self.children():
                module._apply(fn)
        keep_identity = not torch.__future__.get_overwrite_module_params_on_conversion()
        for key, param in self._parameters.items():
            if param is None:
                continue
            grad = param.grad
            with torch.no_grad():
                converted = fn(param)
                converted_grad = None if grad is None else fn(grad)
            to_or_from_meta = "meta" in (converted.device.type, param.device.type)
            if keep_identity and (converted.device.type == param.device.type or not to_or_from_meta):
                param.data = converted
                if grad is not None:
                    grad.data = converted_grad
            else:
                param = self._parameters[key] = torch.nn.Parameter(converted, param.requires_grad)
                if grad is not None:
                    param.grad = converted_grad.requires_grad_(grad.requires_grad)
        for key, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[key] = fn(buffer)
        return self

    def apply(self, fn):
        """Call ``fn`` on every submodule, children first, then on the module itself; returns the module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def cuda(self, device=None):
        """Move everything to the accelerator (``cpu`` where there is none, which is said once)."""
        return self._apply(lambda t: t.cuda(device))

    def npu(self, device=None):
        """Move everything to ``npu``; RuntimeError where there is no such device."""
        return self._apply(lambda t: t.npu(device))

    def cpu(self):
        """Move everything to the CPU."""
        return self._apply(lambda t: t.cpu())

    def type(self, dst_type):
        """Cast all parameters and buffers to ``dst_type``."""
        return self._apply(lambda t: t.type(dst_type))

    def _cast_floating(self, dtype):
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def float(self):
        """Cast the floating-point parameters and buffers to float32."""
        return self._cast_floating(torch.float32)

    def double(self):
        """Cast the floating-point parameters and buffers to float64."""
        return self._cast_floating(torch.float64)

    def half(self):
        """Cast the floating-point parameters and buffers to float16."""
        return self._cast_floating(torch.float16)

    def bfloat16(self):
        """Cast the floating-point parameters and buffers to bfloat16."""
        return self._cast_floating(torch.bfloat16)

    def to_empty(self, *, device, recurse=True):
        """Move everything to ``device`` without its values."""
        return self._apply(lambda t: torch.empty_like(t, device=device), recurse=recurse)

    def to(self, *args, **kwargs):
        """Move and cast: ``to(device=None, dtype=None, non_blocking=False)``, ``to(dtype)``, ``to(tensor)``,
        ``to(memory_format=torch.channels_last)``.

        Only floating-point and complex tensors are cast; the module is changed in place and returned.

        >>> import ms_adapter.pytorch as torch
        >>> torch.nn.Linear(2, 2).to(torch.float64).weight.dtype
        torch.float64
        """
        device, dtype, non_blocking, memory_format = _parse_to(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )
        if dtype is not None and dtype.is_complex:
            warnings.warn(
                "Complex modules are new: some modules may not work with complex parameters or buffers.",
                stacklevel=2,
            )

        def convert(t):
            options = {"device": device, "non_blocking": non_blocking}
            if dtype is not None and (t.is_floating_point() or t.is_complex()):
                options["dtype"] = dtype
            if memory_format is not None and t.dim() in (4, 5):
                options["memory_format"] = memory_format
            try:
                return t.to(**options)
            except NotImplementedError as err:
                if "meta" not in str(err):
                    raise
                raise NotImplementedError(
                    f"{err} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when "
                    "moving module from meta to a different device."
                ) from None

        return self._apply(convert)

    def train(self, mode=True):
        """Set training mode here and in all submodules (dropout, batch norm); returns the module."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        """Set evaluation mode: ``train(False)``."""
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Set ``requires_grad`` of all parameters; returns the module."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Drop the gradients of all parameters, or with ``set_to_none=False`` fill them with zeros."""
        for param in self.parameters():
            if param.grad is None:
                continue
            if set_to_none:
                param.grad = None
            elif param.grad.grad_fn is not None:
                param.grad.detach_().zero_()
            else:
                param.grad.requires_grad_(False).zero_()

    def share_memory(self):
        """Move all tensors to shared memory."""
        return self._apply(lambda t: t.share_memory_())


def _parse_to(
    *args, device=None, dtype=None, non_blocking=False, copy=False, memory_format=None, tensor=None
):
    """The arguments of ``to`` in their three forms as (device, dtype, non_blocking, memory_format)."""
    rest = list(args)
    if rest and isinstance(rest[0], torch.Tensor):
        tensor = rest.pop(0)
    elif rest and isinstance(rest[0], torch.dtype):
        dtype = rest.pop(0)
    elif rest:
        device = rest.pop(0)
        if rest and (rest[0] is None or isinstance(rest[0], torch.dtype)):
            dtype = rest.pop(0)
    if rest:
        non_blocking = rest.pop(0)
    if tensor is not None:
        device, dtype = tensor.device, tensor.dtype
    if rest[1:] or not isinstance(non_blocking, bool):
        raise TypeError(
            "to() takes (device, dtype, non_blocking), (dtype, non_blocking) or (tensor, non_blocking)."
        )
    return None if device is None else torch.device(device), dtype, non_blocking, memory_format


torch._C._nn = types.SimpleNamespace(_parse_to=_parse_to)  # where libraries find it
