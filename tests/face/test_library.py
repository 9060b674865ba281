"""torch.library: custom operators, their gradients, fakes and kernels, modes and classes."""

# ruff: noqa: UP006, UP045 - annotations that code in the wild has

import importlib
import itertools
from collections.abc import Sequence
from typing import List, Optional, Tuple  # noqa: UP035 - annotations that code in the wild has

import pytest

import ms_adapter.pytorch as face

_numbers = itertools.count()


def fresh(name):
    """A namespace that no other test has."""
    return f"{name}{next(_numbers)}"


def scale_op(t, space):
    def scale(x: t.Tensor, by: float = 2.0, *, shift: int = 0) -> t.Tensor:
        return x * by + shift

    return t.library.custom_op(f"{space}::scale", scale, mutates_args=())


@pytest.fixture
def ours_and_theirs(both):
    """As ``both``, with a namespace of its own for each side."""

    def compare(scenario):
        space = fresh("lib")
        both(lambda t: scenario(t, space))

    return compare


def message(call):
    try:
        return call()
    except Exception as err:
        return type(err).__name__


def test_custom_op(ours_and_theirs):
    def scenario(t, space):
        scale = scale_op(t, space)
        op = getattr(t.ops, space).scale
        x = t.tensor([1.0, 2.0])
        return (
            scale(x).tolist(),
            scale(x, 3.0, shift=1).tolist(),
            op(x, by=0.5).tolist(),
            op.default(x).tolist(),
            str(op.default),
            op.default.name(),
            str(op.default._schema).partition("(")[2].replace("SymInt", "int"),
            message(lambda: scale(1)),
            message(lambda: op.missing),
            message(lambda: getattr(t.ops, space).missing),
            scale(t.ones(2, requires_grad=True)).requires_grad,
            message(lambda: scale(t.ones(2, requires_grad=True)).sum().backward()),
        )

    ours_and_theirs(scenario)


def test_gradients(ours_and_theirs):
    def scenario(t, space):
        scale = scale_op(t, space)

        def setup(ctx, inputs, keyword_only_inputs, output):
            ctx.save_for_backward(inputs[0])
            ctx.by = inputs[1]

        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * ctx.by + 0 * x, None

        scale.register_autograd(backward, setup_context=setup)
        x = t.tensor([1.0, 2.0], requires_grad=True)
        y = scale(scale(x, 3.0) ** 2)
        y.sum().backward()
        first = x.grad.tolist()
        z = t.autograd.grad(scale(x, 5.0).sum(), x, create_graph=True)[0]
        return first, z.tolist(), type(y.grad_fn).__name__ != "NoneType"

    ours_and_theirs(scenario)


def test_lists_and_several_results(ours_and_theirs):
    def scenario(t, space):
        @t.library.custom_op(f"{space}::stats", mutates_args=())
        def stats(
            xs: List[t.Tensor], dims: Sequence[int], w: Optional[t.Tensor] = None
        ) -> Tuple[t.Tensor, t.Tensor]:
            total = sum(x.sum(list(dims)) for x in xs)
            return total, total.clone() if w is None else total * w

        def backward(ctx, first, second):
            return [(first + second).expand(s) for s in ctx.sizes], None, None

        def setup(ctx, inputs, output):
            ctx.sizes = [x.shape for x in inputs[0]]

        stats.register_autograd(backward, setup_context=setup)
        a, b = t.ones(2, 3, requires_grad=True), t.full((2, 3), 2.0, requires_grad=True)
        one, two = stats([a, b], [0, 1], t.ones(()))
        (one + 2 * two).backward()
        return (
            one.tolist(),
            two.tolist(),
            a.grad.tolist(),
            b.grad.tolist(),
            str(stats._opoverload._schema).split("(")[1],
        )

    ours_and_theirs(scenario)


def test_what_writes_to_its_arguments(ours_and_theirs):
    def scenario(t, space):
        @t.library.custom_op(f"{space}::bump", mutates_args=("x",))
        def bump(x: t.Tensor, by: int) -> None:
            x.add_(by)

        x = t.zeros(2)
        before = x._version
        returned = bump(x, 3)
        schema = bump._opoverload._schema
        return (
            returned,
            x.tolist(),
            x._version > before,
            schema.is_mutable,
            str(schema).split("(", 1)[1].replace("SymInt", "int"),
        )

    ours_and_theirs(scenario)


def test_results_that_are_inputs(ours_and_theirs):
    def scenario(t, space):
        @t.library.custom_op(f"{space}::same", mutates_args=())
        def same(x: t.Tensor) -> t.Tensor:
            return x

        @t.library.custom_op(f"{space}::view", mutates_args=())
        def view(x: t.Tensor) -> t.Tensor:
            return x.view(-1)

        return message(lambda: same(t.ones(2))), message(lambda: view(t.ones(2)))

    ours_and_theirs(scenario)


def test_fakes_and_kernels(ours_and_theirs):
    def scenario(t, space):
        @t.library.custom_op(f"{space}::doubled", mutates_args=(), device_types="cpu")
        def doubled(x: t.Tensor) -> t.Tensor:
            return t.cat([x, x])

        without = message(lambda: doubled(t.empty(2, device="meta")))

        @doubled.register_fake
        def _(x):
            return x.new_empty(2 * x.shape[0], *x.shape[1:])

        made = doubled(t.empty(2, 3, device="meta"))
        doubled.register_kernel("cpu", lambda x: t.cat([x, -x]))
        return without, made.device.type, tuple(made.shape), doubled(t.ones(1)).tolist()

    ours_and_theirs(scenario)


def test_libraries(ours_and_theirs):
    def scenario(t, space):
        lib = t.library.Library(space, "DEF")
        name = lib.define("twice(Tensor x, int n=2) -> Tensor")
        lib.impl("twice", lambda x, n=2: x * n, "CPU")
        lib.define("neg.first(Tensor x) -> Tensor")
        lib.impl("neg.first", lambda x: -x, "CompositeImplicitAutograd")
        t.library.define(f"{space}::cube", "(Tensor x) -> Tensor")
        t.library.impl(f"{space}::cube", "cpu", lambda x: x**3)

        @t.library.impl(f"{space}::cube", "Meta")
        def _(x):
            return t.empty_like(x)

        ops = getattr(t.ops, space)
        x = t.tensor([2.0], requires_grad=True)
        ops.neg.first(x).backward()
        with t.no_grad():
            values = ops.twice(x).tolist(), ops.twice(x, 5).tolist(), ops.cube(x.detach()).tolist()
        return (
            name,
            values,
            x.grad.tolist(),
            ops.cube(t.empty(3, device="meta")).shape,
            message(lambda: t.library.Library(space, "DEF")),
            message(lambda: t.library.Library(space, "WRONG")),
            message(lambda: lib.define("twice(Tensor x) -> Tensor")),
            message(lambda: t.library.impl(f"{space}::absent", "cpu", lambda x: x)),
            t._C._dispatch_has_kernel_for_dispatch_key(f"{space}::cube", "CPU"),
            t._C._dispatch_has_kernel_for_dispatch_key(f"{space}::cube", "CUDA"),
        )

    ours_and_theirs(scenario)


def annotated(t):
    def plain(x: t.Tensor, n: int, f: float = 1.5, flag: bool = True, name: str = "a") -> t.Tensor: ...
    def optional(
        x: Optional[t.Tensor], xs: List[t.Tensor], ns: Sequence[int] = None
    ) -> Tuple[t.Tensor, t.Tensor]: ...
    def other(x: t.Tensor, *, dtype: t.dtype, device: t.device, k: int | None = None) -> List[t.Tensor]: ...
    def nothing(x: t.Tensor, y: t.Tensor) -> None: ...
    def number(x: t.Tensor, s: t.types.Number, v: list[float]) -> int: ...
    def unannotated(x) -> t.Tensor: ...
    def unsupported(x: t.Tensor, y: dict) -> t.Tensor: ...
    def no_return(x: t.Tensor): ...
    def star(*xs: t.Tensor) -> t.Tensor: ...

    return [plain, other, nothing, number, unannotated, unsupported, no_return, star]


@pytest.mark.parametrize("index", range(8))
def test_inferred_schemas(both, index):
    def scenario(t):
        function = annotated(t)[index]
        mutates = ("x",) if function.__name__ == "nothing" else ()
        return message(lambda: t.library.infer_schema(function, mutates_args=mutates))

    both(scenario)


def test_modes_and_classes_see_custom_operators(ours_and_theirs):
    def scenario(t, space):
        dispatch = importlib.import_module(f"{t.__name__}.utils._python_dispatch")
        pytree = importlib.import_module(f"{t.__name__}.utils._pytree")
        scale, seen = scale_op(t, space), []

        class Log(dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                seen.append((str(func) == f"{space}.scale.default", len(args), sorted(kwargs or {})))
                return func(*args, **(kwargs or {}))

        class Wrapper(t.Tensor):
            __torch_function__ = t._C._disabled_torch_function_impl

            @staticmethod
            def __new__(cls, inner):
                return t.Tensor._make_wrapper_subclass(cls, inner.size(), dtype=inner.dtype)

            def __init__(self, inner):
                self.inner = inner

            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                seen.append(func is scale._opoverload)
                args, kwargs = pytree.tree_map_only(cls, lambda w: w.inner, (args, kwargs or {}))
                return cls(func(*args, **kwargs))

        x = t.ones(2)
        with Log():
            value = scale(x, 3.0, shift=1)
        wrapped = scale(Wrapper(t.ones(2)), 4.0)
        called = []

        class Function(t.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                called.append(func is scale._opoverload)
                return func(*args, **(kwargs or {}))

        with Function():
            scale(t.ones(1))
        return value.tolist(), wrapped.inner.tolist(), seen[0], seen[-1], called[0]

    ours_and_theirs(scenario)


def test_rules_for_classes(ours_and_theirs):
    def scenario(t, space):
        dispatch = importlib.import_module(f"{t.__name__}.utils._python_dispatch")
        scale = scale_op(t, space)

        class Mode(dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                return func(*args, **(kwargs or {}))

        @scale.register_torch_dispatch(Mode)
        def _(mode, func, types, args, kwargs):
            return args[0] - 1

        with Mode():
            inside = scale(t.ones(2)).tolist()
        return inside, scale(t.ones(2)).tolist()

    ours_and_theirs(scenario)


def test_autocast(ours_and_theirs):
    def scenario(t, space):
        scale = scale_op(t, space)
        x = t.ones(2, dtype=t.float32)
        with t.autocast("cpu", dtype=t.bfloat16):
            before = str(scale(x).dtype)
        scale.register_autocast("cpu", t.float16)
        with t.autocast("cpu", dtype=t.bfloat16):
            inside = str(scale(x).dtype)
        return (
            before,
            inside,
            str(scale(x).dtype),
            message(lambda: scale.register_autocast("moon", t.float16)),
        )

    ours_and_theirs(scenario)


def test_traced_as_one_call(ours_and_theirs):
    def scenario(t, space):
        scale = scale_op(t, space)
        traced = t.fx.symbolic_trace(lambda x: scale(x, 3.0) + getattr(t.ops, space).scale(x))
        return [n.op for n in traced.graph.nodes], traced(t.ones(1)).tolist()

    ours_and_theirs(scenario)


def test_opcheck():
    space = fresh("check")
    scale = scale_op(face, space)
    x = face.ones(2, requires_grad=True)
    results = face.library.opcheck(scale, (x,), raise_exception=False)
    assert "no gradient is registered" in str(results["test_autograd_registration"])
    assert "no fake impl" in str(results["test_faketensor"]) and results["test_schema"] == "SUCCESS"
    scale.register_autograd(
        lambda ctx, grad: (grad * 2, None),
        setup_context=lambda ctx, inputs, keyword_only_inputs, output: None,
    )
    scale.register_fake(lambda x, by=2.0, *, shift=0: x.new_empty(3))
    results = face.library.opcheck(scale, (x,), raise_exception=False)
    assert "the fake says" in str(results["test_faketensor"])
    assert results["test_autograd_registration"] == results["test_aot_dispatch_dynamic"] == "SUCCESS"
    with pytest.raises(Exception, match="the fake says"):
        face.library.opcheck(scale, (x,))

    @face.library.custom_op(f"{space}::sly", mutates_args=())
    def sly(x: face.Tensor) -> face.Tensor:
        x.add_(1)
        return x * 2

    with pytest.raises(Exception, match="was mutated"):
        face.library.opcheck(sly, (face.ones(2),), test_utils="test_schema")


def test_a_fake_may_come_before_its_operator():
    space = fresh("early")
    face.library.register_fake(f"{space}::late", lambda x: face.empty_like(x))
    face.library.define(f"{space}::late", "(Tensor x) -> Tensor")
    assert getattr(face.ops, space).late(face.empty(3, device="meta")).shape == (3,)


def test_what_is_refused_says_so():
    with pytest.raises(NotImplementedError, match="Triton"):
        face.library.triton_op("a::b", mutates_args=())
    with pytest.raises(NotImplementedError, match="cpp_extension"):
        face.ops.load_library("/nowhere/lib.so")
    with pytest.raises(OSError):
        face.ops.load_library("/nowhere/lib.so")
    with pytest.raises(NotImplementedError, match="registry's own operators"):
        face.library.impl("aten::add", "cpu", lambda x, y: x)
