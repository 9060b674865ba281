"""FakeTensorMode: operators run on shapes alone, on tensors that say they are on a real device."""

import ms_adapter.pytorch as torch

from ..utils._python_dispatch import TorchDispatchMode
from ..utils._pytree import tree_leaves, tree_map_only

__all__ = ["DataDependentOutputException", "FakeTensor", "FakeTensorMode", "UnsupportedFakeTensorException"]


class UnsupportedFakeTensorException(RuntimeError):
    """Something that cannot be done without data."""


class DataDependentOutputException(UnsupportedFakeTensorException):
    """A number that only data can give."""


class FakeTensor(torch.Tensor):
    """A tensor without data: ``fake_device`` is where it says it is, its operators run on the meta device."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, fake_mode, elem, device, constant=None):
        return torch.Tensor._make_wrapper_subclass(
            cls,
            elem.size(),
            strides=elem.stride(),
            storage_offset=elem.storage_offset(),
            dtype=elem.dtype,
            device=device,
            requires_grad=elem.requires_grad,
        )

    def __init__(self, fake_mode, elem, device, constant=None):
        self.fake_mode, self._elem, self.fake_device, self.constant = fake_mode, elem, device, constant

    @staticmethod
    def from_tensor(t, fake_mode):
        """A fake like a tensor."""
        return fake_mode.from_tensor(t)

    def __repr__(self, *, tensor_contents=None):
        return f"FakeTensor(..., size={tuple(self.shape)}, dtype={self.dtype}, device='{self.fake_device}')"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        fake = next(t for t in tree_leaves((args, kwargs)) if isinstance(t, FakeTensor))
        return fake.fake_mode.dispatch(func, args, kwargs or {})


class FakeTensorMode(TorchDispatchMode):
    """Inside, what makes tensors makes fakes; operators on fakes give fakes, and no data is touched.

    ``allow_non_fake_inputs`` lets real tensors meet fakes. What needs data (``item()``, ``nonzero``) raises.

    >>> import ms_adapter.pytorch as torch
    >>> from ms_adapter.pytorch._subclasses.fake_tensor import FakeTensorMode
    >>> with FakeTensorMode():
    ...     x = torch.empty(1000, 2) @ torch.empty(2, 5)
    >>> x
    FakeTensor(..., size=(1000, 5), dtype=torch.float32, device='cpu')
    """

    def __init__(
        self, *, allow_fallback_kernels=True, allow_non_fake_inputs=False, shape_env=None, **options
    ):
        super().__init__()
        self.allow_non_fake_inputs, self.shape_env = allow_non_fake_inputs, shape_env

    def from_tensor(self, tensor, *, static_shapes=None, **options):
        """A fake like ``tensor``, on the same device."""
        if isinstance(tensor, FakeTensor):
            return tensor
        meta = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="meta")
        return FakeTensor(self, meta.requires_grad_(tensor.requires_grad), tensor.device)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return self.dispatch(func, args, kwargs or {})

    def dispatch(self, func, args, kwargs):
        """Runs an operator on the meta device and gives its results the device that they would have."""
        tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        fakes = [t for t in tensors if isinstance(t, FakeTensor)]
        if fakes and len(fakes) < len(tensors) and not self.allow_non_fake_inputs:
            raise RuntimeError(
                f"Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with "
                f"'allow_non_fake_inputs'. Found in {func}"
            )
        device = kwargs.get("device") or (fakes[0].fake_device if fakes else None)
        if tensors and not fakes:
            return func(*args, **kwargs)  # real tensors among themselves
        if not tensors:
            device = device or torch.get_default_device()
        with torch.no_grad():
            plain, named = tree_map_only(torch.Tensor, self._meta, (args, kwargs))
            if "device" in kwargs or not tensors:
                named["device"] = "meta"
            try:
                made = func(*plain, **named)
            except (RuntimeError, NotImplementedError) as err:
                raise DataDependentOutputException(f"{func}: {err}") from err
        return self._wrapped(func, made, args, torch.device(device))

    def _meta(self, tensor):
        if isinstance(tensor, FakeTensor):
            return tensor._elem
        return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="meta")

    def _wrapped(self, func, made, args, device):
        """Fakes for the results; an operator in place gives its first argument."""
        if args and isinstance(args[0], FakeTensor) and made is args[0]._elem:
            return args[0]
        return tree_map_only(torch.Tensor, lambda t: FakeTensor(self, t, device), made)


def is_fake(x):
    """Whether a value is a fake tensor, or a subclass's tensor made of fake ones."""
    if isinstance(x, FakeTensor):
        return True
    flatten = getattr(type(x), "__tensor_flatten__", None)
    return flatten is not None and all(is_fake(getattr(x, name)) for name in flatten(x)[0])
