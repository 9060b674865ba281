"""torch.xpu: the answers of a machine without such a device."""

from . import _no_accelerator

_no_accelerator.fill(__name__)
