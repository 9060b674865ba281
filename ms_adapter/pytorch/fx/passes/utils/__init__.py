"""torch.fx.passes.utils: finding parts of graphs."""

from . import matcher_utils
