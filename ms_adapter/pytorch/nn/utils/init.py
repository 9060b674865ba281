"""Making modules without the time and the random draws of their initialisation."""

import inspect

import ms_adapter.pytorch as torch

__all__ = ["skip_init"]


def skip_init(module_cls, *args, **kwargs):
    """A module of class ``module_cls`` whose parameters have no values yet.

    >>> import ms_adapter.pytorch as torch
    >>> torch.nn.utils.skip_init(torch.nn.Linear, 1, 5).weight.shape
    torch.Size([5, 1])
    """
    if not issubclass(module_cls, torch.nn.Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, **kwargs, device="meta").to_empty(device=device)
