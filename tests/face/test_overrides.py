"""torch.overrides: names of overridable functions, and functions of one's own that can be taken over."""

import functools

import pytest

import ms_adapter.pytorch as face

NAMES = [
    "add",
    "Tensor.add",
    "linalg.svd",
    "Tensor.__add__",
    "fft.fft",
    "nn.functional.linear",
    "nn.functional.dropout",
    "nn.functional.cross_entropy",
    "einsum",
    "special.erf",
]


@pytest.mark.parametrize("name", NAMES)
def test_names(both, name):
    def scenario(t):
        function = functools.reduce(getattr, name.split("."), t)
        return t.overrides.resolve_name(function), t.overrides.is_tensor_method_or_property(function)

    both(scenario)


def test_properties_and_others(both):
    def scenario(t):
        o = t.overrides
        grad = t.Tensor.grad.__get__
        return (
            o.resolve_name(grad),
            o.is_tensor_method_or_property(grad),
            o.resolve_name(len),
        )

    both(scenario)


def test_what_a_subclass_sees_can_be_named():
    seen = []

    class Watching(face.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(face.overrides.resolve_name(func))
            return super().__torch_function__(func, types, args, kwargs or {})

    x = face.ones(2).as_subclass(Watching)
    face.add(x, 1)
    x.sum()
    face.linalg.norm(x)
    assert seen == ["torch.add", "torch.Tensor.sum", "torch.linalg.norm"]
    listed = face.overrides.get_overridable_functions()
    assert face.add in listed[face] and face.Tensor.sum in listed[face.Tensor]


def test_functions_written_in_python_can_be_taken_over(both):
    def scenario(t):
        class Other:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return t.overrides.resolve_name(func), len(args) + len(kwargs or {}) > 0

        seen = []

        class Log(t.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                seen.append(t.overrides.resolve_name(func))
                return func(*args, **(kwargs or {}))

        f, x = t.nn.functional, t.ones(1, 1, 2, 2)
        with Log():
            f.interpolate(x, scale_factor=2.0)
            t.einsum("bchw->bc", x)
        return f.dropout(Other(), 0.5), f.one_hot(Other()), t.einsum("i", [Other()])[0], seen[0], seen[-1]

    both(scenario)


def test_functions_of_ones_own(both):
    def scenario(t):
        @t.overrides.wrap_torch_function(lambda x, y=None: (x, y))
        def twice(x, y=None):
            return x * 2

        class Other:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return func is twice, [kind.__name__ for kind in types], len(args), sorted(kwargs)

        return twice(t.tensor(2)).item(), twice(Other()), twice(t.tensor(1), y=Other()), twice.__name__

    both(scenario)
