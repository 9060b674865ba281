"""torchvision, as installed and unmodified, on ms_adapter: ``import ms_adapter.torchvision as torchvision``.

Where the process has made `torch` mean ms_adapter (``ms-adapter run``, ``torch_alias.install()``), these
are the very modules that ``import torchvision`` gives. Elsewhere torchvision's files are loaded once more,
under this name, with their ``import torch`` bound to ``ms_adapter.pytorch``: PyTorch and its torchvision may
be used beside.

>>> import ms_adapter.pytorch as torch
>>> import ms_adapter.torchvision as torchvision
>>> boxes = torch.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 2.1], [5.0, 5.0, 6.0, 6.0]])
>>> torchvision.ops.nms(boxes, torch.tensor([0.1, 0.9, 0.5]), 0.5)
tensor([1, 2])
"""

from ms_adapter._torchvision import load

load(__name__)
