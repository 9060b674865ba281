"""Where OpenBLAS lies: in the scipy-openblas32 package, wherever that is installed. The core opens it at first use."""

import importlib.util
from pathlib import Path


def library_path() -> str:
    """The library's file, or an empty string where the package is missing (the core's own products then serve)."""
    spec = importlib.util.find_spec("scipy_openblas32")
    if spec is None or spec.origin is None:
        return ""
    found = sorted((Path(spec.origin).parent / "lib").glob("libscipy_openblas.*"))
    return str(found[0]) if found else ""
