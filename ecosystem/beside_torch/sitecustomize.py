"""Lets PyPI's torchvision, whose operators need CUDA, be imported beside a PyTorch without it.

Python imports this by itself where its folder is on PYTHONPATH: a script's own child processes have it, too.
"""

from __future__ import annotations

import importlib.abc
import sys

# The installation's own, if it has one, is shadowed: on the machines that this runs on it has nothing to say.


class _Before(importlib.abc.MetaPathFinder):
    """Names the missing operators when torchvision is about to be imported, then steps aside."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if fullname == "torchvision":
            sys.meta_path.remove(self)
            import torch

            from ecosystem.child import name_vision_operators

            if not torch.version.cuda:
                name_vision_operators(torch)


sys.meta_path.insert(0, _Before())
