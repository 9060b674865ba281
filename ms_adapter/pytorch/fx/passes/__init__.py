"""torch.fx.passes: what is done to whole graphs."""

from . import infra, shape_prop, split_module, utils
