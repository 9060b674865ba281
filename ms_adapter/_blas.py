"""Where OpenBLAS lies: in the scipy-openblas32 package. The core opens it when a product is worth it."""

import importlib.util
from pathlib import Path


def library_path() -> str:
    """The library's file; empty where the package is missing, and the core's own products serve."""
    spec = importlib.util.find_spec("scipy_openblas32")
    if spec is None or spec.origin is None:
        return ""
    found = sorted((Path(spec.origin).parent / "lib").glob("libscipy_openblas.*"))
    return str(found[0]) if found else ""
