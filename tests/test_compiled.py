"""What a compiled function must not freeze, share or forget: each call does what the function would do."""

import gc
import threading
import weakref

import numpy as np
import pytest

import ms_adapter.pytorch as torch
from ms_adapter import _C, capture
from ms_adapter.capture.compiled import MOST_SIGNATURES, Compiled, replaying

nn, F = torch.nn, torch.nn.functional


def compiled(fn, *args, calls=3):
    """The function after so many calls, of which all but the first ones were by its graph."""
    run = Compiled(fn, replaying, "test")
    for _ in range(calls):
        run(*args)
    assert run.compiles == 1
    return run


def test_constants_are_not_shared_with_results():
    run = compiled(lambda x: (x * 2, torch.tensor([1.0, 2.0])), torch.ones(2))
    run(torch.ones(2))[1].add_(5)
    assert run(torch.ones(2))[1].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "seed", [lambda: torch.manual_seed(3), lambda: torch.set_rng_state(torch.Generator().get_state())]
)
def test_seeds_inside_run_as_python(seed):
    def fn(x):
        seed()
        return x + torch.rand(3)

    run = Compiled(fn, replaying, "test")
    with pytest.warns(RuntimeWarning, match="sets the random generator"):
        first = run(torch.ones(3))
    for _ in range(4):
        assert torch.equal(run(torch.ones(3)), first)


def checkpointed(p):
    """The output and the weight's gradient of a checkpointed part: the same where both see one mask."""
    weight = nn.Parameter(torch.ones(40))

    def step(x):
        weight.grad = None
        part = lambda v: F.dropout(v * weight, p)
        y = torch.utils.checkpoint.checkpoint(part, x, use_reentrant=False)
        y.sum().backward()
        return y.detach() * 1, weight.grad * 1

    return step


def test_checkpoints_see_one_mask_forward_and_backward():
    run = Compiled(checkpointed(0.5), replaying, "test")
    with pytest.warns(RuntimeWarning, match="set_state"):
        run(torch.ones(40))
    for _ in range(3):
        y, grad = run(torch.ones(40))
        assert torch.equal(y, grad)


def test_checkpoints_without_draws_are_graphs():
    compiled(lambda x: torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False), torch.ones(4))


def test_an_error_that_the_function_catches_ends_the_recording():
    def fn(x):
        try:
            return x @ x
        except RuntimeError:
            return x * 2

    with pytest.raises(capture.NotCapturable, match="matmul|mm"):
        capture.graph(fn, torch.ones(2, 3))


@pytest.mark.parametrize("value", [np.zeros(2), {1}, slice(0, 2)])
def test_results_of_any_python_type(value):
    run = Compiled(lambda x: (x * 2, value), replaying, "test")
    for _ in range(8):
        assert run(torch.ones(1))[1] is value


def test_results_that_are_made_anew_are_no_constants():
    run = Compiled(lambda x: (x * 2, np.zeros(2)), replaying, "test")
    with pytest.warns(RuntimeWarning, match="another Python value"):
        made = [run(torch.ones(1))[1] for _ in range(8)]
    assert len({id(array) for array in made}) == 8


def test_arguments_that_differ_are_told_apart():
    quotient = compiled(lambda x, zero: x / (x * zero), torch.ones(1), 0.0)
    assert quotient(torch.ones(1), -0.0).item() == -float("inf")
    array = np.array([2.0])
    scaled = compiled(lambda x, a: x * float(a[0]), torch.ones(1), array)
    array[0] = 3.0
    assert scaled(torch.ones(1), array).item() == 3.0


@pytest.mark.parametrize("before, after", [((2, 2), (4, 4)), (1, 1.0)])
def test_attributes_that_differ_are_told_apart(before, after):
    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = before

        def forward(self, x):
            return x * (self.factor[0] if isinstance(self.factor, tuple) else self.factor)

    module, x = Module(), torch.arange(3)
    run = compiled(module, x)
    module.factor = after
    assert run(x).dtype == module(x).dtype and torch.equal(run(x), module(x))


def test_values_that_never_come_again_are_not_kept():
    run = Compiled(lambda x, t: x * t, replaying, "test")
    with pytest.warns(RuntimeWarning, match=f"{MOST_SIGNATURES} signatures"):
        for t in range(MOST_SIGNATURES + 5):
            assert run(torch.ones(1), float(t)).item() == t
    assert len(run._last) == MOST_SIGNATURES


def test_counts_of_steps_that_part_move_on_once():
    params = [nn.Parameter(torch.ones(2)) for _ in range(2)]
    opt = torch.optim.Adam(params)

    def step(x):
        opt.zero_grad()
        sum((p * x).sum() for p in params).backward()
        opt.step()

    run = compiled(step, torch.ones(2), calls=5)
    opt.state[params[1]]["step"].fill_(30.0)
    run(torch.ones(2))
    assert [opt.state[p]["step"].item() for p in params] == [6.0, 31.0]


def sigmoids():
    """A compiled module whose backward needs its result, after the calls that it is recorded in."""
    return compiled(nn.Sequential(nn.Linear(3, 3), nn.Sigmoid()), torch.ones(2, 3))


def test_a_result_that_changed_is_noticed_at_backward():
    y = sigmoids()(torch.ones(2, 3))
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_results_that_backward_needs_are_freed():
    y = sigmoids()(torch.ones(2, 3))
    hook = lambda grad: grad  # lives as long as the node
    seen = weakref.ref(hook)
    y.register_hook(hook)
    gc.disable()  # counts are enough: no cycle goes through a result
    try:
        del hook
        assert seen() is not None
        del y
        assert seen() is None
    finally:
        gc.enable()


def test_second_derivatives_are_refused():
    run, x = sigmoids(), torch.ones(2, 3, requires_grad=True)
    for _ in range(3):
        run(x)
    (grad,) = torch.autograd.grad(run(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiate twice"):
        grad.pow(2).sum().backward()


def test_a_gradient_that_cannot_be_is_no_error_of_the_call():
    weight = nn.Parameter(torch.ones(3))

    def fn(x):
        y = torch.sigmoid(x * weight)
        return y.add_(1)

    run = Compiled(fn, replaying, "test")
    with pytest.warns(RuntimeWarning, match="its gradients cannot be computed"):
        assert run(torch.ones(3)).shape == (3,)


def test_threads_record_side_by_side():
    def train(rate, wrap):
        param = nn.Parameter(torch.ones(4))
        opt = torch.optim.Adam([param], lr=rate)

        def step(x):
            opt.zero_grad()
            (param * x).pow(2).sum().backward()
            opt.step()
            return param * 1

        run = wrap(step)
        for _ in range(40):
            last = run(torch.ones(4))
        return last.tolist()

    rates, found = (0.1, 0.2, 0.3, 0.4), {}
    together = threading.Barrier(len(rates))

    def work(rate):
        together.wait()
        found[rate] = train(rate, lambda step: Compiled(step, replaying, "test"))

    threads = [threading.Thread(target=work, args=(rate,)) for rate in rates]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for rate in rates:
        assert found[rate] == pytest.approx(train(rate, lambda step: step), abs=1e-6)


def test_only_tensors_are_inputs_of_a_graph():
    graph = capture.graph(lambda x: x * (1 - 2j), torch.ones(2))
    assert "other=(1-2j)" in graph.text()
    with pytest.raises(TypeError, match="NoneType"):
        graph.replay(None)
    assert not _C.capture.active()
