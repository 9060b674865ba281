"""FakeTensorMode: shapes, dtypes and devices without data, as PyTorch's."""

import importlib

import pytest

import ms_adapter.pytorch as face


def fakes(t):
    return importlib.import_module(f"{t.__name__}._subclasses.fake_tensor")


def test_a_model_on_shapes_alone(both):
    def scenario(t):
        mode = fakes(t).FakeTensorMode()
        with mode:
            net = t.nn.Sequential(t.nn.Conv2d(3, 8, 3), t.nn.ReLU(), t.nn.Flatten(), t.nn.Linear(8 * 36, 5))
            x = t.randn(4, 3, 8, 8)
            y = net(x)
            z = t.cat([y, y * 2]).sum(0)
        kinds = [type(v).__name__ for v in (x, y, z)]
        return kinds, tuple(y.shape), str(y.dtype), y.device.type, tuple(z.shape), y.stride()

    both(scenario)


def test_fakes_of_tensors(both):
    def scenario(t):
        mode = fakes(t).FakeTensorMode()
        x = mode.from_tensor(t.ones(2, 3, dtype=t.float64))
        y = x.t() @ x
        failures = []
        for attempt in (lambda: y.sum().item(), lambda: x + t.ones(2, 3)):
            try:
                attempt()
            except Exception:
                failures.append(True)
        return tuple(y.shape), str(y.dtype), isinstance(y, fakes(t).FakeTensor), y.device.type, failures

    both(scenario)


def test_real_tensors_are_let_in_when_asked():
    mode = fakes(face).FakeTensorMode(allow_non_fake_inputs=True)
    x = mode.from_tensor(face.ones(2, 3))
    assert (x + face.ones(3)).shape == (2, 3)
    with pytest.raises(fakes(face).DataDependentOutputException):
        face.nonzero(x)
