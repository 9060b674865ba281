"""torch.cuda.amp: the older entries of mixed precision on CUDA."""

from .autocast_mode import autocast, custom_bwd, custom_fwd
from .common import amp_definitely_not_available
from .grad_scaler import GradScaler
