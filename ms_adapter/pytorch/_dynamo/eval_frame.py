"""What ``torch.compile`` makes of a module: the module in a wrapper, whose state_dict has PyTorch's keys."""

import ms_adapter.pytorch as torch

__all__ = ["OptimizedModule"]


class OptimizedModule(torch.nn.Module):
    """Calls ``_orig_mod``; all that it has not itself is that module's.

    >>> import ms_adapter.pytorch as torch
    >>> list(OptimizedModule(torch.nn.Linear(1, 1)).state_dict())
    ['_orig_mod.weight', '_orig_mod.bias']
    """

    def __init__(self, mod, dynamo_ctx=None):
        super().__init__()
        self._orig_mod = mod
        self._compiled_call = dynamo_ctx  # what runs in the module's place, by captured graphs
        self.training = mod.training

    def forward(self, *args, **kwargs):
        """The module's result."""
        return (self.__dict__.get("_compiled_call") or self._orig_mod)(*args, **kwargs)

    def train(self, mode=True):
        """Sets the module's mode."""
        super().train(mode)
        return self

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == "_orig_mod":
                raise
            return getattr(super().__getattr__("_orig_mod"), name)

    def __setattr__(self, name, value):
        inside = self.__dict__.get("_modules", {}).get("_orig_mod")
        own = name in ("_orig_mod", "_compiled_call", "training") or name in self.__dict__
        if inside is None or own or name.startswith("_torchdynamo"):
            return super().__setattr__(name, value)
        return setattr(inside, name, value)

    def __reduce__(self):
        return OptimizedModule, (self._orig_mod,)
