"""The transforms under the module that PyTorch's own code imports them from."""

from .eager_transforms import grad, grad_and_value
from .vmap import vmap

__all__ = ["grad", "grad_and_value", "vmap"]
