"""torch.npu.amp: mixed precision under the name that scripts for Ascend use."""

from ...amp import GradScaler
from ...amp._older import autocast_for, custom_functions_for

autocast = autocast_for("npu")
custom_fwd, custom_bwd = custom_functions_for("npu")
