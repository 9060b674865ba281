"""torch.func, vmap and forward-mode AD: the programs of func_cases under PyTorch and under us."""

from __future__ import annotations

import subprocess
import sys
import warnings

import pytest
from func_cases import CASES, cube, loss_of, model, ramp

import ms_adapter.pytorch as ours
from ms_adapter import _C


@pytest.mark.parametrize("program", CASES, ids=lambda program: program.__name__)
def test_same_answer_as_pytorch(program):
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert program(ours) == program(torch)


def test_the_names_scripts_import():
    from ms_adapter.pytorch._functorch.apis import vmap as from_apis
    from ms_adapter.pytorch._functorch.functional_call import functional_call as from_module
    from ms_adapter.pytorch.func import functional_call, grad, vmap

    assert from_apis is vmap is ours.vmap and from_module is functional_call and callable(grad)


def test_custom_function_without_jvp_raises():
    class Plain(ours.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with pytest.raises(RuntimeError, match="You must implement the jvp function"):
        ours.func.jvp(Plain.apply, (ours.ones(2),), (ours.ones(2),))


def test_second_tangents_through_a_custom_function_raise():
    def along(f):
        return lambda x: ours.func.jvp(f, (x,), (ours.ones_like(x),))[1]

    with pytest.raises(NotImplementedError, match="several levels"):
        along(along(cube(ours)))(ramp(ours, 2))


def test_in_place_on_a_view_inside_grad_inside_vmap_is_never_wrong():
    def f(x):
        y = x * 1
        y[0] = y[1] * 2
        return y.sum()

    try:
        got = ours.vmap(ours.func.grad(f))(ramp(ours, 2, 3))
    except RuntimeError:
        return
    assert got.tolist() == [[0.0, 3.0, 1.0]] * 2


def test_a_level_is_left_when_the_function_raises():
    def fails(x):
        raise KeyError("inside")

    for transform in (ours.vmap(fails), lambda x: ours.func.jvp(fails, (x,), (x,))):
        with pytest.raises(KeyError):
            transform(ours.ones(2))
    assert ours.vmap(ours.sin)(ours.zeros(2)).tolist() == [0.0, 0.0]
    assert _C.transforms.vmap_depth() == _C.transforms.dual_depth() == 0


def test_gradients_of_every_example_do_not_loop():
    """The rules serve an MLP: the number of calls does not grow with the batch."""
    from time import perf_counter

    net = model(ours)
    params = {k: v.detach() for k, v in net.named_parameters()}
    each = ours.vmap(ours.func.grad(loss_of(ours, net)), in_dims=(None, 0, 0))

    def seconds(n: int) -> float:
        x, y = ours.rand(n, 4, dtype=ours.float64), ours.zeros(n, dtype=ours.int64)
        each(params, x, y)
        times = []
        for _ in range(5):
            begin = perf_counter()
            each(params, x, y)
            times.append(perf_counter() - begin)
        return min(times)

    assert seconds(256) < 10 * seconds(4)


def test_values_by_example_go_under_masks_by_example():
    def f(x):
        y = x.clone()
        y[x < 0] = x.sum()
        return y

    assert ours.vmap(f)(ours.tensor([[1.0, -2], [-3, 5]])).tolist() == [[1.0, -1.0], [2.0, 5.0]]


FUNCTORCH = """
import warnings
warnings.simplefilter("ignore")
import torch
from functorch import combine_state_for_ensemble, grad, make_functional, make_functional_with_buffers, vmap
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
model.eval().double()
function, parameters, buffers = make_functional_with_buffers(model)
x = torch.arange(15, dtype=torch.float64).view(5, 3) / 10
each = vmap(grad(lambda p, x: function(p, buffers, x[None]).sum()), in_dims=(None, 0))(parameters, x)
print(round(function(parameters, buffers, x).sum().item(), 9), round(each[0].sum().item(), 9))
print([tuple(g.shape) for g in each])
layer = torch.nn.Linear(3, 2)
alone, (weight, bias) = make_functional(layer)
print(weight is layer.weight, weight.requires_grad, make_functional(layer, True)[1][0].requires_grad)
try:
    make_functional(model)
except RuntimeError:
    print("it has buffers")
together, weights, none = combine_state_for_ensemble([torch.nn.Linear(3, 2) for _ in range(3)])
print(vmap(together, in_dims=(0, 0, None))(weights, none, x.float()).shape, weights[0].requires_grad, none)
"""


def test_functorch_under_the_runner(tmp_path):
    pytest.importorskip("torch")
    script = tmp_path / "script.py"
    script.write_text(FUNCTORCH)
    commands = ([sys.executable, "-m", "ms_adapter", "run", str(script)], [sys.executable, str(script)])
    here, there = (subprocess.run(c, capture_output=True, text=True) for c in commands)
    assert (here.returncode, here.stderr) == (0, "")
    assert here.stdout == there.stdout
