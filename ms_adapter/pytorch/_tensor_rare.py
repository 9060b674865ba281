"""Methods and attributes of Tensor that are rarely called: old names, element-wise Python, other devices."""

import warnings

import ms_adapter.pytorch as torch

from . import _standin


def _no_device(name):
    def move(self, device=None, non_blocking=False, **kwargs):
        raise RuntimeError(
            f'Tensor.{name}: ms_adapter has no {name} devices: "cpu" and "mindspore" are those there are.'
        )

    move.__name__ = name
    return move


def _not_quantized(name):
    def of_quantized(self):
        raise NotImplementedError(
            f"Tensor.{name}: quantized tensors are not supported; this one has the dtype {self.dtype}."
        )

    of_quantized.__name__ = name
    return of_quantized


class RareMethods:
    """What is attached to the type Tensor, under these names."""

    def apply_(self, callable):
        """Each element replaced by ``callable(element)``, one Python call each."""
        return self._replaced(callable)

    def map_(self, tensor, callable):
        """Each element replaced by ``callable(element, element of tensor)``."""
        return self._replaced(callable, tensor)

    def map2_(self, x, y, callable):
        """Each element replaced by ``callable(element, element of x, element of y)``."""
        return self._replaced(callable, x, y)

    def _replaced(self, callable, *others):
        if self.requires_grad:
            raise RuntimeError("Can't call apply_, map_ or map2_ on a Variable that requires grad.")
        flat = [tensor.broadcast_to(self.shape).reshape(-1).tolist() for tensor in (self, *others)]
        made = [callable(*elements) for elements in zip(*flat, strict=True)]
        return self.copy_(torch.tensor(made, dtype=self.dtype).reshape(self.shape))

    def new(self, *args, device=None):
        """A tensor of this dtype and device: of given sizes (uninitialised), or with given data.

        Deprecated: ``new_empty``, ``new_tensor`` and their like say which is meant.
        """
        if device is not None and torch.device(device).type != self.device.type:
            raise RuntimeError(
                f"Tensor.new: expected device {self.device}, as the tensor's, but got {torch.device(device)}."
            )
        if len(args) == 1 and isinstance(args[0], torch.Tensor):
            return args[0].detach()
        if len(args) == 1 and isinstance(args[0], (torch.UntypedStorage, torch.TypedStorage)):
            return self.new_empty(0).set_(args[0])
        if len(args) == 1 and not isinstance(args[0], (int, torch.Size)):
            return self.new_tensor(args[0])
        return self.new_empty(args[0] if args and isinstance(args[0], torch.Size) else args or (0,))

    def dim_order(self, *, ambiguity_check=False):
        """The dimensions from the largest stride to the smallest."""
        return tuple(sorted(range(self.dim()), key=lambda d: -self.stride(d)))

    def const_data_ptr(self):
        """``data_ptr`` of memory that is not to be written."""
        return self.data_ptr()

    def storage_type(self):
        """The class of the typed storage, as ``torch.FloatStorage``."""
        return getattr(torch, torch.storage._STEMS[str(self.dtype)[6:]] + "Storage")

    def pin_memory(self, device=None):
        """The tensor: pages that are locked for an accelerator are nothing to the CPU in its place."""
        _standin.meant()
        return self

    def dequantize(self):
        """The tensor as float32; quantized tensors are not supported."""
        return self.float()

    def resize(self, *sizes):
        """:meth:`reshape`. Deprecated: ``resize_`` and ``reshape`` say which is meant."""
        warnings.warn("non-inplace resize is deprecated", stacklevel=2)
        return self.reshape(*sizes)

    def resize_as(self, tensor):
        """:meth:`reshape` to the shape of ``tensor``. Deprecated."""
        warnings.warn("non-inplace resize_as is deprecated", stacklevel=2)
        return self.reshape(tensor.shape)

    def reinforce(self, reward):
        """Removed from PyTorch: its message names ``torch.distributions``."""
        raise RuntimeError("reinforce() was removed: use torch.distributions and log_prob instead.")

    def eig(self, eigenvectors=False):
        """Removed from PyTorch, see ``torch.linalg.eig``."""
        return torch.eig(self)

    def lstsq(self, other):
        """Removed from PyTorch, see ``torch.linalg.lstsq``."""
        return torch.lstsq(self, other)

    def solve(self, other):
        """Removed from PyTorch, see ``torch.linalg.solve``."""
        return torch.solve(self, other)

    def symeig(self, eigenvectors=False):
        """Removed from PyTorch, see ``torch.linalg.eigh``."""
        return torch.symeig(self)

    def is_distributed(self):
        """False: a tensor lies in one process."""
        return False

    def __div__(self, other):
        return torch.div(self, other)

    def __idiv__(self, other):
        return self.div_(other)

    def __nonzero__(self):
        return bool(self)

    def __long__(self):
        return int(self)

    def _is_all_true(self):
        """Whether all elements of a bool tensor are true, as a 0-d tensor."""
        return self.all()

    def _is_any_true(self):
        """Whether any element of a bool tensor is true, as a 0-d tensor."""
        return self.any()

    ipu, mtia, xpu = (_no_device(name) for name in ("ipu", "mtia", "xpu"))
    (
        int_repr,
        q_per_channel_axis,
        q_per_channel_scales,
        q_per_channel_zero_points,
        q_scale,
        q_zero_point,
        qscheme,
    ) = (
        _not_quantized(name)
        for name in (
            "int_repr",
            "q_per_channel_axis",
            "q_per_channel_scales",
            "q_per_channel_zero_points",
            "q_scale",
            "q_zero_point",
            "qscheme",
        )
    )
    volatile = property(lambda self: False, doc="False: it was removed from PyTorch.")
    name = property(lambda self: None, doc="None: tensors have no names.")
    grad_dtype = property(lambda self: self.dtype, doc="The dtype that the gradient has.")
    is_ipu = is_maia = is_mtia = is_vulkan = is_xla = property(
        lambda self: False, doc="False: no such device."
    )
