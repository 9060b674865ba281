"""torch.nn.functional: what PyTorch writes in Python, by family; the registry's operators join at import."""

from types import FunctionType as _FunctionType

from .._overridable import overridable as _overridable
from ._functional.activation import *  # noqa: F403
from ._functional.activation import _threshold  # noqa: F401 - PyTorch's other name for it
from ._functional.attention import *  # noqa: F403
from ._functional.attention import _canonical_mask, _none_or_dtype  # noqa: F401 - libraries take them from here
from ._functional.layers import *  # noqa: F403
from ._functional.loss import *  # noqa: F403
from ._functional.more_loss import *  # noqa: F403
from ._functional.more_pooling import *  # noqa: F403
from ._functional.pool_indices import *  # noqa: F403
from ._functional.resize import *  # noqa: F403
from ._functional.sequence_loss import *  # noqa: F403

for _value in list(vars().values()):
    if isinstance(_value, _FunctionType) and _value.__module__.startswith(f"{__package__}._functional."):
        _value.__module__ = __name__  # where pickles look for it

_overridable(vars(), [n for n, value in vars().items() if n[0] != "_" and isinstance(value, _FunctionType)])
