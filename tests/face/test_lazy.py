"""Lazy modules: before, at and after their first call as PyTorch's."""

import copy
import inspect
import pickle
import warnings

import pytest
import torch

import ms_adapter.pytorch as face

SHAPES = {1: (2, 6, 5), 2: (2, 6, 5, 5), 3: (2, 6, 4, 4, 4)}
CASES = [("LazyLinear", (3,), (2, 6))]
for _n, _shape in SHAPES.items():
    CASES += [(f"LazyConv{_n}d", (4, 3), _shape), (f"LazyConvTranspose{_n}d", (4, 3), _shape)]
    CASES += [(f"LazyBatchNorm{_n}d", (), _shape), (f"LazyInstanceNorm{_n}d", (), _shape)]


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize(("name", "args", "shape"), CASES)
def test_first_call(both, name, args, shape):
    def scenario(t):
        t.manual_seed(0)
        module = getattr(t.nn, name)(*args)
        trace = [list(module.state_dict()), module.has_uninitialized_params(), repr(module)]
        twin = getattr(t.nn, name)(*args)
        trace.append(tuple(module(t.ones(shape)).shape))
        trace += [repr(module), type(module).__name__, len(module._forward_pre_hooks)]
        trace.append([(key, value.tolist()) for key, value in module.state_dict().items()])
        twin.load_state_dict(module.state_dict())
        trace.append([(key, value.tolist()) for key, value in twin.state_dict().items()])
        if "InstanceNorm" not in name:  # PyTorch's cannot be called when loaded before its first call
            twin(t.ones(shape))
        return [*trace, repr(twin)]

    both(scenario)


@pytest.mark.parametrize("name", [case[0] for case in CASES])
def test_signatures(name):
    def parameters(t):
        found = inspect.signature(getattr(t.nn, name)).parameters.values()
        return [(p.name, p.kind, p.default) for p in found]

    assert parameters(face) == parameters(torch)


def test_waiting_parameters(both):
    def scenario(t):
        param = t.nn.UninitializedParameter(dtype=t.float64)
        copied = copy.deepcopy(param)
        kept = pickle.loads(pickle.dumps(param))
        trace = [(type(p).__name__, p.requires_grad, repr(p)) for p in (param, copied, kept)]
        trace.append((str(param.dtype), str(copied.dtype)))
        uses = [lambda: param + 1, lambda: t.sum(param), lambda: param.view(1), lambda: param.shape]
        for use in uses:
            with pytest.raises((ValueError, RuntimeError)) as caught:
                use()
            trace.append(caught.type.__name__)
        layer = t.nn.LazyLinear(2).double()
        layer.to("cpu")
        optimizer = t.optim.SGD(layer.parameters(), lr=0.1)
        layer(t.ones(1, 3, dtype=t.float64)).sum().backward()
        optimizer.step()
        return [*trace, str(layer.weight.dtype), type(layer.weight).__name__, layer.weight.grad.tolist()]

    both(scenario)


def test_errors(both):
    def scenario(t):
        class Forgetful(t.nn.modules.lazy.LazyModuleMixin, t.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = t.nn.UninitializedParameter()

            def initialize_parameters(self, input):
                pass

        def name_of(action):
            try:
                action()
            except Exception as err:
                return type(err).__name__

        return [
            name_of(lambda: Forgetful()(t.ones(1))),
            name_of(lambda: t.nn.LazyConv2d(4, 3)(t.ones(3, 3))),
            name_of(lambda: t.nn.LazyConv1d(4, 3, groups=2)(t.ones(1, 3, 5))),
            name_of(lambda: t.nn.LazyBatchNorm2d()(t.ones(2, 3))),
            name_of(lambda: t.nn.LazyLinear(2).weight.shape),
        ]

    both(scenario)
