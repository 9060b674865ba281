"""torch.testing: comparing tensors and making them."""

from ._comparison import assert_allclose, assert_close
from ._creation import make_tensor
