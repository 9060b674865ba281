"""torch.nn.functional: what PyTorch writes in Python, by family; the registry's operators join at import."""
from . import _reduction as _Reduction
from ._functional.activation import *  # noqa: F403
from ._functional.activation import _get_softmax_dim
from ._functional.layers import *  # noqa: F403
from ._functional.layers import _list_with_default, _verify_batch_size
from ._functional.loss import *  # noqa: F403
