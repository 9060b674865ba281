"""Writing what a tool made, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Put the bytes where the file was, with its mode; until then the old file stays."""
    from ms_adapter.pytorch.serialization.atomic import replacing

    with replacing(path) as descriptor, os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(data)
