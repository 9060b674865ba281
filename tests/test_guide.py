"""Scripts in the way of MSAdapter's guide, on the built-in engine: `import ms_adapter.mindspore as ms`."""

import guide_scripts
import numpy as np
import pytest
from guide_cases import TenTimes

import ms_adapter.mindspore as ms
import ms_adapter.pytorch as torch
from ms_adapter.mindspore import train as ms_train
from ms_adapter.pytorch import nn
from ms_adapter.pytorch.utils.data import DataLoader, TensorDataset

STEPS = 6


def setting():
    """A net, its data and an optimizer, the same every time."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    data = TensorDataset(torch.randn(24, 4), torch.randint(0, 3, (24,)))
    return net, DataLoader(data, batch_size=4), torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)


@pytest.fixture
def pytorch_way():
    """The losses of the same loop as PyTorch writes it."""
    net, loader, optimizer = setting()
    losses = []
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert len(losses) == STEPS
    return losses


@pytest.mark.parametrize("home", (ms, ms.ops))
def test_value_and_grad_loop(pytorch_way, home):
    net, loader, optimizer = setting()
    criterion = nn.CrossEntropyLoss()

    def forward_fn(data, label):
        logits = net(data)
        return criterion(logits, label), logits

    step = home.value_and_grad(forward_fn, None, optimizer.parameters, has_aux=True)
    losses = []
    for x, y in loader:
        (loss, logits), grads = step(x, y)
        optimizer(grads)
        assert logits.shape == (4, 3)
        losses.append(float(loss.asnumpy()))
    assert losses == pytorch_way


def test_train_one_step_cell(pytorch_way):
    net, loader, optimizer = setting()
    cell = ms.nn.TrainOneStepCell(ms.nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer)
    assert [cell(x, y).item() for x, y in loader] == pytorch_way


@pytest.mark.parametrize("sink", (False, True))
def test_model_train(pytorch_way, sink, capsys):
    net, loader, optimizer = setting()
    seen = []

    class Watch(ms_train.Callback):
        def step_end(self, run_context):
            seen.append(run_context.original_args().net_outputs.item())

    model = ms.Model(net, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy"})
    model.train(1, loader, callbacks=[Watch(), ms.LossMonitor(3), ms.TimeMonitor()], dataset_sink_mode=sink)
    assert seen == pytorch_way
    said = capsys.readouterr().out
    assert f"epoch: 1 step: 3, loss is {pytorch_way[2]}" in said and "Train epoch time" in said
    found = model.eval(loader)
    assert 0 <= found["accuracy"] <= 1 and found["loss"] < pytorch_way[0]
    assert model.predict(torch.ones(1, 4)).shape == (1, 3)


def test_data_sink(pytorch_way):
    net, loader, optimizer = setting()
    cell = ms.nn.TrainOneStepCell(ms.nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer)
    sunk = ms.data_sink(cell, loader, sink_size=2)
    assert [sunk().item() for _ in range(3)] == pytorch_way[1::2]


def test_bprop_is_the_backward():
    x, y = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    net = TenTimes()
    net(x, y).sum().backward()
    assert net.phase == "mine"
    np.testing.assert_array_equal((x.grad.asnumpy(), y.grad.asnumpy()), ([10.0], [9.0]))


def test_grad_of_inputs_and_weights():
    w = nn.Parameter(torch.tensor(3.0))
    found = ms.grad(lambda x: x * x * w, 0, [w])(torch.tensor(2.0))
    assert float(found[0]) == 12.0 and float(found[1][0]) == 4.0
    with pytest.raises(ValueError, match="cannot both be None"):
        ms.grad(lambda x: x, None)(w)
    with pytest.raises(TypeError, match="grad_position 1"):
        ms.grad(lambda x: x, 1)(torch.ones(1))


def test_context():
    ms.set_context(mode=ms.PYNATIVE_MODE, device_target="CPU")
    with pytest.raises(NotImplementedError, match="device_target='Ascend'"):
        ms.set_context(device_target="Ascend")
    with pytest.raises(ValueError, match="GRAPH_MODE"):
        ms.set_context(mode=7)


@pytest.mark.filterwarnings("ignore")
def test_the_guides_scripts_run_as_they_are():
    assert guide_scripts.run("ms_adapter.mindspore") == {}


def test_derivatives_of_derivatives():
    """The inner gradient once had no history: the outer one was silently 0."""
    assert float(ms.grad(ms.grad(lambda x: x**3))(torch.tensor(2.0))) == 12.0
    w = nn.Parameter(torch.tensor(3.0))

    def value_and_slope(x):
        value, slope = ms.value_and_grad(lambda y: y**3 * w)(x)
        return value + slope

    value, (by_x, by_w) = ms.value_and_grad(value_and_slope, 0, [w])(torch.tensor(2.0))
    assert (float(value), float(by_x), float(by_w[0])) == (60.0, 72.0, 20.0)
    assert not ms.grad(lambda x: x**3)(torch.tensor(2.0)).requires_grad


def test_clipped_gradients():
    grads = ms.ops.clip_by_global_norm([torch.tensor([3.0]), torch.tensor([4.0])], 1.0)
    torch.testing.assert_close(torch.cat(grads), torch.tensor([0.6, 0.8]))
    (same,) = ms.ops.clip_by_global_norm((torch.tensor([0.5]),), 1.0)
    assert float(same) == 0.5
    assert ms.ops.clip_by_value([torch.tensor([3.0, -4.0])], -1, 1)[0].tolist() == [1, -1]


def test_mindspores_names_of_sgd(pytorch_way):
    for make in (
        lambda params: ms.nn.SGD(params, learning_rate=0.1, momentum=0.9),
        lambda params: ms.nn.Momentum(params, 0.1, 0.9),
    ):
        net, loader, _ = setting()
        step = ms.nn.TrainOneStepCell(
            ms.nn.WithLossCell(net, nn.CrossEntropyLoss()), make(net.trainable_params())
        )
        assert [float(step(x, y)) for x, y in loader] == pytest.approx(pytorch_way)
    with pytest.raises(NotImplementedError, match="the learning_rate is a number, not list"):
        ms.nn.SGD(net.trainable_params(), learning_rate=[0.1, 0.2])


def test_trainable_params():
    net = nn.Linear(2, 1)
    net.bias.requires_grad_(False)
    assert net.trainable_params() == [net.weight]


def test_the_tensor_module_of_msadapter():
    from ms_adapter.pytorch.tensor import Tensor, cast_to_adapter_tensor

    assert Tensor is torch.Tensor and callable(torch.tensor) and callable(cast_to_adapter_tensor)


def test_update_cells_of_loss_scales():
    net, loader, optimizer = setting()
    manager = ms.amp.DynamicLossScaleManager(8.0, 2, 2)
    step = ms.nn.TrainOneStepWithLossScaleCell(
        ms.nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer, manager.get_update_cell()
    )
    scales = [float(step(x, y)[2]) for x, y in loader]
    assert scales == [8.0, 8.0, 16.0, 16.0, 32.0, 32.0]


def test_mixed_precision_says_what_it_takes():
    net = nn.Linear(2, 1)
    with pytest.raises(ValueError, match="amp_level is 'O4'; it must be one of O0, O1, O2, O3, auto"):
        ms.Model(net, amp_level="O4")
    with pytest.raises(ValueError, match="it must be float16 or bfloat16"):
        ms.amp.auto_mixed_precision(net, "O3", torch.float64)
    with pytest.raises(ValueError, match="at level O3 already"):
        ms.amp.auto_mixed_precision(ms.amp.auto_mixed_precision(net, "O3"), "O2")
    with pytest.raises(NotImplementedError, match="boost_level='O1' is not supported"):
        ms.Model(net, None, torch.optim.SGD(net.parameters(), lr=0.1), boost_level="O1")


def test_a_step_that_overflows_is_left_out():
    net = nn.Linear(1, 1)
    manager = ms.amp.DynamicLossScaleManager(4.0, 2, 1)
    step = ms.amp.build_train_network(
        net, torch.optim.SGD(net.parameters(), lr=1.0), nn.MSELoss(), loss_scale_manager=manager
    )
    before = net.weight.detach().clone()
    _, overflow, scale = step(torch.tensor([[float("inf")]]), torch.zeros(1, 1))
    assert overflow and float(scale) == 4.0 and manager.get_loss_scale() == 2.0
    assert torch.equal(net.weight, before)
    _, overflow, _ = step(torch.ones(1, 1), torch.zeros(1, 1))
    assert not overflow and manager.get_loss_scale() == 4.0 and not torch.equal(net.weight, before)


def test_the_wrong_number_of_gradients():
    _, _, optimizer = setting()
    with pytest.raises(ValueError, match="1 gradients were given for 4 parameters"):
        optimizer([torch.ones(1)])
