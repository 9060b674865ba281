"""Parametrizations, weight and spectral norm: what modules become, hold and give, as PyTorch's."""

import copy
import io
import warnings

import pytest
import torch

import ms_adapter.pytorch as face


def fill(t, module):
    with t.no_grad():
        for i, tensor in enumerate([*module.parameters(), *module.buffers()]):
            values = t.arange(tensor.numel(), dtype=t.float64).reshape(tensor.shape)
            tensor.copy_(((values + i + 1) ** 2 * 0.37).sin())  # of full rank
    return module


def linear(t, *sizes):
    return fill(t, t.nn.Linear(*(sizes or (3, 4))).double())


def state(module):
    return {key: value.tolist() for key, value in module.state_dict().items()}


def attempt(action):
    try:
        return action()
    except Exception as err:
        return type(err).__name__


def classes(t):
    class Double(t.nn.Module):
        def forward(self, x):
            return x * 2

        def right_inverse(self, x):
            return x / 2

    class Skew(t.nn.Module):
        def forward(self, x):
            return x.triu(1) - x.triu(1).T

    class Sum(t.nn.Module):
        def forward(self, a, b):
            return a + b

        def right_inverse(self, x):
            return x * 0.25, x * 0.75

    class Wider(t.nn.Module):
        def forward(self, x):
            return t.cat([x, x])

    return Double, Skew, Sum, Wider


def test_registering(nearly):
    def scenario(t):
        double, _, total, _ = classes(t)
        register = t.nn.utils.parametrize.register_parametrization
        layer, trace = linear(t), []
        register(layer, "weight", double())
        trace += [repr(layer), type(layer).__name__, state(layer), layer.weight.tolist()]
        register(layer, "weight", double())
        register(layer, "bias", total())
        trace += [list(layer.state_dict()), layer.weight.tolist(), layer.bias.tolist()]
        with t.no_grad():
            layer.weight = t.ones(4, 3, dtype=t.float64)
            layer.bias = t.ones(4, dtype=t.float64)
        trace += [state(layer)]
        layer(t.ones(2, 3, dtype=t.float64)).sin().sum().backward()
        trace += [[(name, p.grad.tolist()) for name, p in layer.named_parameters()]]
        twin = copy.deepcopy(layer)
        trace += [state(twin), repr(twin), twin.weight is twin.weight]
        utils = t.nn.utils.parametrize
        trace += [utils.is_parametrized(layer), utils.is_parametrized(layer, "other")]
        trace += [utils.type_before_parametrizations(layer).__name__]
        with utils.cached():
            trace.append(layer.weight is layer.weight)
        utils.remove_parametrizations(layer, "bias")
        trace += [repr(layer), state(layer)]
        utils.remove_parametrizations(layer, "weight", leave_parametrized=False)
        return [
            *trace,
            repr(layer),
            state(layer),
            type(layer).__name__,
            isinstance(layer.weight, t.nn.Parameter),
        ]

    nearly(scenario)


def test_errors(both):
    def scenario(t):
        double, skew, total, wider = classes(t)
        utils = t.nn.utils.parametrize
        register = utils.register_parametrization
        once = register(linear(t), "weight", double())
        calls = [
            lambda: register(linear(t), "other", double()),
            lambda: register(linear(t), "weight", wider()),
            lambda: register(linear(t), "weight", wider(), unsafe=True).weight.shape == (8, 3),
            lambda: register(linear(t), "weight", skew()),
            lambda: register(once, "weight", wider()),
            lambda: setattr(register(linear(t, 3, 3), "weight", skew()), "weight", t.ones(3, 3)),
            lambda: utils.remove_parametrizations(linear(t), "weight"),
            lambda: utils.remove_parametrizations(
                register(linear(t), "weight", total()), "weight", leave_parametrized=False
            ),
            lambda: copy.copy(once).__reduce_ex__(2),
        ]
        return [attempt(call) for call in calls]

    both(scenario)


def test_transfer(nearly):
    def scenario(t):
        double, _, total, _ = classes(t)
        utils, trace = t.nn.utils.parametrize, []
        for made in (double(), total()):
            source = utils.register_parametrization(linear(t), "weight", made)
            target = utils.transfer_parametrizations_and_params(
                source, t.nn.Linear(3, 4, bias=False).double()
            )
            trace.append((state(target), target.weight.tolist()))
        return trace

    nearly(scenario)


def layers(t):
    return [
        t.nn.Linear(3, 4).double(),
        t.nn.Conv2d(2, 4, 3).double(),
        t.nn.ConvTranspose1d(2, 3, 3).double(),
        t.nn.LSTM(2, 3).double(),
    ]


@pytest.mark.parametrize("dim", [0, 1, -1, None])
@pytest.mark.parametrize("kind", ["parametrized", "hook"])
def test_weight_norm(nearly, kind, dim):
    def scenario(t):
        trace, utils = [], t.nn.utils
        for layer in layers(t):
            name = "weight_hh_l0" if isinstance(layer, t.nn.LSTM) else "weight"
            fill(t, layer)
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                norm = utils.parametrizations.weight_norm if kind == "parametrized" else utils.weight_norm
                layer = norm(layer, name, dim)
            trace.append(([w.category.__name__ for w in seen], state(layer), getattr(layer, name).tolist()))
            with t.no_grad():
                for param in layer.parameters():
                    param.mul_(1.5)
            shape = (2, 2, 5, 5) if isinstance(layer, t.nn.Conv2d) else (2, 2, 5)
            shape = (2, 3) if isinstance(layer, t.nn.Linear) else (5, 2) if name != "weight" else shape
            output = layer(t.ones(shape, dtype=t.float64))
            (output[0] if isinstance(output, tuple) else output).sin().sum().backward()
            trace.append([(n, p.grad.tolist()) for n, p in layer.named_parameters()])
            if kind == "parametrized":
                utils.parametrize.remove_parametrizations(layer, name)
            else:
                utils.remove_weight_norm(layer, name)
            trace.append((repr(layer), state(layer)))
        return trace

    nearly(scenario, 1e-10)


def test_old_states_of_weight_norm_load(nearly):
    def scenario(t):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            old = t.nn.utils.weight_norm(linear(t))
        new = t.nn.utils.parametrizations.weight_norm(t.nn.Linear(3, 4).double())
        new.load_state_dict(old.state_dict())
        return state(new)

    nearly(scenario)


@pytest.mark.parametrize("kind", ["parametrized", "hook"])
def test_spectral_norm(nearly, kind):
    def scenario(t):
        trace, utils = [], t.nn.utils
        for layer in layers(t)[:3]:
            fill(t, layer)
            t.manual_seed(0)
            norm = utils.parametrizations.spectral_norm if kind == "parametrized" else utils.spectral_norm
            layer = norm(layer, n_power_iterations=2)
            trace.append((list(layer.state_dict()), dict(layer.state_dict()._metadata)))
            for buffer in layer.buffers():  # their random start is float32's or float64's stream
                buffer.copy_(t.nn.functional.normalize((t.arange(buffer.numel()) + 1.0).double(), dim=0))
            shape = (2, 2, 5, 5) if isinstance(layer, t.nn.Conv2d) else (2, 2, 5)
            shape = (2, 3) if isinstance(layer, t.nn.Linear) else shape
            for _ in range(2):
                layer(t.ones(shape, dtype=t.float64)).sin().sum().backward()
            layer.eval()
            trace.append([(n, p.grad.tolist()) for n, p in layer.named_parameters()])
            trace.append((layer(t.ones(shape, dtype=t.float64)).tolist(), state(layer)))
            if kind == "parametrized":
                utils.parametrize.remove_parametrizations(layer, "weight")
            else:
                utils.remove_spectral_norm(layer)
            trace.append((repr(layer), state(layer)))
        return trace

    nearly(scenario, 1e-10)


def test_spectral_norm_finds_the_largest_singular_value():
    layer = linear(face, 5, 7)
    want = torch.linalg.matrix_norm(torch.tensor(layer.weight.tolist(), dtype=torch.float64), 2).item()
    before = layer.weight.detach().clone()
    layer = face.nn.utils.parametrizations.spectral_norm(layer, n_power_iterations=100)
    assert (before / layer.weight).flatten()[0].item() == pytest.approx(want, rel=1e-6)


def test_norm_errors(both):
    def scenario(t):
        utils = t.nn.utils
        warnings.simplefilter("ignore")
        twice = utils.weight_norm(linear(t))
        spectral = utils.spectral_norm(linear(t))
        calls = [
            lambda: utils.weight_norm(twice),
            lambda: utils.remove_weight_norm(linear(t)),
            lambda: utils.spectral_norm(spectral),
            lambda: utils.spectral_norm(linear(t), n_power_iterations=0),
            lambda: utils.remove_spectral_norm(linear(t)),
            lambda: utils.parametrizations.spectral_norm(linear(t), "other"),
            lambda: utils.parametrizations.spectral_norm(linear(t), dim=3),
            lambda: utils.parametrizations.spectral_norm(linear(t), n_power_iterations=0),
            lambda: utils.parametrizations.orthogonal(linear(t), "bias"),
            lambda: utils.parametrizations.orthogonal(linear(t), orthogonal_map="other"),
        ]
        return [attempt(call) for call in calls]

    with warnings.catch_warnings():
        both(scenario)


HAVE_MAPS = all(hasattr(face.linalg, name) for name in ("qr", "matrix_exp", "solve", "householder_product"))


@pytest.mark.skipif(not HAVE_MAPS, reason="needs the linear algebra operators")
@pytest.mark.parametrize("trivial", [True, False])
@pytest.mark.parametrize("shape", [(3, 3), (3, 5), (5, 3)])
@pytest.mark.parametrize("kind", ["matrix_exp", "cayley", "householder", None])
def test_orthogonal(nearly, kind, shape, trivial):
    def scenario(t):
        t.manual_seed(0)
        layer = linear(t, *shape)
        made = attempt(
            lambda: t.nn.utils.parametrizations.orthogonal(layer, "weight", kind, use_trivialization=trivial)
        )
        if made == "NotImplementedError":
            return made
        long = layer.weight.mT if layer.weight.size(0) < layer.weight.size(1) else layer.weight
        assert (long.mT @ long - t.eye(long.size(1), dtype=t.float64)).abs().max() < 1e-10
        with t.no_grad():
            original = layer.parametrizations.weight.original
            original.add_(t.ones_like(original).tril(-1), alpha=0.1)
        layer.weight.sin().sum().backward()
        return (
            list(layer.state_dict()),
            layer.weight.tolist(),
            layer.parametrizations.weight.original.grad.tolist(),
        )

    nearly(scenario, 1e-9)


@pytest.mark.parametrize("kind", ["weight_norm", "spectral_norm"])
@pytest.mark.parametrize(("writer", "reader"), [(torch, face), (face, torch), (face, face)])
def test_modules_with_norms_travel(writer, reader, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layer = getattr(writer.nn.utils, kind)(linear(writer)).eval()
    want = layer(writer.ones(2, 3, dtype=writer.float64)).tolist()
    buffer = io.BytesIO()
    writer.save(layer, buffer)
    buffer.seek(0)
    again = reader.load(buffer, weights_only=False)
    got = again(reader.ones(2, 3, dtype=reader.float64)).tolist()
    assert got == [pytest.approx(row, abs=1e-12) for row in want]
    getattr(reader.nn.utils, f"remove_{kind}")(again)
    assert list(again.state_dict()) == ["bias", "weight"]


def test_states_of_old_spectral_norms_load(nearly):
    def scenario(t):
        old = t.nn.utils.spectral_norm(linear(t, 3, 3))
        for buffer in old.buffers():
            buffer.copy_(t.nn.functional.normalize(t.arange(1.0, 4.0).double(), dim=0))
        old.eval()(t.ones(1, 3, dtype=t.float64))
        state = dict(old.state_dict())
        state["weight"] = old.weight.detach()
        del state["weight_v"]
        new = t.nn.utils.spectral_norm(t.nn.Linear(3, 3).double())
        new.load_state_dict(state)
        return {key: value.tolist() for key, value in new.state_dict().items()}

    nearly(scenario, 1e-9)
