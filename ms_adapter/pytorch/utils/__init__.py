"""torch.utils: data loading, hooks and other helpers."""

from . import _mode_utils, _python_dispatch, _pytree, data, hooks
