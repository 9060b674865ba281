"""Lazy modules: they learn their input's size at the first call, and then become ordinary ones."""

import warnings

import ms_adapter.pytorch as torch

from ..parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Put before a module class, lets its parameters wait for the first call.

    A subclass creates ``UninitializedParameter`` and ``UninitializedBuffer`` objects, gives them their shapes
    in ``initialize_parameters``, which gets what ``forward`` will get, and names in ``cls_to_become`` the
    class that the module then changes to.

    >>> import ms_adapter.pytorch as torch
    >>> layer = torch.nn.LazyLinear(2)
    >>> layer(torch.ones(1, 3)).shape
    torch.Size([1, 2])
    >>> layer
    Linear(in_features=3, out_features=2, bias=True)
    """

    cls_to_become = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)
        warnings.warn(
            "Lazy modules are a new feature under heavy development so changes to the API or functionality "
            "can happen at any moment.",
            stacklevel=3,
        )

    def _own_tensors(self):
        return [*self._parameters.items(), *self._buffers.items()]

    def has_uninitialized_params(self):
        """Whether any of the module's own parameters or buffers still waits for its shape."""
        return any(is_lazy(tensor) for _name, tensor in self._own_tensors())

    def initialize_parameters(self, *args, **kwargs):
        """Give the waiting parameters their shapes, from the arguments of the first call."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}: define it to materialize "
            "the lazy parameters."
        )

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name, tensor in self._own_tensors():  # a detached one would have a shape
            if is_lazy(tensor) and prefix + name in destination:
                destination[prefix + name] = tensor

    def _lazy_load_hook(self, state_dict, prefix, *rest):
        """Take the shapes from a state that is about to be loaded."""
        for name, tensor in self._own_tensors():
            given = state_dict.get(prefix + name)
            if given is not None and is_lazy(tensor) and not is_lazy(given):
                with torch.no_grad():
                    tensor.materialize(given.shape)

    def _infer_parameters(self, module, args, kwargs=None):
        """Runs before the first forward: initialises, and makes this an ordinary module."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook
        del module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self):
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy forward "
            "pass to correctly initialize the modules"
        )
