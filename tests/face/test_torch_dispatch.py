"""__torch_dispatch__: modes that see operators, and tensor classes whose operators are Python's."""

import copy
import gc
import importlib
import weakref

import pytest

import ms_adapter.pytorch as face


def parts(t):
    """(TorchDispatchMode's module, pytree) of a side."""
    base = t.__name__
    return (
        importlib.import_module(f"{base}.utils._python_dispatch"),
        importlib.import_module(f"{base}.utils._pytree"),
    )


def logging_mode(t, seen):
    class Log(parts(t)[0].TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    return Log()


# Where both have the same operators: one each.
CALLS = {
    "mul": lambda t, x: x * 2,
    "add": lambda t, x: x + x,
    "add_": lambda t, x: x.clone().add_(1),
    "out": lambda t, x: t.add(x, x, out=x.clone()),
    "eq_number": lambda t, x: x == 2,
    "eq_tensor": lambda t, x: x == x,
    "pow": lambda t, x: x**2,
    "relu": lambda t, x: t.relu(x),
    "sum": lambda t, x: x.sum(),
    "sum_dim": lambda t, x: x.sum(0),
    "mean": lambda t, x: x.mean(),
    "mean_dim": lambda t, x: x.mean(1, keepdim=True),
    "max_dim": lambda t, x: x.max(1)[0],
    "mm": lambda t, x: x.mm(x),
    "addmm": lambda t, x: t.addmm(x, x, x),
    "bmm": lambda t, x: x[None].bmm(x[None]),
    "t": lambda t, x: x.t(),
    "transpose": lambda t, x: x.transpose(0, 1),
    "view": lambda t, x: x.view(-1),
    "permute": lambda t, x: x.permute(1, 0),
    "select": lambda t, x: x[0],
    "slice": lambda t, x: x[:, 1:],
    "expand": lambda t, x: x[None].expand(2, 3, 3),
    "cat": lambda t, x: t.cat([x, x]),
    "where": lambda t, x: t.where(x > 0, x, x),
    "zeros": lambda t, x: t.zeros(3),
    "ones_like": lambda t, x: t.ones_like(x),
    "exp": lambda t, x: x.exp(),
    "masked_fill": lambda t, x: x.masked_fill(x > 1, 0.0),
    "gather": lambda t, x: x.gather(0, t.zeros(1, 3, dtype=t.int64)),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_a_mode_sees(both, name):
    def scenario(t):
        seen, x = [], t.arange(9.0).view(3, 3)
        with logging_mode(t, seen):
            result = CALLS[name](t, x)
        return seen, [round(float(v), 4) for v in (result / 3000).flatten().tolist()]

    both(scenario)


def test_nested_modes_and_the_stack(both):
    def scenario(t):
        modes, seen = parts(t)[0], []

        class Negated(modes.TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                seen.append(("inside", len(modes._get_current_dispatch_mode_stack())))
                made = func(*args, **(kwargs or {}))
                return -made if func is t.ops.aten.relu.default else made

        inner = []
        with logging_mode(t, inner) as log, Negated() as negated:
            stack = modes._get_current_dispatch_mode_stack()
            same = stack[0] is log and stack[1] is negated and modes._get_current_dispatch_mode() is negated
            value = t.relu(t.tensor([1.0])).tolist()
            with modes._disable_current_modes():
                t.relu(t.ones(1))
        return value, inner[-2:], same, seen[-1], modes._get_current_dispatch_mode()

    both(scenario)


def test_a_mode_may_answer_by_itself_or_raise(both):
    def scenario(t):
        modes = parts(t)[0]

        class Meddling(modes.TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                if func is t.ops.aten.mm.default:
                    raise ValueError("no products")
                if func.overloadpacket is t.ops.aten.exp:
                    return args[0] * 10
                return func(*args, **(kwargs or {}))

        with Meddling():
            value = t.exp(t.ones(1)).tolist()
            try:
                t.ones(1, 1).mm(t.ones(1, 1))
            except ValueError as err:
                failed = str(err)
        return value, failed, t.exp(t.zeros(1)).tolist(), modes._get_current_dispatch_mode()

    both(scenario)


def wrapper_class(t, seen):
    pytree = parts(t)[1]

    class Wrapper(t.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return t.Tensor._make_wrapper_subclass(
                cls, inner.size(), strides=inner.stride(), dtype=inner.dtype, device=inner.device
            )

        def __init__(self, inner):
            self.inner = inner

        __torch_function__ = t._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append(str(func))
            args, kwargs = pytree.tree_map_only(cls, lambda w: w.inner, (args, kwargs or {}))
            return pytree.tree_map_only(t.Tensor, cls, func(*args, **kwargs))

    return Wrapper


def test_a_wrapper_class(both):
    def scenario(t):
        seen = []
        wrapper = wrapper_class(t, seen)
        w = wrapper(t.arange(6.0).view(2, 3))
        made = t.cat([w * 2, w + w]).t()[1:]
        shown = [
            tuple(w.shape),
            str(w.dtype),
            w.device.type,
            type(made) is wrapper,
            tuple(made.shape),
            made.stride(),
        ]
        w.mul_(3)
        number = w.sum().item()
        return shown, made.inner.tolist(), w.inner.tolist(), number, seen[:4]

    both(scenario)


def test_gradients_are_recorded_above_the_class(both):
    def scenario(t):
        seen = []
        wrapper = wrapper_class(t, seen)
        w = wrapper(t.tensor([1.0, -2.0, 3.0])).requires_grad_()
        loss = (t.relu(w) * w + w.exp()).sum()
        names = [loss.requires_grad, w.is_leaf, loss.inner.requires_grad]
        loss.backward()
        loss2 = (w * t.tensor([1.0, 2.0, 3.0])).sum()
        loss2.backward()
        return names, type(w.grad) is wrapper, [round(v, 5) for v in w.grad.inner.tolist()]

    both(scenario)


def test_a_mode_and_a_class(both):
    def scenario(t):
        seen, order = [], []
        wrapper = wrapper_class(t, order)
        modes = parts(t)[0]

        class Log(modes.TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                seen.append((str(func), [kind.__name__ for kind in types]))
                return func(*args, **(kwargs or {}))

        w = wrapper(t.ones(2))
        with Log():
            made = w * 2
        return seen, order, type(made).__name__

    both(scenario)


def test_data_of_the_class_itself(both):
    def scenario(t):
        seen = []

        class Watched(t.Tensor):
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                seen.append(str(func))
                return super().__torch_dispatch__(func, types, args, kwargs or {})

        x = t.Tensor._make_subclass(Watched, t.ones(2))
        made = x + 1
        return seen, type(made).__name__, made.tolist() if type(made) is t.Tensor else None

    seen, kind, _ = scenario(face)
    assert seen[0] == "aten.add.Tensor" and kind in ("Tensor", "Watched")


def test_classes_meet(both):
    def scenario(t):
        seen = []
        one, other = wrapper_class(t, seen), wrapper_class(t, seen)

        class Silent(one):
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                return NotImplemented

        value = other(t.ones(1))
        try:
            Silent(t.ones(1)) + 1
        except TypeError:
            return value.inner.tolist()
        return "no error"

    both(scenario)


def test_every_argument_reaches_the_operator(both):
    def scenario(t):
        generator, seen = t.Generator(), []
        calls = [
            lambda: t.randn(3, generator=generator.manual_seed(5)),
            lambda: t.empty(4).uniform_(2, 3, generator=generator.manual_seed(6)),
            lambda: t.randperm(5, generator=generator.manual_seed(7)),
            lambda: t.zeros(2, 2, dtype=t.int16, layout=t.sparse_coo).to_dense(),
            lambda: t.ones(1, 2, 2, 2).to(memory_format=t.channels_last),
            lambda: t.full((2,), 2 + 1j),
            lambda: t.nn.functional.pad(t.ones(2), (1, 2), value=4.5),
            lambda: t.searchsorted(t.arange(4.0), t.tensor([1.5]), side="right"),
        ]
        plain = [call() for call in calls]
        with logging_mode(t, seen):
            through = [call() for call in calls]
        same = [bool(t.equal(a, b)) and a.stride() == b.stride() for a, b in zip(plain, through, strict=True)]
        return same, len(seen) > 8

    both(scenario)


def test_return_and_correct_aliasing(both):
    def scenario(t):
        modes, pytree = parts(t)
        seen = []
        base = wrapper_class(t, seen)

        class Correct(base):
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                kwargs = kwargs or {}
                inner, named = pytree.tree_map_only(cls, lambda w: w.inner, (args, kwargs))
                made = pytree.tree_map_only(t.Tensor, cls, func(*inner, **named))
                return modes.return_and_correct_aliasing(func, args, kwargs, made)

        x = Correct(t.ones(2))
        y = x.add_(1)
        z = x * 2
        return y is x, x.inner.tolist(), z.inner.tolist(), modes.is_traceable_wrapper_subclass(x)

    both(scenario)


def test_overloads(both):
    def scenario(t):
        aten = t.ops.aten
        add = aten.add.Tensor
        return (
            str(add),
            add.name(),
            add.namespace,
            add.overloadpacket is aten.add,
            add is aten.add.Tensor,
            str(aten.relu.default),
            aten.mul.Tensor(t.ones(1), 2).tolist(),
            aten.sum.dim_IntList(t.ones(2, 2), [0]).tolist(),
            aten.add_.Tensor._schema.is_mutable,
            aten.add.Tensor._schema.is_mutable,
            aten.relu(self=t.tensor([-1.0])).tolist(),
        )

    both(scenario)


def test_flop_counter(both):
    def scenario(t):
        counter = importlib.import_module(f"{t.__name__}.utils.flop_counter").FlopCounterMode
        net = t.nn.Sequential(
            t.nn.Conv2d(3, 8, 3, padding=1), t.nn.ReLU(), t.nn.Flatten(), t.nn.Linear(8 * 36, 5)
        )
        x = t.ones(2, 3, 6, 6)
        with counter(display=False) as forward:
            net(x)
        with counter(display=False) as train:
            net(x).sum().backward()
        with counter(display=False) as products:
            a = t.ones(4, 5, 6)
            a @ a.transpose(1, 2)
            t.ones(3, 4) @ t.ones(4, 5)
        by_module = {k: sum(v.values()) for k, v in forward.get_flop_counts().items()}
        return forward.get_total_flops(), train.get_total_flops(), products.get_total_flops(), by_module

    both(scenario)


COMPOSED = {
    "inv": lambda t, w: t.linalg.inv(w),
    "cholesky": lambda t, w: t.linalg.cholesky(w @ w),
    "einsum": lambda t, w: t.einsum("ij,jk->ik", w, w),
    "layer_norm": lambda t, w: t.nn.functional.layer_norm(w, (2,)),
    "repeat_interleave": lambda t, w: t.repeat_interleave(w, 2, 0),
    "conv": lambda t, w: t.nn.functional.conv2d(w[None, None], t.ones(1, 1, 1, 1, dtype=w.dtype)),
    "rand_like": lambda t, w: t.rand_like(w) * 0,
    "setitem": lambda t, w: (w.__setitem__((0, 0), 5), w)[1],
    "masked": lambda t, w: w.masked_fill(w > 1, 0.0),
    "isclose": lambda t, w: t.isclose(w, w) * 1.0,
}


@pytest.mark.parametrize("name", COMPOSED)
def test_functions_of_many_operators_on_wrappers(both, name):
    def scenario(t):
        w = wrapper_class(t, [])(t.tensor([[2.0, 1.0], [1.0, 2.0]], dtype=t.float64))
        made = COMPOSED[name](t, w)
        return [round(float(v), 5) for v in made.inner.flatten().tolist()], tuple(made.shape)

    both(scenario)


def test_wrappers_as_parameters(both):
    def scenario(t):
        wrapper = wrapper_class(t, [])
        layer = t.nn.Linear(2, 1, bias=False)
        layer.weight = t.nn.Parameter(wrapper(t.ones(1, 2)))
        other = copy.deepcopy(layer)
        layer(t.tensor([[2.0, 3.0]])).sum().backward()
        kinds = [type(layer.weight) is wrapper, type(other.weight) is wrapper]
        t.optim.SGD(layer.parameters(), lr=0.5).step()
        t.optim.Adam(layer.parameters(), lr=0.5).step()
        kinds.append([round(float(v), 4) for v in layer.weight.inner.flatten().tolist()])
        return (
            kinds,
            isinstance(layer.weight, t.nn.Parameter),
            layer.weight.grad.inner.tolist(),
            other.weight.grad,
        )

    both(scenario)


def test_kernels_that_leave_values_for_backward():
    wrapper = wrapper_class(face, [])
    w = wrapper(face.ones(2, 2)).requires_grad_()
    with face.no_grad():
        assert face.nn.functional.layer_norm(w, (2,)).inner.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    with pytest.raises(NotImplementedError, match="layer_norm.*leaves values for backward"):
        face.nn.functional.layer_norm(w, (2,))


def test_wrappers_are_freed(both):
    def scenario(t):
        wrapper, kept = wrapper_class(t, []), []
        for _ in range(5):
            x = wrapper(t.ones(3)).requires_grad_()
            y = (x.exp() * x).sum()
            y.backward()
            kept += [weakref.ref(x), weakref.ref(y)]
        del x, y
        gc.collect()
        return sum(ref() is not None for ref in kept)

    both(scenario)


def test_wrappers_have_no_memory_of_their_own():
    w = wrapper_class(face, [])(face.ones(2))
    for attempt in (w.data_ptr, w.untyped_storage, w.numpy):
        with pytest.raises((RuntimeError, NotImplementedError)):
            attempt()
