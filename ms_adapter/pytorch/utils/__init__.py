"""torch.utils: data loading, hooks and other helpers."""

from . import data, hooks
