"""What `ms_adapter.mindspore` gives of MindSpore's own names where MindSpore is not installed."""

import numpy as np
import pytest

import ms_adapter.mindspore as ms
import ms_adapter.pytorch as torch
from ms_adapter.mindspore._package import installed

pytestmark = pytest.mark.skipif(installed(), reason="MindSpore is installed: these names are its own")


def test_dtypes_and_tensors():
    assert (ms.float16, ms.int32, ms.bool_) == (torch.float16, torch.int32, torch.bool)
    x = ms.Tensor(np.array([1, 2], np.int32))
    assert isinstance(x, ms.Tensor) and isinstance(x, torch.Tensor) and x.dtype == torch.int32
    assert ms.Tensor(1.5, ms.float16).dtype == torch.float16
    source = np.zeros(2)
    copied = ms.Tensor(source)
    source[0] = 1
    assert copied.tolist() == [0, 0]


def test_managers_and_the_rest():
    assert ms.FixedLossScaleManager(8.0, False).get_update_cell() is None
    assert ms.amp.DynamicLossScaleManager is ms.DynamicLossScaleManager
    assert ms.context.PYNATIVE_MODE == 1
    with pytest.raises(AttributeError, match="has no 'dataset' of its own, and MindSpore"):
        _ = ms.dataset
