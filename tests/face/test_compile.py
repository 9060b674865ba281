"""torch.compile, torch.jit, torch._dynamo and torch.export: names in wide use, run as Python."""

import importlib.util
import warnings

import pytest

import ms_adapter.pytorch as face


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    # PyTorch's compiler switches off, for good, what other tests compare.
    importlib.import_module("torch.distributions").Distribution.set_default_validate_args(__debug__)


def test_compiled_modules_keep_their_names(both):
    def scenario(t):
        t.manual_seed(0)
        net = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.Dropout())
        made = t.compile(net, backend="eager")
        made.eval()
        made.extra = 3
        x = t.ones(1, 2)
        return (
            list(made.state_dict()),
            [name for name, _ in made.named_modules()],
            bool(t.equal(made(x), net(x))),
            net.training,
            made._orig_mod is net,
            net.extra,
            isinstance(made, t.nn.Module),
            isinstance(made, t._dynamo.OptimizedModule),
        )

    both(scenario)


def test_functions_and_decorators(both):
    def scenario(t):
        @t.compile(backend="eager", dynamic=True)
        def function(x):
            return x * 2

        @t.compiler.disable
        def plain(x):
            return x + 1

        @t._dynamo.disable(recursive=False)
        def other(x):
            return x + 2

        t._dynamo.reset()
        t.compiler.reset()
        t._dynamo.mark_dynamic(t.ones(2), 0)
        with t._dynamo.config.patch(suppress_errors=True):
            inside = t._dynamo.config.suppress_errors
        try:
            t.compile(function, mode="default", options={"a": 1})
        except RuntimeError as err:
            failed = type(err).__name__
        kinds = (
            t.compiler.is_compiling(),
            t.compiler.is_dynamo_compiling(),
            t.jit.is_scripting(),
            t.jit.is_tracing(),
        )
        return (
            function(t.ones(1)).tolist(),
            plain(t.ones(1)).tolist(),
            other(t.ones(1)).tolist(),
            inside,
            t._dynamo.config.suppress_errors,
            failed,
            kinds,
            t._dynamo.allow_in_graph(plain) is plain,
        )

    both(scenario)


def test_scripts_and_traces(both):
    def scenario(t):
        @t.jit.script
        def scripted(x, n: int):
            return x * n

        class Net(t.nn.Module):
            limit: t.jit.Final[int] = 3

            def forward(self, x):
                if t.jit.is_scripting():
                    return x
                return x + self.limit

            @t.jit.export
            def other(self, x):
                return x

            @t.jit.unused
            def never(self):
                raise ValueError

            @t.jit.ignore(drop=True)
            def ignored(self):
                return 1

        net = Net()
        traced = t.jit.trace(lambda x: x + 1, (t.ones(1),))
        return (
            scripted(t.ones(1), 3).tolist(),
            traced(t.ones(1)).tolist(),
            t.jit.trace(t.nn.ReLU(), t.ones(1))(t.tensor([-1.0])).tolist(),
            net(t.ones(1)).tolist(),
            net.ignored(),
            t.jit.annotate(int, 3),
            t.jit.isinstance([1, 2], list[int]),
            t.jit.isinstance(["a"], list[int]),
            t.jit.wait(t.jit.fork(lambda x: x + 1, t.ones(1))).tolist(),
        )

    both(scenario)


def test_what_is_not_there_says_so():
    with pytest.raises(NotImplementedError, match=r"torch\.jit\.load"):
        face.jit.load("model.pt")
    with pytest.raises(NotImplementedError, match=r"torch\.jit\.save"):
        face.jit.save(face.nn.ReLU(), "model.pt")
    with pytest.raises(NotImplementedError, match="symbolic_trace"):
        face.export.export(face.nn.ReLU(), (face.ones(1),))
    with pytest.raises(NotImplementedError):
        face._dynamo.explain(lambda x: x)
    assert face.compiler.list_backends() == ["mindspore", "replay"]


def test_said_once(monkeypatch):
    monkeypatch.setattr(face.compiler, "_said", False)
    with pytest.warns(UserWarning, match=r"torch\.compile.*as Python"):
        face.compile(lambda x: x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        face.compile(lambda x: x)


def test_settings_are_kept():
    face._inductor.config.max_autotune = True
    face._dynamo.config.cache_size_limit = 64
    assert face._inductor.config.max_autotune and face._dynamo.config.to_dict()["cache_size_limit"] == 64
    face._inductor.config.max_autotune, face._dynamo.config.cache_size_limit = False, 8


@pytest.mark.skipif(importlib.util.find_spec("mindspore") is not None, reason="MindSpore is installed")
def test_a_missing_mindspore_is_said_where_it_is_asked_for():
    with pytest.raises(RuntimeError, match="pip install mindspore"):
        face.compile(lambda x: x + 1, backend="mindspore")
