"""torch.fx: the graphs, the code and the results of tracing, rewriting and running, as PyTorch's."""

import copy
import io
import math
import operator
import pickle

import pytest

import ms_adapter.pytorch as face
from ms_adapter.pytorch import fx


def outer_only(x):
    """A function that cannot be traced, for wrap."""
    return x if x.sum() > 0 else -x


fx.wrap("outer_only")


def numbers(tensor):
    return [round(float(v), 9) for v in tensor.detach().double().flatten()]


def net(t, **extra):
    class Net(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = t.nn.Linear(3, 4)
            self.scale = t.nn.Parameter(t.ones(4))
            self.seq = t.nn.Sequential(t.nn.ReLU(), t.nn.Linear(4, 4))
            self.by_name = t.nn.ModuleDict({"a-b": t.nn.Tanh()})
            self.register_buffer("offset", t.ones(4))
            self.plain = t.full((4,), 2.0)

        def forward(self, x: t.Tensor, y=None):
            z = self.linear(x).relu() + self.scale - 2
            z = self.by_name["a-b"](self.seq[0](self.seq(z)))
            q = t.cat([z, z], dim=1)[:, 1:3, None]
            a, b = q.chunk(2)
            r = -(a.view(a.shape[0], -1) ** 2) @ b.flatten(1).T
            return {
                "r": r,
                "offset": z + self.offset * self.plain,
                "more": [1.0 / (z + 9), x.dtype, math.inf],
            }

    t.manual_seed(0)
    return Net()


def branches(x, b=None, flag=True):
    if flag:
        return x
    return x + 1 if b is None else x - 1


def many_kinds(a, b=2, *args, c: int = 5, **kw):
    return a + b + c


def operators(x, y):
    first = (x > 1) & (y == 2) | ~(x != 3)
    second = operator.add(x, y) // 3 % 2 + abs(x) + 2**y - (1.0 - x) / y
    return first, second, x[0, ..., ::2], x.sum(dim=(0, 1), dtype=None), x.shape, math.sqrt(x.size(0))


@pytest.mark.parametrize(
    ("function", "fixed"),
    [
        (operators, None),
        (many_kinds, None),
        (many_kinds, {"b": 3}),
        (branches, {"flag": False, "b": None}),
        (branches, {"flag": True}),
    ],
)
def test_functions(both, function, fixed):
    def scenario(t):
        traced = t.fx.symbolic_trace(function, concrete_args=fixed)
        return traced.code.replace("_operator_abs", "operator_abs"), str(traced.graph)

    both(scenario)


def test_modules(both):
    def scenario(t):
        module = net(t)
        traced = t.fx.symbolic_trace(module)
        x = t.arange(12.0).view(4, 3) / 9
        nodes = [
            (n.name, n.op, len(n.users), [str(i) for i in n.all_input_nodes]) for n in traced.graph.nodes
        ]
        got, want = traced(x), module(x)
        same = [bool(t.equal(got[key], want[key])) for key in ("r", "offset")]
        return traced.code, str(traced), list(traced.state_dict()), nodes, same

    both(scenario)


def test_copies_and_pickles(both):
    def scenario(t):
        traced = t.fx.symbolic_trace(net(t))
        copied, file = copy.deepcopy(traced), io.BytesIO()
        t.save(traced, file)
        file.seek(0)
        loaded = t.load(file, weights_only=False)
        x = t.ones(2, 3)
        sums = [numbers(m(x)["r"].sum()) for m in (traced, copied, loaded)]
        return (
            copied.code,
            loaded.code,
            type(loaded).__name__,
            sums[0] == sums[1] == sums[2],
            copied is traced,
        )

    both(scenario)


def test_wrapped_functions_are_leaves():
    traced = fx.symbolic_trace(lambda x: outer_only(x) + math.floor(x.size(0)))
    assert [n.name for n in traced.graph.nodes] == ["x", "outer_only", "size", "floor", "add", "output"]
    assert numbers(traced(face.tensor([-3.0]))) == [4.0]
    again = pickle.loads(pickle.dumps(traced))
    assert again.code == traced.code and numbers(again(face.tensor([-3.0]))) == [4.0]


@pytest.mark.parametrize(
    "body",
    [
        lambda t, x: 1 if x.sum() > 0 else 2,
        lambda t, x: list(x),
        lambda t, x: len(x),
        lambda t, x: int(x),
        lambda t, x: range(x),
    ],
)
def test_what_cannot_be_traced(both, body):
    def scenario(t):
        try:
            t.fx.symbolic_trace(lambda x: body(t, x))
        except Exception as err:
            return type(err).__name__
        return "traced"

    both(scenario)


def test_functions_written_in_python_are_leaves(both):
    def scenario(t):
        f = t.nn.functional

        def function(x, w):
            x = f.dropout(f.interpolate(x, scale_factor=2.0), 0.5)
            x = f.batch_norm(x, w, w) + f.max_pool2d(x, 2) + t.einsum("bchw->bc", x)
            return f.cross_entropy(f.adaptive_avg_pool2d(x, (1, 1)), w)

        return [n.name for n in t.fx.symbolic_trace(function).graph.nodes]

    both(scenario)


def test_building_and_changing(both):
    def scenario(t):
        graph = t.fx.Graph()
        x = graph.placeholder("x")
        y = graph.call_function(t.add, (x, 1))
        z = graph.call_method("mul", (y, y), {})
        graph.output((z, [x]))
        dead = None
        with graph.inserting_before(z):
            dead = graph.call_function(t.neg, (y,))
        with graph.inserting_after(y):
            relu = graph.call_function(t.relu, (y,))
        z.args = (relu, 2)
        z.name = "product"
        text = str(graph)
        removed = graph.eliminate_dead_code()
        graph.lint()
        module = t.fx.GraphModule({}, graph)
        failures = []
        for attempt in (
            lambda: graph.erase_node(y),
            lambda: z.args.__setitem__(0, 1),
            lambda: relu.args[0].bad,
        ):
            try:
                attempt()
            except Exception as err:
                failures.append(type(err).__name__)
        y.replace_all_uses_with(x)
        graph.erase_node(y)
        module.recompile()
        value, _ = module(t.tensor([-1.0, 2.0]))
        return (
            text,
            removed,
            dead is not None,
            module.code,
            numbers(value),
            failures,
            [n.op for n in reversed(graph.nodes)],
        )

    both(scenario)


def test_interpreter_and_transformer(both):
    def scenario(t):
        traced, seen = t.fx.symbolic_trace(net(t)), []

        class Log(t.fx.Interpreter):
            def run_node(self, n):
                seen.append(n.name)
                return super().run_node(n)

        class Swap(t.fx.Transformer):
            def call_function(self, target, args, kwargs):
                return super().call_function(operator.sub if target is operator.add else target, args, kwargs)

        x = t.ones(2, 3)
        same = bool(t.equal(Log(traced).run(x)["r"], traced(x)["r"]))
        return seen, same, Swap(traced).transform().code

    both(scenario)


def test_replace_pattern(both):
    def scenario(t):
        def function(x, w):
            return t.relu(x @ w + 1) + t.relu(w @ x + 1) + t.relu(x)

        traced = t.fx.symbolic_trace(function)
        found = t.fx.replace_pattern(
            traced, lambda a, b: t.relu(a @ b + 1), lambda a, b: t.nn.functional.gelu(a) * b
        )
        x = t.arange(4.0, dtype=t.float64).view(2, 2)
        return (
            len(found),
            [str(m.anchor) for m in found],
            traced.code.replace("_C._nn", "nn.functional"),
            numbers(traced(x, x + 1)),
        )

    both(scenario)


def test_passes(both):
    def scenario(t):
        from importlib import import_module

        base = t.fx.__name__
        shape_prop = import_module(f"{base}.passes.shape_prop").ShapeProp
        split = import_module(f"{base}.passes.split_module").split_module
        optimization = import_module(f"{base}.experimental.optimization")
        t.manual_seed(0)
        blocks = t.nn.Sequential(
            t.nn.Conv2d(1, 2, 3), t.nn.BatchNorm2d(2), t.nn.ReLU(), t.nn.Dropout()
        ).eval()
        blocks[1].running_mean.fill_(0.5)
        x = t.arange(16.0).view(1, 1, 4, 4)
        fused = optimization.fuse(blocks)
        traced = t.fx.symbolic_trace(lambda x: (x + 1) * x - 2)
        shape_prop(traced).propagate(t.ones(2, 3))
        parts = split(traced, traced, lambda n: int(n.name == "sub"))
        metas = [tuple(n.meta["tensor_meta"].shape) for n in traced.graph.nodes]
        close = bool(t.allclose(fused(x), blocks(x), atol=1e-5))
        return (
            [n.target for n in fused.graph.nodes],
            close,
            optimization.remove_dropout(blocks).code,
            metas,
            [parts.code, parts.submod_0.code, parts.submod_1.code],
            numbers(parts(t.ones(1))),
        )

    both(scenario)


def test_a_tracer_of_ones_own(both):
    def scenario(t):
        class Named(t.fx.Tracer):
            def __init__(self):
                super().__init__()
                self.kinds = []

            def is_leaf_module(self, m, name):
                return name == "seq" or super().is_leaf_module(m, name)

            def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, *_):
                self.kinds.append(kind)
                return super().create_proxy(kind, target, args, kwargs, name, type_expr)

        tracer = Named()
        graph = tracer.trace(net(t))
        return tracer.kinds, [str(n.target) for n in graph.nodes if n.op == "call_module"]

    both(scenario)


def test_proxies_stand_for_sizes(both):
    def scenario(t):
        def function(x, causal):
            n = x.size(0)
            y = t.zeros(3).view(n, -1) + t.ones([n, 2]).sum(n)
            return y + t.nn.functional.softmax(x, dim=n) + t.arange(n), t.nn.functional.pad(
                x, (n, 0), value=n
            )

        return [(n.name, n.op) for n in t.fx.symbolic_trace(function).graph.nodes]

    both(scenario)


def test_overloads_are_recorded_as_such(both):
    def scenario(t):
        aten = t.ops.aten
        traced = t.fx.symbolic_trace(
            lambda x: aten.add.Tensor(x, aten.relu.default(x)) + aten.expand.default(x, [2, -1])
        )
        nodes = [(n.name, str(n.target)) for n in traced.graph.nodes if n.op == "call_function"]
        return nodes, traced.code, str(traced.graph), traced(t.tensor([-1.0, 2.0])).tolist()

    both(scenario)


def test_aggregates(both):
    def scenario(t):
        graph = t.fx.Graph()
        x = graph.placeholder("x")
        mapped = t.fx.node.map_arg((x, [1, {"k": x}], slice(x, 2)), lambda n: n.name)
        made = t.fx.immutable_collections.immutable_list([1, 2])
        failures = []
        for change in (lambda: made.append(1), lambda: made.sort()):
            try:
                change()
            except TypeError as err:
                failures.append(type(err).__name__)
        return str(mapped), made, isinstance(made, list), failures

    both(scenario)
