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
    with pytest.raises(AttributeError, match="has no 'MnistDataset' of its own, and MindSpore"):
        _ = ms.dataset.MnistDataset


class Source:
    """Rows (x, label) of five samples."""

    def __getitem__(self, i):
        return np.full(2, i, np.float32), i

    def __len__(self):
        return 5


def test_pipelines():
    data = ms.dataset.GeneratorDataset(Source(), ["x", "label"], shuffle=False)
    batched = data.map(lambda x: x * 2, input_columns=["x"]).batch(2, drop_remainder=True).repeat(2)
    assert batched.get_dataset_size() == 4
    assert [label.tolist() for _, label in batched] == [[0, 1], [2, 3]] * 2
    first = next(iter(batched.create_dict_iterator(output_numpy=True)))
    assert first["x"].tolist() == [[0, 0], [2, 2]] and first["x"].dtype == np.float32
    assert [int(label) for _, label in data.skip(1).take(2)] == [1, 2]
    assert len(data.batch(2)) == 3
    for shuffled in (data.shuffle(3), ms.dataset.GeneratorDataset(Source(), ["x", "label"])):
        assert sorted(int(label) for _, label in shuffled) == list(range(5))
    given = ms.dataset.GeneratorDataset(lambda: iter([1, 2]), "x")
    assert [int(x) for (x,) in given] == [1, 2] == [int(x) for (x,) in given]
    sliced = ms.dataset.NumpySlicesDataset((np.eye(3), np.arange(3)), ["x", "y"], shuffle=False)
    assert [int(y) for _, y in sliced] == [0, 1, 2]
    with pytest.raises(NotImplementedError, match="sampler"):
        ms.dataset.GeneratorDataset(Source(), ["x", "label"], sampler=None)


def test_a_model_trains_on_a_pipeline():
    losses = []
    for way in ("dataset", "PyTorch's"):
        torch.manual_seed(0)
        net, loss_fn = torch.nn.Linear(2, 5), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        data = ms.dataset.GeneratorDataset(Source(), ["x", "label"], shuffle=False).batch(2)
        if way == "dataset":
            ms.Model(net, loss_fn, optimizer).train(2, data, dataset_sink_mode=False)
        else:
            for x, label in data.repeat(2):
                optimizer.zero_grad()
                loss_fn(net(x), label).backward()
                optimizer.step()
        losses.append(net.weight.tolist())
    assert losses[0] == losses[1]
