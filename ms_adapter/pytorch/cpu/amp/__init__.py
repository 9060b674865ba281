"""torch.cpu.amp: the older entries of mixed precision on the CPU."""

from .autocast_mode import autocast
from .grad_scaler import GradScaler
