"""What MindSpore computes approximately, or not as PyTorch, and must be exact here: whole numbers beyond
float's 53 bits, float64 numbers close to each other, rests of divisions, complex gradients."""

from __future__ import annotations

import pickle
import threading
from fractions import Fraction

import numpy as np
import pytest

import ms_adapter.pytorch as torch  # before mindspore, which leaves no static TLS for libraries after it

pytest.importorskip("mindspore.ops", reason="needs MindSpore: make test-mindspore")

GREAT = [2**53 + 1, 2**62 + 3, -(2**60) - 7, 123456789012345678, 123456789, 5, -3, 2**40 - 1]
DIVISORS = [3, 7, 11, 1000000007, 10, -2, 2, -(2**33) - 1]


def on_device(values, dtype=None):
    return torch.tensor(values, dtype=dtype, device="mindspore")


def test_whole_numbers_are_divided_exactly():
    a, b = on_device(GREAT), on_device(DIVISORS)
    assert (a // b).tolist() == [x // y for x, y in zip(GREAT, DIVISORS)]
    assert (a % b).tolist() == [x % y for x, y in zip(GREAT, DIVISORS)]
    towards_zero = [int(Fraction(x, y)) for x, y in zip(GREAT, DIVISORS)]
    assert torch.div(a, b, rounding_mode="trunc").tolist() == towards_zero
    assert torch.fmod(a, b).tolist() == [x - q * y for x, y, q in zip(GREAT, DIVISORS, towards_zero)]
    assert (a % 10).tolist() == [x % 10 for x in GREAT]
    assert (on_device([2**31 - 1, 7, -7], torch.int32) // 2).tolist() == [2**30 - 1, 3, -4]
    assert (on_device([200, 7], torch.uint8) % 7).tolist() == [4, 0]


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod"])
@pytest.mark.filterwarnings("ignore:.*no MindSpore callable")
def test_a_division_of_integers_by_zero_raises(name):
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        getattr(torch, name)(on_device([5, 3]), on_device([0, 2]))


def test_whole_numbers_are_summed_exactly():
    values = [2**53 + 1, 1, -(2**60), 7, 2**60 + 2, 9]
    x = on_device(values).reshape(2, 3)
    assert x.sum().item() == sum(values)
    assert x.sum(0).tolist() == [values[0] + values[3], values[1] + values[4], values[2] + values[5]]
    assert x.sum((0, 1), keepdim=True).tolist() == [[sum(values)]]
    assert on_device([True, False, True]).sum().item() == 2


@pytest.mark.filterwarnings("ignore:.*no MindSpore callable")
def test_powers_of_whole_numbers():
    """The rules once read a number that had no memory: the process ended."""
    x = on_device([3, 2**20, -5])
    assert (x**2).tolist() == [9, 2**40, 25]
    assert x.square().tolist() == [9, 2**40, 25]
    with pytest.raises(RuntimeError, match="negative integer powers"):
        x**-1


def test_close_numbers_are_sorted():
    steps = np.random.RandomState(0).permutation(40)
    values = 1.0 + steps * 1e-13
    x = on_device(values)
    order = np.argsort(steps)
    assert x.sort()[0].tolist() == values[order].tolist()
    assert x.sort()[1].tolist() == order.tolist()
    assert x.topk(3)[1].tolist() == order[::-1][:3].tolist()
    assert x.median().item() == values[order[19]]
    assert (-x).sort(descending=True)[1].tolist() == order.tolist()
    mixed = on_device([-0.0, 0.0, -1e-300, 1e-300, float("inf"), -float("inf"), -2.0], torch.float64)
    assert mixed.sort(stable=True)[1].tolist() == [5, 6, 2, 0, 1, 3, 4]


def test_rests_of_float64_are_exact():
    values = [1.0 + 7e-13, 5.3, -5.3, 1e15 + 0.5, 1.0, -0.0, 3.0]
    divisors = [1e-3, 0.1, 0.1, 0.3, 0.1, 2.0, float("inf")]
    x, y = on_device(values, torch.float64), on_device(divisors, torch.float64)
    assert torch.fmod(x, y).tolist() == np.fmod(values, divisors).tolist()
    assert (x % y).tolist() == np.mod(values, divisors).tolist()


@pytest.mark.parametrize("name", ["tanh", "sigmoid"])
def test_gradients_of_complex_numbers(name):
    results = []
    for device in ("cpu", "mindspore"):
        x = torch.tensor([0.5 + 0.7j, -0.2 - 1.1j], device=device, requires_grad=True)
        getattr(torch, name)(x).abs().sum().backward()
        results.append(x.grad.cpu())
    torch.testing.assert_close(results[1], results[0])


def test_a_module_keeps_its_parameters_on_the_way():
    """An optimizer made before `to` trains what is on the device."""
    net = torch.nn.Linear(2, 1, bias=False)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    weight = net.weight
    net.to("mindspore")
    assert net.weight is weight and weight.device.type == "mindspore"
    before = weight.tolist()
    net(torch.ones(1, 2, device="mindspore")).sum().backward()
    optimizer.step()
    assert weight.tolist() == [pytest.approx([w - 0.5 for w in before[0]], rel=1e-5)]
    assert net.cpu().weight is weight and weight.grad.device.type == "cpu"


def test_pickles_come_back_to_the_device():
    x = torch.arange(4.0, device="mindspore")
    whole, part = pickle.loads(pickle.dumps((x, x[1:])))
    assert whole.device == x.device and whole.tolist() == [0, 1, 2, 3] and part.tolist() == [1, 2, 3]
    net = torch.nn.Linear(2, 2).to("mindspore")
    assert torch.equal(pickle.loads(pickle.dumps(net)).weight, net.weight)


def test_a_generator_of_the_device_has_its_stream():
    drawn = [
        torch.rand(3, generator=torch.Generator(device=d).manual_seed(3), device=d).tolist()
        for d in ("cpu", "mindspore")
    ]
    assert drawn[0] == drawn[1]


def test_threads_take_turns():
    w = torch.randn(20, 20, device="mindspore")
    expected, wrong = (w @ w).relu().sum(1), []

    def work() -> None:
        for _ in range(15):
            x = w.clone().requires_grad_()
            y = (x @ x).relu()
            y.sum().backward()
            if not torch.equal(y.detach().sum(1), expected) or x.grad is None:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_whole_numbers_in_graphs():
    def divided(a, b):
        return a // b, a % b, a.sum(), a.sum(0, keepdim=True)

    a, b = torch.tensor(GREAT), torch.tensor(DIVISORS)
    compiled = torch.compile(divided, backend="mindspore")
    for _ in range(3):
        found = compiled(a, b)
    assert compiled.compiles == 1
    for x, y in zip(found, divided(a, b)):
        assert torch.equal(x, y)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        compiled(a, torch.zeros_like(b))


def test_numbers_are_rounded_to_the_operands_dtype_first():
    """0.3 of a float32 call is float32's, which a remainder of a great number shows."""
    x = on_device([123456792.0, 7.1], torch.float32)
    third = float(np.float32(0.3))
    exact = np.array([123456792.0, float(np.float32(7.1))])
    assert (x % 0.3).tolist() == np.mod(exact, third).astype(np.float32).tolist()
    assert torch.fmod(x, 0.3).tolist() == np.fmod(exact, third).astype(np.float32).tolist()
    assert (x / 0.3).tolist() == (exact / third).astype(np.float32).tolist()
