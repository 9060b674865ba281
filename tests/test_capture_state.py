"""Python values around a compiled function: where one changes, the next call has it."""

import collections
import dataclasses
import enum
import functools
import sys
import types
import warnings

import numpy as np
import pytest

import ms_adapter.pytorch as torch
from ms_adapter.capture.compiled import Compiled, replaying
from ms_adapter.capture.state import MOST_ITEMS

nn = torch.nn
HERE = sys.modules[__name__]
SCALE, TABLE, HOLDER = 1.0, {"a": [1.0]}, types.SimpleNamespace(s=1.0)
Mode = enum.Enum("Mode", "LOW HIGH")


@dataclasses.dataclass
class Config:
    scale: float = 1.0
    inner: object = None


class Slotted:
    __slots__ = ("scale",)

    def __init__(self):
        self.scale = 1.0


class Settings:
    """A class whose attributes are settings, and an object that computes from its own."""

    rate, table = 1.0, {"a": 1.0}

    def __init__(self):
        self._value = 1.0

    @property
    def value(self):
        return self._value

    def __call__(self):
        return self._value


class Net(nn.Module):
    """Multiplies by what `scale` makes of the module."""

    def __init__(self, scale, **attributes):
        super().__init__()
        self.scale, self.linear = scale, nn.Linear(3, 3)
        for name, value in attributes.items():
            setattr(self, name, value)

    def forward(self, x):
        return self.linear(x) * self.scale(self)


class Chain(nn.Module):
    """Layers in a list, an activation and BatchNorm."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
        self.act, self.bn = nn.Tanh(), nn.BatchNorm1d(3)

    def forward(self, x):
        for layer in self.layers:
            x = self.act(layer(x))
        return self.bn(x)


def helper():
    return TABLE["a"][0]


def weighted(cell):
    return lambda module, _inputs, output: output * cell["w"]


def put(key, value, name="k"):
    """A change of one item of the attribute `name`."""
    return lambda net: getattr(net, name).__setitem__(key, value)


CHANGES = {
    "dict": (lambda: Net(lambda m: m.k["s"], k={"s": 1.0}), put("s", 2.0)),
    "dict replaced": (lambda: Net(lambda m: m.k["s"], k={"s": 1.0}), lambda m: setattr(m, "k", {"s": 2.0})),
    "list": (lambda: Net(lambda m: sum(m.k), k=[1.0]), lambda m: m.k.append(2.0)),
    "another type": (lambda: Net(lambda m: len(repr(m.k[0])), k=[1]), put(0, True)),
    "nested": (
        lambda: Net(lambda m: m.k[1]["b"][0], k=(1, {"b": [1.0]})),
        lambda m: m.k[1]["b"].append(m.k[1]["b"].pop() + 1),
    ),
    "set": (lambda: Net(lambda m: 2.0 if "x" in m.k else 1.0, k=set()), lambda m: m.k.add("x")),
    "deque": (lambda: Net(lambda m: sum(m.k), k=collections.deque([1.0])), lambda m: m.k.append(2.0)),
    "dataclass": (
        lambda: Net(lambda m: m.k.inner.scale, k=Config(inner=Config())),
        lambda m: setattr(m.k.inner, "scale", 2.0),
    ),
    "namespace": (
        lambda: Net(lambda m: m.k.s, k=types.SimpleNamespace(s=1.0)),
        lambda m: setattr(m.k, "s", 2.0),
    ),
    "slots": (lambda: Net(lambda m: m.k.scale, k=Slotted()), lambda m: setattr(m.k, "scale", 2.0)),
    "property": (lambda: Net(lambda m: m.k.value, k=Settings()), lambda m: setattr(m.k, "_value", 2.0)),
    "called object": (lambda: Net(lambda m: m.k(), k=Settings()), lambda m: setattr(m.k, "_value", 2.0)),
    "bound method": (
        lambda: Net(lambda m: m.k(), k=Settings().__call__),
        lambda m: setattr(m.k.__self__, "_value", 2.0),
    ),
    "partial": (
        lambda: Net(lambda m: m.k(), k=functools.partial(lambda d: d[0], [1.0])),
        lambda m: m.k.args[0].append(m.k.args[0].pop() + 1),
    ),
    "NumPy scalar": (
        lambda: Net(lambda m: float(m.k), k=np.float32(1)),
        lambda m: setattr(m, "k", np.float32(2)),
    ),
    "NumPy array": (lambda: Net(lambda m: float(m.k[0]), k=np.ones(2)), put(0, 2.0)),
    "enum": (lambda: Net(lambda m: m.k["m"].value, k={"m": Mode.LOW}), put("m", Mode.HIGH)),
    "computed name": (
        lambda: Net(lambda m: getattr(m.k, "sca" + "le"), k=Config()),
        lambda m: setattr(m.k, "scale", 2.0),
    ),
    "class": (
        lambda: Net(lambda m: m.k.rate * m.k.table["a"], k=Settings()),
        lambda m: Settings.table.__setitem__("a", 2.0),
    ),
    "tensor in a list": (lambda: Net(lambda m: m.k[0], k=[torch.tensor(1.0)]), put(0, torch.tensor(2.0))),
    "cycle": (
        lambda: (lambda net: net.k.__setitem__("me", net.k) or net)(
            Net(lambda m: m.k["me"]["v"], k={"v": 1.0})
        ),
        put("v", 2.0),
    ),
    "global": (lambda: Net(lambda m: SCALE), lambda m: setattr(HERE, "SCALE", SCALE + 1)),
    "global by a helper": (
        lambda: Net(lambda m: helper()),
        lambda m: TABLE["a"].__setitem__(0, TABLE["a"][0] + 1),
    ),
    "global object": (lambda: Net(lambda m: HOLDER.s), lambda m: setattr(HOLDER, "s", HOLDER.s + 1)),
    "module swapped": (Chain, lambda m: m.layers.__setitem__(0, nn.Linear(3, 3))),
    "module added": (Chain, lambda m: m.layers.append(nn.Linear(3, 3))),
    "activation": (Chain, lambda m: setattr(m, "act", nn.Sigmoid())),
    "hook": (Chain, lambda m: m.act.register_forward_hook(lambda module, _inputs, output: output * 2)),
    "forward": (Chain, lambda m: setattr(m, "forward", lambda x: x * 3)),
    "loaded": (Chain, lambda m: m.load_state_dict({k: v * 2 for k, v in m.state_dict().items()})),
}


@pytest.mark.parametrize("make, change", CHANGES.values(), ids=CHANGES)
def test_a_module_follows(make, change):
    torch.manual_seed(0)
    net, x = make().eval(), torch.randn(4, 3)
    run = Compiled(lambda x: net(x), replaying, "test")
    before = [run(x) for _ in range(3)][-1]
    assert run.compiles == 1
    change(net)
    expected = net(x)
    assert not torch.equal(before, expected)
    for _ in range(4):
        assert torch.allclose(run(x), expected)


def closing_over():
    held = {"s": 1.0}
    return (lambda x: x * held["s"]), lambda: held.__setitem__("s", 2.0)


def defaults():
    held = [1.0]
    return (lambda x, k=held: x * k[0]), lambda: held.__setitem__(0, 2.0)


def keywords():
    def fn(x, *, k=1.0):
        return x * k

    return fn, lambda: fn.__kwdefaults__.__setitem__("k", 2.0)


def attribute():
    def fn(x):
        return x * fn.k

    fn.k = 1.0
    return fn, lambda: setattr(fn, "k", 2.0)


def generator():
    held = [1.0]
    return (lambda x: sum(x * v for v in held)), lambda: held.append(2.0)


def of_an_object():
    held = Settings()
    held.step = lambda x: x * held.value
    return held.step, lambda: setattr(held, "_value", 2.0)


def a_tensors_hook():
    cell, leaf = {"w": 1.0}, torch.ones(2, requires_grad=True)
    leaf.register_hook(lambda g, cell=cell: g * cell["w"])

    def fn(x):
        leaf.grad = None
        (leaf * x).sum().backward()
        return leaf.grad * 1

    return fn, lambda: cell.__setitem__("w", 2.0)


@pytest.mark.parametrize(
    "make", [closing_over, defaults, keywords, attribute, generator, of_an_object, a_tensors_hook]
)
def test_a_function_follows(make):
    fn, change = make()
    run, x = Compiled(fn, replaying, "test"), torch.ones(2)
    before = [run(x) for _ in range(4)][-1]
    change()
    assert not torch.equal(before, fn(x))
    for _ in range(4):
        assert torch.equal(run(x), fn(x))


def test_a_training_step_follows_its_weights_of_losses():
    def trained(compiled):
        torch.manual_seed(0)
        net, weights, x = nn.Linear(3, 1), {"l2": [0.1, 0.2]}, torch.randn(4, 3)
        opt, losses = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9), []

        def step(x):
            opt.zero_grad()
            loss = net(x).square().mean() + sum(w * net.weight.square().sum() for w in weights["l2"])
            loss.backward()
            opt.step()
            return loss

        run = Compiled(step, replaying, "test")
        for i in range(12):
            weights["l2"][0] += i % 4 == 3
            losses.append((run if compiled else step)(x).item())
        assert run.compiles > 1 or not compiled
        return losses

    assert trained(True) == pytest.approx(trained(False), rel=1e-6)


@pytest.mark.parametrize(
    "value, why",
    [
        ([0.5] * (MOST_ITEMS + 1), "more than 4096 Python values"),
        (functools.reduce(lambda inner, _: [inner], range(30), 0.5), "nested more than 16 deep"),
        (np.ones(1 << 17), "large array"),
    ],
)
def test_what_is_too_much_to_look_at_is_not_compiled(value, why):
    net = Net(lambda m: len(m.k), k=value)
    run, x = Compiled(net, replaying, "test"), torch.ones(2, 3)
    with pytest.warns(RuntimeWarning, match=why):
        run(x)
    net.k = net.k[:1] * 3
    assert torch.equal(run(x), net(x)) and run.compiles == 0


def test_a_call_that_keeps_what_it_computes_is_not_compiled():
    class Stateful(nn.Module):
        def __init__(self):
            super().__init__()
            self.state = torch.zeros(2)

        def forward(self, x):
            self.state = self.state + x
            return self.state * 1

    run = Compiled(Stateful(), replaying, "test")
    with pytest.warns(
        RuntimeWarning, match="'?state'? changes during the call|state changes during the call"
    ):
        assert [run(torch.ones(2))[0].item() for _ in range(5)] == [1, 2, 3, 4, 5]


def test_what_nobody_reads_may_change():
    class Trainer:
        def __init__(self):
            self.net, self.history = nn.Linear(3, 1), []

        def step(self, x):
            return self.net(x).sum()

    trainer = Trainer()
    run = Compiled(trainer.step, replaying, "test")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(20):
            trainer.history.append(run(torch.ones(2, 3)).item())
    assert run.compiles == 1
