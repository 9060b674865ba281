"""The `npu` device: MindSpore on Ascend. What a machine has of it, and the error where it has not
(docs/ascend.md)."""

from __future__ import annotations

import glob
import importlib.metadata
import importlib.util
import os
import sys
from pathlib import Path

from ._package import ASCEND, SUPPORTED, fitting, installed

NODES = ("/dev/davinci[0-9]*", "/dev/davinci_manager")
DRIVER = "/usr/local/Ascend/driver/version.info"
VARIABLES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "ASCEND_OPP_PATH")


def found() -> list[str]:
    """What this machine has of what `npu` needs, one thing a line; MindSpore is not imported for it."""
    said = [f"{name}={os.environ[name]}" for name in VARIABLES if os.environ.get(name)]
    return [
        package(),
        f"device nodes {' '.join(NODES)}: {nodes() or 'none'}",
        f"driver {DRIVER}: {'found' if Path(DRIVER).exists() else 'none'}",
        f"CANN ({', '.join(VARIABLES)}): {', '.join(said) or 'not set'}",
    ]


def nodes() -> str:
    """The device files of Ascend's driver."""
    return " ".join(sorted(path for pattern in NODES for path in glob.glob(pattern)))


def package() -> str:
    """MindSpore's version and the targets that it was built for, or that it says it can run on."""
    if not installed():
        return f"MindSpore: not installed ({SUPPORTED} is wanted)"
    try:
        version = importlib.metadata.version("mindspore")
    except importlib.metadata.PackageNotFoundError:
        version = getattr(sys.modules.get("mindspore"), "__version__", "of unknown version")
    return f"MindSpore: {version}, targets: {', '.join(targets()) or 'unknown'}"


def targets() -> list[str]:
    """MindSpore's targets: those available where it is imported, else those that it has plug-ins for."""
    if (ms := sys.modules.get("mindspore")) is not None and hasattr(ms, "hal"):
        return [t for t in ("CPU", "GPU", "Ascend") if ms.hal.is_available(t)]
    spec = importlib.util.find_spec("mindspore")
    folder = Path(next(iter(spec.submodule_search_locations or ()), "")) if spec else Path()
    plugins = {"CPU": "libmindspore_ops_cpu*", "GPU": "libmindspore_gpu*", "Ascend": "libmindspore_ascend*"}
    return [t for t, name in plugins.items() if any((folder / "lib" / "plugin").glob(name))]


def available() -> bool:
    """Whether there is such a device: the driver's nodes, and a MindSpore that can run on it."""
    if not nodes() or not installed():
        return False
    try:
        return bool(fitting().hal.is_available(ASCEND))
    except RuntimeError:
        return False  # a MindSpore of another version


def bring_up() -> bool:
    """Makes MindSpore's Ascend target the device `npu` where it is available."""
    if not available():
        return False
    from . import backend

    fitting().set_device(ASCEND)
    backend.install("npu")
    return True


def why_not() -> str:
    """The text of the error where there is no `npu`; "" where it has come up."""
    if bring_up():
        return ""
    return (
        f"device 'npu' is MindSpore {SUPPORTED} on an Ascend accelerator, which is not on this machine. "
        f"Looked for: {'; '.join(found())}. "
        "Use device 'mindspore' for MindSpore's CPU target (or run an unchanged script with "
        "`ms-adapter run --device mindspore`), or device 'cpu'; torch.npu.is_available() asks first."
    )
