"""torch.serialization: saving and loading in PyTorch's file formats."""

import ms_adapter.pytorch as torch

from .loading import get_unsafe_globals_in_checkpoint, load
from .locations import default_restore_location, location_tag, register_package
from .options import (
    LoadEndianness,
    SourceChangeWarning,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
    set_crc32_options,
    set_default_load_endianness,
    set_default_mmap_options,
    skip_data,
)
from .safe_globals import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from .saving import DEFAULT_PROTOCOL, save


def _get_layout(name):
    """The layout called ``name``: what files hold in a layout's place."""
    layout = getattr(torch, name.removeprefix("torch."), None)
    if not isinstance(layout, torch.layout):
        raise ValueError(f"torch.load: unknown layout {name[:40]!r}.")
    return layout
