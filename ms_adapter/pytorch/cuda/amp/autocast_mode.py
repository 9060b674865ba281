"""torch.cuda.amp.autocast_mode: the region of torch.amp under its older name."""

from ms_adapter.pytorch.amp._older import autocast_for, custom_functions_for

autocast = autocast_for("cuda")
custom_fwd, custom_bwd = custom_functions_for("cuda")
