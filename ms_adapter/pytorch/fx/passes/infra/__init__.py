"""torch.fx.passes.infra: passes as objects."""

from . import pass_base
