"""What depends on which build of PyTorch is the reference: a CUDA build asks for a driver."""

from __future__ import annotations

import pytest
import torch

asks_no_driver = pytest.mark.skipif(
    torch.version.cuda is not None and not torch.cuda.is_available(),
    reason="this PyTorch is built for CUDA and asks its driver, which is not here; its CPU build answers",
)
