"""torch.cpu.amp.grad_scaler: the scaler of torch.amp under its older name."""

from ms_adapter.pytorch.amp._older import grad_scaler_for
from ms_adapter.pytorch.amp.grad_scaler import OptState  # noqa: F401 - libraries take it from here

GradScaler = grad_scaler_for("cpu")
