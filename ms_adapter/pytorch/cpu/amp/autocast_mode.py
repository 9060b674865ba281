"""torch.cpu.amp.autocast_mode: the region of torch.amp under its older name."""

from ms_adapter.pytorch.amp._older import autocast_for

autocast = autocast_for("cpu")
