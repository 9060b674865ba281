"""MindSpore's own entry points take our modules, and MindSpore's as before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from guide_cases import TenTimes

import ms_adapter.pytorch as torch  # before mindspore, which leaves no static TLS for libraries after it
from ms_adapter.pytorch import nn

ms = pytest.importorskip("mindspore", reason="needs MindSpore: make test-mindspore")

from ms_adapter.mindspore import as_cell  # noqa: E402

TESTS = Path(__file__).resolve().parents[1]


def setting():
    torch.manual_seed(0)
    net = nn.Linear(4, 3)
    data = [(torch.randn(4, 4), torch.randint(0, 3, (4,))) for _ in range(4)]
    return net, data, torch.optim.SGD(net.parameters(), lr=0.1)


def by_value_and_grad(net, data, optimizer):
    step = ms.ops.value_and_grad(
        lambda x, y: (nn.functional.cross_entropy(net(x), y), 1), None, optimizer.parameters, has_aux=True
    )
    for x, y in data:
        (loss, _), grads = step(x, y)
        optimizer(grads)
        yield loss.item()


def by_cells(net, data, optimizer):
    cell = ms.nn.TrainOneStepCell(ms.nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer)
    return (cell(x, y).item() for x, y in data)


def by_model(net, data, optimizer):
    losses = []

    class Watch(ms.train.Callback):
        def on_train_step_end(self, run_context):
            losses.append(run_context.original_args().net_outputs.item())

    ms.Model(net, nn.CrossEntropyLoss(), optimizer).train(
        1, data, callbacks=[Watch()], dataset_sink_mode=False
    )
    return losses


def test_three_ways_one_result():
    first = list(by_value_and_grad(*setting()))
    assert len(set(first)) == 4
    assert list(by_cells(*setting())) == first == by_model(*setting())


@pytest.mark.parametrize("order", ("torch-first", "mindspore-first", "ours"))
def test_the_guides_scripts_run_as_they_are(order):
    """With `import mindspore as ms` before or after ours, and with `import ms_adapter.mindspore as ms`."""
    done = subprocess.run(
        [sys.executable, str(TESTS / "guide_scripts.py"), order],
        env=os.environ | {"PYTHONPATH": str(TESTS.parent)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_mindspores_datasets_and_callbacks(tmp_path, capsys):
    net, _, optimizer = setting()
    rows = np.random.default_rng(0).random((8, 4), np.float32), np.arange(8, dtype=np.int32) % 3
    data = ms.dataset.NumpySlicesDataset(rows, shuffle=False).batch(4)
    saver = ms.train.ModelCheckpoint("net", str(tmp_path), ms.train.CheckpointConfig(save_checkpoint_steps=2))
    ms.Model(net, nn.CrossEntropyLoss(), optimizer).train(2, data, [ms.train.LossMonitor(1), saver])
    assert capsys.readouterr().out.count("loss is") == 4
    assert sorted(file.name for file in tmp_path.iterdir()) == ["net-1_2.ckpt", "net-2_2.ckpt"]
    assert ms.load_param_into_net(nn.Linear(4, 3), ms.load_checkpoint(str(tmp_path / "net-2_2.ckpt"))) == (
        [],
        [],
    )


def test_mindspores_compiler_still_reads_its_gradients():
    @ms.jit
    def slope(x):
        return ms.grad(lambda a: a * a)(x)

    @ms.jit
    def value_and_slope(x):
        return ms.ops.value_and_grad(lambda a: a * a)(x)

    assert slope(ms.Tensor(3.0)).asnumpy() == 6.0
    assert [t.asnumpy() for t in value_and_slope(ms.Tensor(3.0))] == [9.0, 6.0]


def test_mindspores_own_go_on_as_before():
    value, slope = ms.value_and_grad(lambda x: x * x)(ms.Tensor(3.0))
    assert (value.asnumpy(), slope.asnumpy()) == (9.0, 6.0)
    cell = ms.nn.Dense(2, 1)
    step = ms.nn.TrainOneStepCell(
        ms.nn.WithLossCell(cell, ms.nn.MSELoss()), ms.nn.SGD(cell.trainable_params(), learning_rate=0.1)
    )
    before = cell.weight.asnumpy().copy()
    step(ms.Tensor(np.ones((2, 2), np.float32)), ms.Tensor(np.zeros((2, 1), np.float32)))
    assert isinstance(step, ms.nn.Cell) and (cell.weight.asnumpy() != before).any()


@pytest.mark.parametrize("device", ("cpu", "mindspore"))
def test_bprop_is_the_backward(device):
    net = TenTimes().to(device)
    x = torch.tensor([2.0], device=device, requires_grad=True)
    y = torch.tensor([3.0], device=device, requires_grad=True)
    net(x, y).sum().backward()
    assert net.phase == "mine" and x.grad.device.type == device
    np.testing.assert_array_equal((x.grad.asnumpy(), y.grad.asnumpy()), ([10.0], [9.0]))
    found = ms.grad(lambda a, b: net(a, b).sum(), (0, 1))(x.detach(), y.detach())
    assert [float(g.asnumpy()[0]) for g in found] == [10.0, 9.0]


def test_bprop_is_what_mindspores_autograd_gets():
    cell = as_cell(TenTimes())
    found = ms.grad(lambda a, b: cell(a, b).sum(), (0, 1))(ms.Tensor([2.0]), ms.Tensor([3.0]))
    assert [float(g.asnumpy()[0]) for g in found] == [10.0, 9.0]


@pytest.mark.parametrize("device", ("cpu", "mindspore"))
def test_bprop_within_a_training_step(device):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.product = nn.Parameter(torch.tensor([2.0])), TenTimes()

        def forward(self, y):
            return self.product(self.w, y)

    net = Net().to(device)
    step = ms.nn.TrainOneStepCell(
        ms.nn.WithLossCell(net, lambda out, label: (out - label).sum()),
        torch.optim.SGD(net.parameters(), lr=0.25),
    )
    loss = step(torch.tensor([3.0], device=device), torch.tensor([1.0], device=device))
    assert float(loss.asnumpy()) == 5.0 and net.w.asnumpy().tolist() == [2.0 - 0.25 * 10]


def test_a_seed_is_meant_for_our_random_numbers_too():
    drawn = []
    for _ in range(2):
        ms.set_seed(3)
        drawn.append(torch.rand(3).tolist())
    assert drawn[0] == drawn[1]
    assert ms.get_seed() == 3


def test_gradients_are_clipped_by_mindspores_name():
    (ours,) = ms.ops.clip_by_global_norm([torch.tensor([3.0, 4.0])], 1.0)
    (theirs,) = ms.ops.clip_by_global_norm([ms.Tensor(np.array([3.0, 4.0], np.float32))], 1.0)
    np.testing.assert_allclose(ours.numpy(), theirs.asnumpy(), rtol=1e-6)


def test_the_cell_that_updates_a_scale():
    net = torch.nn.Linear(2, 1)
    manager = ms.amp.DynamicLossScaleManager(8.0, 2, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    step = ms.nn.TrainOneStepWithLossScaleCell(
        ms.nn.WithLossCell(net, torch.nn.MSELoss()), optimizer, manager.get_update_cell()
    )
    scales = [float(step(torch.ones(1, 2), torch.ones(1, 1))[2]) for _ in range(4)]
    assert scales == [8.0, 8.0, 16.0, 16.0]


@pytest.mark.parametrize("options", [{"momentum": 0.9}, {"momentum": 0.9, "nesterov": True}, {}])
def test_sgd_of_our_parameters_takes_mindspores_steps(options):
    start, grads = np.array([1.0, -2.0], np.float32), np.array([[0.5, 1.0], [0.25, -1.0]], np.float32)
    ours = nn.Parameter(torch.from_numpy(start.copy()))
    theirs = ms.Parameter(ms.Tensor(start), name="w")
    common = {"learning_rate": 0.1, "weight_decay": 0.01, **options}
    our_sgd, their_sgd = ms.nn.SGD([ours], **common), ms.nn.SGD([theirs], **common)
    assert isinstance(our_sgd, torch.optim.SGD) and isinstance(their_sgd, ms.nn.SGD)
    for grad in grads:
        our_sgd([torch.from_numpy(grad)])
        their_sgd((ms.Tensor(grad),))
        np.testing.assert_allclose(ours.asnumpy(), theirs.asnumpy(), rtol=1e-6)


def test_momentum_of_our_parameters_takes_mindspores_steps():
    start = np.array([1.0, -2.0], np.float32)
    ours = nn.Parameter(torch.from_numpy(start.copy()))
    theirs = ms.Parameter(ms.Tensor(start), name="w")
    our_way, their_way = ms.nn.Momentum([ours], 0.1, 0.9), ms.nn.Momentum([theirs], 0.1, 0.9)
    for _ in range(3):
        our_way([torch.ones(2)])
        their_way((ms.Tensor(np.ones(2, np.float32)),))
        np.testing.assert_allclose(ours.asnumpy(), theirs.asnumpy(), rtol=1e-6)


def test_other_optimizers_of_mindspore_say_what_to_take():
    net = nn.Linear(2, 1)
    with pytest.raises(TypeError, match="take torch.optim's Adam, or ms_adapter.mindspore.as_cell"):
        ms.nn.Adam(net.trainable_params(), 1e-3)
    assert ms.nn.Adam(as_cell(net).trainable_params(), 1e-3) is not None
