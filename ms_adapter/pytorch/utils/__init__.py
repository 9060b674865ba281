"""torch.utils: data loading, hooks and other helpers."""

from . import _pytree, data, hooks
