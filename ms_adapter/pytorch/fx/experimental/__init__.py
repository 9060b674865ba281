"""torch.fx.experimental: what PyTorch keeps there and code in the wild uses."""

from . import optimization, symbolic_shapes
