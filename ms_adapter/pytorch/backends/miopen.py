"""torch.backends.miopen: AMD's library; not here; its switch is kept as it is set."""

from ._switches import switches

set_flags, flags = switches(__name__, {"immediate": False}, immediate=False)
