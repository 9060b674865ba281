"""torch.autograd.Variable: old scripts wrap every batch in it."""

import pytest

CALLS = {
    "a plain tensor": lambda t, V: V(t.ones(2)),
    "no gradient": lambda t, V: V(t.ones(2, requires_grad=True), requires_grad=False),
    "a gradient": lambda t, V: V(t.ones(2), requires_grad=True),
    "by place": lambda t, V: V(t.ones(2), True),
    "a result": lambda t, V: V(t.ones(2, requires_grad=True) * 2),
    "by name": lambda t, V: V(data=t.ones(1, dtype=t.int64)),
    "nothing": lambda t, V: V(),
    "volatile": lambda t, V: V(t.ones(2), volatile=True),
    "a parameter": lambda t, V: V(t.nn.Parameter(t.ones(1))),
}


@pytest.mark.parametrize("name", list(CALLS))
@pytest.mark.filterwarnings("ignore:.*volatile")
def test_wraps(both, name):
    def scenario(t):
        v = CALLS[name](t, t.autograd.Variable)
        return type(v).__name__, v.tolist(), str(v.dtype), v.requires_grad, v.is_leaf, v.grad_fn is None

    both(scenario)


@pytest.mark.parametrize("wrong", [3.0, [1.0], "tensor"])
def test_only_tensors_are_wrapped(both, wrong):
    def scenario(t):
        with pytest.raises(TypeError, match="data has to be a tensor"):
            t.autograd.Variable(wrong)

    both(scenario)


def test_shares_memory_and_version_and_is_what_every_tensor_is(both):
    def scenario(t):
        tensor = t.ones(2)
        wrapped = t.autograd.Variable(tensor, requires_grad=False)
        wrapped.add_(1)
        kinds = isinstance(tensor, t.autograd.Variable), isinstance(3, t.autograd.Variable)
        return tensor.tolist(), tensor._version, wrapped is tensor, kinds

    both(scenario)


def test_integers_have_no_gradient(both):
    def scenario(t):
        with pytest.raises(RuntimeError, match="floating point"):
            t.autograd.Variable(t.ones(2, dtype=t.int64), requires_grad=True)

    both(scenario)
