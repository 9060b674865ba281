"""Runs a case in its own process, `python -m ecosystem.child ours|torch CASE`, and ends with what it met."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from ecosystem import cuda_stand_ins
from ecosystem.install import refuse_torch

_kept: list[Any] = []


VISION_OPERATORS = {
    "nms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
}


def name_vision_operators(torch: Any) -> None:
    """Let torchvision be imported beside a PyTorch without CUDA.

    PyPI's torchvision has its operators in a library that needs CUDA's: it gets stand-ins for them. Where
    these cannot be made, torchvision fails to describe the operators it lacks; named, they are there, and
    raise when called.
    """
    try:
        if cuda_stand_ins.load():
            return
    except (OSError, subprocess.CalledProcessError) as err:
        print(f"torchvision's own operators are left out: {err}", file=sys.stderr)
    library = torch.library.Library("torchvision", "DEF")
    for name, signature in VISION_OPERATORS.items():
        library.define(name + signature)
    _kept.append(library)  # the names go with it


def become_ours() -> None:
    """Make `import torch` mean us, here and in processes started from here; refused beside PyTorch itself."""
    from ms_adapter import torch_alias

    refuse_torch()
    torch_alias.install()
    torch_alias.install_in_children()


def prepare(side: str) -> None:
    """Make `import torch` mean the side's."""
    if side == "ours":
        become_ours()
    import torch

    if side == "torch" and not torch.version.cuda:
        name_vision_operators(torch)


def main(side: str, case: str) -> None:
    start = time.perf_counter()
    prepare(side)
    import torch

    imported = time.perf_counter()
    sys.path.insert(0, str(Path(case).parent))
    sys.argv = [case]
    runpy.run_path(case, run_name="__main__")
    end = {
        "torch": torch.__name__,
        "import_seconds": imported - start,
        "seconds": time.perf_counter() - start,
    }
    if side == "ours":
        from ms_adapter.pytorch import _placeholders

        end["stubs"] = _placeholders.met()
    print("\n@end " + json.dumps(end), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
