"""torch.utils.benchmark: how long statements take, measured so that numbers can be compared."""

from ._compare import Colorize, Compare
from ._measure import (
    Measurement,
    TaskSpec,
    ordered_unique,
    select_unit,
    set_torch_threads,
    trim_sigfig,
    unit_to_english,
)
from ._timer import Language, Timer, timer
