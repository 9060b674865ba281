"""DataParallel: splits a batch over several accelerators; with one device it is the module itself."""

import ms_adapter.pytorch as torch

from ..modules.module import Module

__all__ = ["DataParallel", "data_parallel"]


def _checked_ids(device_ids):
    """The accelerators to use, at most one: there is no splitting."""
    ids = list(range(torch.cuda.device_count())) if device_ids is None else list(device_ids)
    if not torch.cuda.is_available():
        return []
    if len(ids) > 1:
        raise NotImplementedError(
            f"DataParallel: splitting a batch over {len(ids)} devices is not supported: pass "
            "device_ids=[0], or run one process for each device."
        )
    return ids


class DataParallel(Module):
    """Holds a module as ``module``, so that states have the keys that PyTorch's DataParallel gives them.

    >>> import ms_adapter.pytorch as torch
    >>> list(torch.nn.DataParallel(torch.nn.Linear(1, 1)).state_dict())
    ['module.weight', 'module.bias']
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module = module
        self.device_ids = _checked_ids(device_ids)
        if self.device_ids:
            self.dim = dim
            self.output_device = self.device_ids[0] if output_device is None else output_device
            module.to(f"cuda:{self.device_ids[0]}")

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """Call ``module`` as DataParallel would."""
    _checked_ids(device_ids)
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*inputs, **(module_kwargs or {}))
