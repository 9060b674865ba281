"""torch.linalg: the registry's operators join this module; here is what is no operator."""

from ms_adapter._C import LinAlgError

__all__ = ["LinAlgError"]
