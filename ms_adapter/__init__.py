"""ms_adapter: PyTorch's face on a C++ core of its own, with MindSpore as a device."""

import importlib.util as _util
import os as _os

# OpenMP reads this when the core loads it: idle threads sleep after some 50 us, not spin for milliseconds.
if "OMP_WAIT_POLICY" not in _os.environ:
    _os.environ.setdefault("GOMP_SPINCOUNT", "2000")

__version__ = "0.1.0"

if _util.find_spec("ms_adapter._C") is None:
    raise ImportError(
        "ms_adapter: the compiled module is not beside these sources. Build it here with `make dev`, or "
        "start Python in another folder to use the installed package."
    )


def fallback_report() -> list[tuple[str, int, str]]:
    """(operator, calls, why) of what the device `mindspore` computed on `cpu`, most frequent first.

    Empty where nothing fell back, and so where there is no MindSpore (docs/mindspore.md).

    >>> fallback_report()
    []
    """
    from ms_adapter.mindspore import backend  # only now: the package's own import stays cheap

    return backend.fallback_report()
