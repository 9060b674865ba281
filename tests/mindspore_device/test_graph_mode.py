"""Graph mode: captured graphs that MindSpore compiles give the numbers of eager runs, or say why not."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

import ms_adapter.pytorch as torch  # before mindspore, which leaves no static TLS for libraries after it
from ms_adapter.pytorch import nn

ms = pytest.importorskip("mindspore", reason="needs MindSpore: make test-mindspore")

from ms_adapter.capture.compiled import Compiled  # noqa: E402
from ms_adapter.mindspore import _package, bridge  # noqa: E402
from ms_adapter.mindspore.graph import compile_graph, mode  # noqa: E402
from ms_adapter.mindspore.graph.tracing import Trace, standing_in  # noqa: E402

F = nn.functional
LIMITS = {torch.float32: 1e-4, torch.float64: 1e-9}
bridge.install()


@pytest.fixture
def graph_mode():
    """GRAPH_MODE for one test."""
    ms.set_context(mode=ms.GRAPH_MODE)
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


class LeNet(nn.Module):
    """Two convolutions, three linear layers, on images of 20 by 20."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 8, 5)
        self.fc1, self.fc2, self.fc3 = nn.Linear(72, 32), nn.Linear(32, 16), nn.Linear(16, 5)

    def forward(self, x):
        x = F.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = torch.flatten(F.max_pool2d(torch.relu(self.conv2(x)), 2), 1)
        return self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(x)))))


def mlp():
    """Layers with BatchNorm, dropout and LayerNorm."""
    layers = [nn.Linear(400, 16), nn.BatchNorm1d(16), nn.Tanh(), nn.Dropout(0.3)]
    return nn.Sequential(nn.Flatten(), *layers, nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 5))


def images(n, dtype, size=8):
    """Batches of images and classes, the same for each call."""
    torch.manual_seed(1)
    return [(torch.randn(size, 1, 20, 20, dtype=dtype), torch.randint(0, 5, (size,))) for _ in range(n)]


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, lr=0.002),
}


def train(make, optimizer, dtype, device, compiled):
    """Losses of 20 steps with a schedule, and how often was compiled."""
    torch.manual_seed(0)
    net = make().to(dtype).to(device)
    opt = OPTIMIZERS[optimizer](net.parameters())
    scheduler = torch.optim.lr_scheduler.StepLR(opt, 8, 0.3)

    def step(x, y):
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        return loss

    run = torch.compile(step, backend="mindspore") if compiled else step
    losses = []
    for i, (x, y) in enumerate(images(20, dtype)):
        torch.manual_seed(i)
        losses.append(run(x.to(device), y.to(device)).item())
        scheduler.step()
    return losses, net, run.compiles if compiled else 0


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("make", [mlp, LeNet])
def test_training_steps_are_those_of_eager_runs(make, optimizer, dtype):
    expected, plain, _ = train(make, optimizer, dtype, "cpu", False)
    losses, net, compiles = train(make, optimizer, dtype, "cpu", True)
    assert compiles == 1
    assert max(abs(a - b) for a, b in zip(losses, expected)) < LIMITS[dtype]
    for name, value in plain.state_dict().items():
        if dtype == torch.float64:
            assert torch.allclose(net.state_dict()[name], value, atol=1e-9), name


def test_tensors_of_the_device_stay_there():
    expected, _, _ = train(mlp, "sgd", torch.float32, "cpu", False)
    losses, net, compiles = train(mlp, "sgd", torch.float32, "mindspore", True)
    assert compiles == 1 and max(abs(a - b) for a, b in zip(losses, expected)) < 1e-4
    assert net[1].weight.device.type == net[1].weight.grad.device.type == "mindspore"


def test_inference_and_one_program_for_each_shape():
    net = LeNet().eval()
    run = torch.compile(net, backend="mindspore")
    with torch.no_grad():
        for size in (2, 5) * 4:
            x = images(1, torch.float32, size)[0][0] * size
            assert torch.allclose(run(x), net(x), atol=1e-5)
    assert run._compiled_call.compiles == 2


def test_a_compiled_module_in_an_eager_loop():
    losses = {}
    for compiled in (False, True):
        torch.manual_seed(0)
        net = LeNet().double()
        called = torch.compile(net, backend="mindspore") if compiled else net
        opt = torch.optim.Adam(net.parameters(), lr=0.002)
        losses[compiled] = []
        for x, y in images(8, torch.float64):
            opt.zero_grad()
            loss = F.cross_entropy(called(x), y)
            loss.backward()
            opt.step()
            losses[compiled].append(loss.item())
    assert called._compiled_call.compiles == 1
    assert max(abs(a - b) for a, b in zip(losses[False], losses[True])) < 1e-9


def test_masks_are_those_of_the_seed():
    run = torch.compile(lambda x: F.dropout(x * 2, 0.5), backend="mindspore")
    x = torch.ones(50)
    for _ in range(3):
        run(x)
    assert run.compiles == 1 and not torch.equal(run(x), run(x))
    torch.manual_seed(5)
    expected = F.dropout(x * 2, 0.5)
    torch.manual_seed(5)
    assert torch.equal(run(x), expected)


def indexed(x):
    """Views, in-place changes, and results that share memory."""
    y = x * 2
    y[0].add_(1)
    y.t()[1].mul_(3)
    parts = torch.split(y, [1, 3])
    return torch.cat([parts[1], parts[0]]), y.diagonal(), y.unfold(0, 2, 1), y[::2, 1:].expand(3, 2, 2)


def test_views_and_changes_in_place():
    run, x = torch.compile(indexed, backend="mindspore"), torch.randn(4, 3)
    for _ in range(3):
        for ours, expected in zip(run(x), indexed(x)):
            assert torch.equal(ours, expected)
    assert run.compiles == 1


@pytest.mark.parametrize(
    "function, why",
    [
        (lambda x: x * 2 if x.sum() > 0 else x * 3, "item()"),
        (lambda x: x + torch.special.airy_ai(x), "airy_ai: no MindSpore callable"),
        (lambda x: torch.bernoulli(x.sigmoid()), "bernoulli: "),
    ],
)
def test_what_cannot_be_captured_says_so_once(function, why):
    run, x = torch.compile(function, backend="mindspore"), torch.ones(3)
    with pytest.warns(RuntimeWarning) as said:
        for _ in range(5):
            torch.manual_seed(0)
            found = run(x)
            torch.manual_seed(0)
            assert torch.equal(found, function(x))
    texts = [str(w.message) for w in said if w.category is RuntimeWarning]
    assert len(texts) == 1 and why in texts[0]
    assert f"test_graph_mode.py:{function.__code__.co_firstlineno}" in texts[0] and run.compiles == 0


def test_elements_that_do_not_fit_run_as_python():
    run = torch.compile(lambda x: F.max_pool2d(x, 2), backend="mindspore")
    x = torch.randn(1, 1, 4, 4)
    for _ in range(3):
        run(x)
    x[0, 0, 0, 0] = float("nan")
    assert run.compiles == 1 and torch.equal(run(x).isnan(), F.max_pool2d(x, 2).isnan())
    table, wrong = torch.randn(5, 2), torch.tensor([7])
    find = torch.compile(lambda i: F.embedding(i, table), backend="mindspore")
    for _ in range(3):
        find(torch.tensor([1]))
    assert find.compiles == 1
    with pytest.raises(IndexError):
        find(wrong)


def by_value_and_grad(net, data, optimizer):
    step = ms.value_and_grad(lambda x, y: F.cross_entropy(net(x), y), None, optimizer.parameters)
    for x, y in data:
        loss, grads = step(x, y)
        optimizer(grads)
        yield loss.item()


def by_cells(net, data, optimizer):
    cell = ms.nn.TrainOneStepCell(ms.nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer)
    return [cell(x, y).item() for x, y in data]


def by_model(net, data, optimizer):
    losses = []

    class Watch(ms.train.Callback):
        def on_train_step_end(self, run_context):
            losses.append(run_context.original_args().net_outputs.item())

    model = ms.Model(net, nn.CrossEntropyLoss(), optimizer)
    model.train(1, data, callbacks=[Watch()], dataset_sink_mode=False)
    return losses


def by_module(net, data, optimizer):
    for x, y in data:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        yield loss.item()


def setting():
    torch.manual_seed(0)
    net = mlp().double()
    return net, images(8, torch.float64), torch.optim.Adam(net.parameters(), lr=0.01)


@pytest.mark.parametrize("way", [by_value_and_grad, by_cells, by_model, by_module])
def test_ways_of_training_in_graph_mode(way, graph_mode, monkeypatch):
    made = []

    def noted(fn):
        made.append(Compiled(fn, compile_graph, "test"))
        return made[-1]

    monkeypatch.setattr(mode, "compiled", noted)
    torch.manual_seed(3)
    losses = list(way(*setting()))
    ms.set_context(mode=ms.PYNATIVE_MODE)
    torch.manual_seed(3)
    expected = list(way(*setting()))
    assert max(abs(a - b) for a, b in zip(losses, expected)) < 1e-9
    assert sum(c.compiles for c in made) == 1


def test_pynative_mode_is_as_before(graph_mode):
    net, x = nn.Linear(3, 2), torch.ones(4, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            found = net(x)
    ms.set_context(mode=ms.PYNATIVE_MODE)
    assert "__call__" not in vars(nn.Module) and torch.allclose(net(x), found)


def test_constants_are_not_shared_with_results():
    run = Compiled(lambda x: (x * 2, torch.tensor([1.0, 2.0])), compile_graph, "test")
    for _ in range(3):
        run(torch.ones(2))
    assert run.compiles == 1
    run(torch.ones(2))[1].add_(5)
    assert run(torch.ones(2))[1].tolist() == [1.0, 2.0]


def test_a_graph_in_the_making_stands_in_for_one_thread():
    with standing_in(Trace()), ThreadPoolExecutor(1) as other:
        assert _package.mindspore() is not ms
        assert other.submit(_package.mindspore).result() is ms
