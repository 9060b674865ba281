"""Tensors as Python objects: identity, attributes, weak references, subclasses, garbage, overrides."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import ms_adapter.pytorch as torch


class Mark:
    """Something to hang on a tensor and watch."""


class Sub(torch.Tensor):
    pass


def marked(owner) -> weakref.ref:
    owner.mark = Mark()
    return weakref.ref(owner.mark)


def test_grad_is_one_object_with_its_attributes():
    x = torch.ones(3, requires_grad=True)
    x.sum().backward()
    assert x.grad is x.grad
    x.grad.note = 5
    gc.collect()
    assert x.grad.note == 5


def test_subclass_and_weak_reference_outlive_python_references():
    x = torch.zeros(2, requires_grad=True)
    x.grad = torch.ones(2).as_subclass(Sub)
    seen = weakref.ref(x.grad)
    gc.collect()
    assert seen() is x.grad and type(x.grad) is Sub
    del x
    assert seen() is None


def test_a_revived_object_dies_with_its_impl():
    dead = []

    class Loud(torch.Tensor):
        __slots__ = ("slot",)

        def __del__(self):
            dead.append(self.item())

    x = torch.zeros(1, requires_grad=True)
    x.grad = torch.ones(1).as_subclass(Loud)
    x.grad.slot = Mark()
    slot = weakref.ref(x.grad.slot)
    assert not dead
    x.grad = None
    assert dead == [1.0] and slot() is None


def cycle_through_dict():
    x = torch.ones(2)
    x.me = x
    return marked(x)


def cycle_through_grad():
    x = torch.zeros(2, requires_grad=True)
    x.grad = torch.ones(2)
    x.grad.owner = x
    return marked(x)


def cycle_through_leaf_hook():
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda grad, x=x: None)
    return marked(x)


def cycle_through_graph_hook():
    x = torch.ones(2, requires_grad=True) * 2
    x.register_hook(lambda grad, x=x: None)
    return marked(x)


def cycle_through_module():
    m = torch.nn.Linear(2, 2)
    m.me = [m]
    return marked(m)


CYCLES = [
    cycle_through_dict,
    cycle_through_grad,
    cycle_through_leaf_hook,
    cycle_through_graph_hook,
    cycle_through_module,
]


@pytest.mark.parametrize("make", CYCLES)
def test_cycles_are_collected(make):
    mark = make()
    gc.collect()
    assert mark() is None


def test_operators_keep_the_subclass():
    s = torch.ones(2, 2).as_subclass(Sub)
    for result in (s + 1, 1 - s, torch.add(s, 1), s[0], s.sum(), s.detach(), s.T, s.split(1)[0], -s, s == s):
        assert type(result) is Sub
    assert type(torch.nn.Parameter(torch.ones(2)) + 1) is torch.Tensor


def test_torch_function_sees_every_call():
    seen = []

    class Watch(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(getattr(func, "__name__", str(func)))
            return super().__torch_function__(func, types, args, kwargs or {})

    w = torch.ones(2, 2).as_subclass(Watch)
    seen.clear()
    w + 1, torch.exp(w), w[0], w.size(), w.shape
    w[0] = 1.0
    assert seen == ["add", "exp", "__getitem__", "size", "__get__", "__setitem__"]


def test_tensor_like_objects_take_over():
    class Like:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, len(args), types == (cls,)

    assert torch.add(torch.ones(2), Like()) == ("add", 2, True)
    assert torch.nn.functional.linear(Like(), Like()) == ("linear", 2, True)


def test_pickle_and_deepcopy_keep_class_and_attributes():
    p = torch.nn.Parameter(torch.arange(3.0))
    p.note = [1]
    for made in (pickle.loads(pickle.dumps(p)), copy.deepcopy(p)):
        assert type(made) is torch.nn.Parameter and made.requires_grad
        assert made.tolist() == [0.0, 1.0, 2.0]
    for constant in (torch.float32, torch.channels_last, torch.device("cpu"), torch.Size([2])):
        assert pickle.loads(pickle.dumps(constant)) == constant


def test_memory_is_shared_with_numpy_and_dlpack():
    x = torch.arange(6.0).reshape(2, 3)
    x.numpy()[0, 0] = 9
    torch.from_numpy(x.numpy())[0, 1] = 8
    torch.from_dlpack(x)[0, 2] = 7
    assert np.from_dlpack(x).tolist() == x.tolist() == [[9.0, 8.0, 7.0], [3.0, 4.0, 5.0]]
    array = x.t().numpy()
    del x
    gc.collect()
    assert array[0].tolist() == [9.0, 3.0]


def test_storages_are_shared_by_views():
    x = torch.arange(4.0)
    assert x[1:].untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert x.untyped_storage() is x.untyped_storage()
    y = torch.empty(0).set_(x.untyped_storage(), 1, (2,), (2,))
    y.fill_(5)
    assert x.tolist() == [0.0, 5.0, 2.0, 5.0]


def test_module_call_follows_patches():
    calls = []

    class Net(torch.nn.Module):
        def forward(self, x, *, scale=1):
            return x * scale

    net = Net()
    assert net(torch.ones(1), scale=3).item() == 3
    handle = net.register_forward_hook(lambda module, args, output: output * 10)
    assert net(torch.ones(1)).item() == 10
    handle.remove()
    net.forward = lambda x: calls.append("own") or x
    net(torch.ones(1))
    del net.forward
    original = torch.nn.Module.__call__
    torch.nn.Module.__call__ = lambda self, *args: calls.append("patched") or original(self, *args)
    try:
        net(torch.ones(1))
    finally:
        del torch.nn.Module.__call__
    net(torch.ones(1))
    assert calls == ["own", "patched"]


def test_every_way_to_make_a_subclass_with_torch_dispatch_asks_its_hook():
    seen = []

    class Watching(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return super().__torch_dispatch__(func, types, args, kwargs or {})

    for make in (lambda: torch.ones(2).as_subclass(Watching), lambda: Watching([1.0, 1.0])):
        seen.clear()
        assert (make() + 1).tolist() == [2.0, 2.0] and seen[0] == "aten.add.Tensor"
