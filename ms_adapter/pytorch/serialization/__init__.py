"""torch.serialization: saving and loading in PyTorch's file formats."""

import ms_adapter.pytorch as torch

from .loading import default_restore_location, get_unsafe_globals_in_checkpoint, load
from .safe_globals import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from .saving import DEFAULT_PROTOCOL, save


def _get_layout(name):
    """The layout called ``name``: what files hold in a layout's place."""
    layout = getattr(torch, name.removeprefix("torch."), None)
    if not isinstance(layout, torch.layout):
        raise ValueError(f"torch.load: unknown layout {name!r}.")
    return layout
