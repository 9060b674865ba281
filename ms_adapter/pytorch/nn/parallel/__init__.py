"""torch.nn.parallel: models over several devices, of which this process has one."""

from .data_parallel import DataParallel, data_parallel
from .distributed import DistributedDataParallel
