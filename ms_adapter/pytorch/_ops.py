"""torch._ops: where older code finds ``torch.ops`` and the types of operators."""

import ms_adapter.pytorch as torch

from .ops import OpOverload, OpOverloadPacket

__all__ = ["OpOverload", "OpOverloadPacket", "ops"]

ops = torch.ops
