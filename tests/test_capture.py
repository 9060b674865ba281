"""Captured graphs: what they hold, that a replay gives the function's numbers, and what they refuse."""

import json
import warnings

import pytest

import ms_adapter.pytorch as torch
from ms_adapter import _C, capture
from ms_adapter.capture.compiled import Compiled, replaying

nn, F = torch.nn, torch.nn.functional

OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=1e-3, nesterov=True),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01, weight_decay=0.01),
    "amsgrad": lambda p: torch.optim.Adam(p, lr=0.01, amsgrad=True),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01, momentum=0.5, centered=True),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.01, lr_decay=0.1),
    "adamax": lambda p: torch.optim.Adamax(p, lr=0.01),
    "adadelta": lambda p: torch.optim.Adadelta(p, lr=0.1),
}


def convnet(dtype=torch.float64):
    """A convolution, BatchNorm and dropout."""
    torch.manual_seed(0)
    layers = [nn.Conv2d(1, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Dropout(0.3), nn.Linear(36, 5)).to(dtype)


def batches(n, dtype=torch.float64, size=6):
    """Images and classes, the same for each call."""
    torch.manual_seed(1)
    return [(torch.randn(size, 1, 8, 8, dtype=dtype), torch.randint(0, 5, (size,))) for _ in range(n)]


def views(x):
    """In-place changes through views, of a tensor that views see afterwards."""
    y = x * 2
    first, turned = y[0], y.t()
    first.add_(1)
    turned[1].mul_(3)
    y[:, 1:].copy_(torch.zeros(2))
    y.view(-1)[2] = 7
    return first + turned[:, 0], y


def test_changes_of_views_are_new_values_of_the_whole():
    x = torch.randn(4, 3)
    graph = capture.graph(views, x)
    assert [n.form for n in graph.nodes if n.row == "as_strided_scatter"] == ["function"] * 4
    for given in (x, torch.randn(4, 3)):
        for ours, expected in zip(graph.replay(given), views(given)):
            assert torch.equal(ours, expected)


def test_a_view_of_a_captured_tensor_writes_to_it():
    table = torch.zeros(3, 4)

    def fill(x):
        table[1] += x
        table.t()[2].fill_(5)
        return table.sum()

    graph = capture.graph(fill, torch.ones(4))
    expected = table.clone()
    assert graph.values[graph.writes[0][0]].tensor is table
    table.zero_()
    graph.replay(torch.ones(4))
    assert torch.equal(table, expected)


def test_what_runs_beside_the_call_is_in_the_graph():
    net = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5))
    graph = capture.graph(net, torch.ones(2, 3))
    assert [n.row for n in graph.nodes][0] == "linear"
    assert [(n.row, n.form) for n in graph.nodes if n.random] == [("bernoulli.float", "inplace")]
    assert graph.nodes[0].where.rpartition(":")[0] == __file__
    assert "%3 = linear(%in0, %outside1, %outside2): float32 (2, 4)" in graph.text()


def test_json_names_every_value_that_nodes_take():
    whole = json.loads(capture.graph(views, torch.ones(4, 3)).to_json())
    known = {v["id"] for v in whole["values"]}
    taken = [a["value"] for n in whole["nodes"] for a in n["arguments"].values() if isinstance(a, dict)]
    assert taken and set(taken) <= known and set(whole["outputs"]) <= known


@pytest.mark.parametrize(
    "function, operator",
    [
        (lambda x: x if x.sum() > 0 else -x, "item()"),
        (lambda x: x * x.max().item(), "item()"),
        (lambda x: torch.tensor(x.tolist()), "tolist()"),
        (lambda x: torch.from_numpy(x.numpy() + 1), "numpy()"),
        (lambda x: x[x > 0], "nonzero"),
        (lambda x: torch.from_dlpack(x) + 1, "__dlpack__()"),
        (lambda x: torch.allclose(x, x) and x * 2, "decides by elements"),
        (lambda x: x * torch.rand(3, generator=torch.Generator()), "generator"),
    ],
)
def test_refuses_with_operator_and_line(function, operator):
    with pytest.raises(
        capture.NotCapturable, match=f"test_capture.py:{function.__code__.co_firstlineno}"
    ) as error:
        capture.graph(function, torch.ones(4, 3))
    assert operator in str(error.value)
    assert not _C.capture.active()


def test_an_error_of_the_function_ends_the_recording():
    with pytest.raises(RuntimeError, match="shape"):
        capture.graph(lambda x: x @ x, torch.ones(2, 3))
    assert not _C.capture.active()


def train(optimizer, n, make=convnet, compiled=None, schedule=True):
    """Losses and parameters of a training; `compiled` wraps the step, or the module where it says so."""
    net = make()
    opt = OPTIMIZERS[optimizer](net.parameters())
    scheduler = torch.optim.lr_scheduler.StepLR(opt, 5, 0.5)
    called = torch.compile(net, backend="replay") if compiled == "module" else net

    def step(x, y):
        opt.zero_grad()
        loss = F.cross_entropy(called(x), y)
        loss.backward()
        opt.step()
        return loss

    run = Compiled(step, replaying, "test") if compiled == "step" else step
    losses = []
    torch.manual_seed(2)
    for x, y in batches(n):
        torch.manual_seed(len(losses))
        losses.append(run(x, y).item())
        if schedule:
            scheduler.step()
    made = {"step": lambda: run.compiles, "module": lambda: called._compiled_call.compiles}
    return losses, net, made[compiled]() if compiled else 0


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("what", ["step", "module"])
def test_trainings_give_the_same_losses(optimizer, what):
    expected, _, _ = train(optimizer, 20)
    losses, _, compiles = train(optimizer, 20, compiled=what)
    assert compiles == 1
    assert max(abs(a - b) for a, b in zip(losses, expected)) < 1e-9


def test_gradients_stay_on_the_leaves():
    net, x = nn.Linear(3, 2), torch.ones(4, 3)

    def step(x):
        net.zero_grad()
        net(x).sum().backward()

    run = Compiled(step, replaying, "test")
    for _ in range(4):
        run(x)
    assert run.compiles == 1
    step(3 * x)
    expected = net.weight.grad.clone()
    run(3 * x)
    assert torch.equal(net.weight.grad, expected)


def test_gradients_add_up_where_nobody_clears_them():
    net, x = nn.Linear(3, 2), torch.ones(4, 3)

    def step(x):
        net(x).sum().backward()

    run = Compiled(step, replaying, "test")
    for i in range(1, 7):
        run(x)
        assert torch.equal(net.weight.grad, torch.full((2, 3), 4.0 * i))
    net.zero_grad()
    run(x)
    assert torch.equal(net.weight.grad, torch.full((2, 3), 4.0))


def test_an_inference_leaves_gradients_alone():
    net, x = nn.Linear(3, 2), torch.ones(4, 3)
    run = torch.compile(net, backend="replay")
    with torch.no_grad():
        for _ in range(3):
            run(x)
    net(x).sum().backward()
    with torch.no_grad():
        run(x), run(x), run(x)
    assert net.weight.grad is not None


def test_one_program_for_each_signature():
    run = Compiled(nn.Linear(3, 2), replaying, "test")
    for size in (2, 5, 2, 5, 2, 5):
        assert run(torch.ones(size, 3)).shape == (size, 2)
    assert run.compiles == 2


def test_hooks_on_what_is_given_see_the_users_backward_only():
    weight, seen = torch.ones(3, requires_grad=True), []
    layer = nn.Linear(3, 2)
    layer.weight.register_hook(lambda grad: seen.append("weight"))
    run = Compiled(layer, replaying, "test")
    for _ in range(4):
        x = weight * 2
        x.register_hook(lambda grad: seen.append("x"))
        y = run(x)
        assert not seen
        y.sum().backward()
        assert sorted(seen) == ["weight", "x"]
        seen.clear()


def test_modes_and_attributes_are_recorded_anew():
    net, x = convnet(), torch.ones(2, 1, 8, 8, dtype=torch.float64)
    run = Compiled(net, replaying, "test")
    net.eval()
    for _ in range(3):
        still = run(x)
    net.train()
    for _ in range(3):
        run(x)
    net.eval()
    assert run.compiles == 2 and not torch.equal(run(x), still)  # the statistics moved
    net[5].p, net[0].weight = 0.0, nn.Parameter(torch.zeros_like(net[0].weight))
    assert torch.equal(run(x), net(x))


def test_masks_differ_from_call_to_call_and_are_the_seeds():
    run = torch.compile(lambda x: F.dropout(x, 0.5), backend="replay")
    x = torch.ones(50)
    for _ in range(3):
        run(x)
    assert run.compiles == 1 and not torch.equal(run(x), run(x))
    torch.manual_seed(5)
    expected = F.dropout(x, 0.5)
    torch.manual_seed(5)
    assert torch.equal(run(x), expected)


def counting():
    calls = 0

    def fn(x):
        nonlocal calls
        calls += 1
        return x * calls

    return fn


def scheduled():
    opt = torch.optim.SGD([nn.Parameter(torch.ones(2))], lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(opt, 1, 0.5)

    def fn(x):
        opt.param_groups[0]["params"][0].grad = x * 1
        opt.step()
        scheduler.step()
        return x * 1

    return fn


class Counter(nn.Module):
    """Counts its calls in an attribute."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * self.calls


@pytest.mark.parametrize(
    "make, why",
    [
        (counting, "'calls'"),
        (scheduled, "learning rate of SGD"),
        (Counter, "'calls' of Counter"),
        (lambda: lambda x: x.view(-1), "view of an input"),
    ],
)
def test_python_that_moves_on_is_no_graph(make, why):
    fn, plain = make(), make()
    run, x = Compiled(fn, replaying, "test"), torch.ones(2)
    with pytest.warns(RuntimeWarning, match=why):
        first, second = run(x), run(x)
    assert torch.equal(first, plain(x)) and torch.equal(second, plain(x))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(4):
            assert torch.equal(run(x), plain(x))
    assert run.compiles == 0


def test_numbers_from_elsewhere_are_noticed():
    values = iter(range(100))
    run = Compiled(lambda x: x + next(values), replaying, "test")
    with pytest.warns(RuntimeWarning, match="other is 5 and was 4"):
        for i in range(8):
            assert run(torch.zeros(1)).item() == i
    assert run.compiles == 0
