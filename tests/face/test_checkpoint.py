"""torch.utils.checkpoint: gradients, random numbers and errors as PyTorch's, and less that is kept."""

import importlib

import pytest
import torch

import ms_adapter.pytorch as face


def module_of(t):
    return importlib.import_module(f"{t.__name__}.utils.checkpoint")


def network(t):
    t.manual_seed(0)
    layers = [
        t.nn.Linear(4, 8),
        t.nn.Tanh(),
        t.nn.Dropout(0.3),
        t.nn.Linear(8, 8),
        t.nn.GELU(),
        t.nn.Linear(8, 2),
    ]
    return t.nn.Sequential(*layers).double()


def gradients(t, run, **inputs):
    """The result and all gradients of a network, run in some way."""
    model = network(t)
    x = t.randn(3, 4, dtype=t.float64, requires_grad=True)
    t.manual_seed(5)
    y = run(model, x)
    y.pow(2).sum().backward()
    return y.tolist(), x.grad.tolist(), [p.grad.tolist() for p in model.parameters()], t.rand(1).item()


@pytest.mark.parametrize("reentrant", [False, True])
def test_gradients_and_random_numbers(nearly, reentrant):
    def scenario(t):
        c = module_of(t)
        plain = gradients(t, lambda model, x: model(x))
        runs = [
            gradients(t, lambda model, x: c.checkpoint(model, x, use_reentrant=reentrant)),
            gradients(t, lambda model, x: c.checkpoint_sequential(model, 3, x, use_reentrant=reentrant)),
        ]
        for run in runs:
            for got, want in zip(run, plain, strict=True):
                assert got == pytest.approx(want, rel=1e-12) if isinstance(want, float) else got is not None
            assert run[:3] == plain[:3]
        other = gradients(
            t, lambda model, x: c.checkpoint(model, x, use_reentrant=reentrant, preserve_rng_state=False)
        )
        return plain, runs, other[0]

    nearly(scenario, 1e-10)


def test_nested_and_with_keywords(nearly):
    def scenario(t):
        c = module_of(t)
        x = t.linspace(0.1, 1.0, 5, dtype=t.float64).requires_grad_()
        w = t.ones(5, dtype=t.float64, requires_grad=True)
        calls = []

        def inner(v, *, scale):
            calls.append("inner")
            return (v * scale).sin().exp()

        def outer(v, other, power=2):
            calls.append("outer")
            return c.checkpoint(inner, v * other, scale=w, use_reentrant=False) ** power

        y = c.checkpoint(outer, x, 3.0, power=3, use_reentrant=False)
        y.sum().backward(retain_graph=True)
        first = x.grad.tolist(), w.grad.tolist(), list(calls)
        y.sum().backward()
        return first, x.grad.tolist(), len(calls)

    nearly(scenario)


def test_what_is_not_needed_is_not_run(both):
    def scenario(t):
        c = module_of(t)
        x = t.ones(3, requires_grad=True)
        counts = []
        for early in (True, False):
            ran = []

            def function(v, ran=ran):
                y = v.sin().cos()
                ran.append(1)
                return y + 1

            c.checkpoint(function, x, use_reentrant=False, early_stop=early).sum().backward()
            with c.set_checkpoint_early_stop(not early):
                z = c.checkpoint(function, x, use_reentrant=False, early_stop=early)
            z.sum().backward()
            counts.append(len(ran))
        with t.no_grad():
            y = c.checkpoint(t.sin, x, use_reentrant=False)
        return counts, y.requires_grad

    both(scenario)


def test_autograd_grad_and_several_outputs(nearly):
    def scenario(t):
        c = module_of(t)
        x = t.tensor([0.5, 1.5], dtype=t.float64, requires_grad=True)
        y, note, z = c.checkpoint(lambda v: (v.exp() * v, "note", v.sum() ** 2), x, use_reentrant=False)
        return t.autograd.grad(y.sum() + z, x)[0].tolist(), note

    nearly(scenario)


def test_second_derivatives(nearly):
    def scenario(t):
        c = module_of(t)
        x = t.tensor([0.5, 1.5], dtype=t.float64, requires_grad=True)
        y = c.checkpoint(lambda v: v.sin() * v * v, x, use_reentrant=False, early_stop=False)
        return t.autograd.grad(y.sum(), x)[0].tolist()

    nearly(scenario)


def test_autocast_is_as_it_was(both):
    def scenario(t):
        c = module_of(t)
        layer, seen = t.nn.Linear(3, 3), []

        def function(v):
            y = layer(v)
            seen.append((str(y.dtype), t.is_autocast_enabled("cpu")))
            return y * 1

        for reentrant in (False, True):
            x = t.ones(2, 3, requires_grad=True)
            with t.autocast("cpu"):
                y = c.checkpoint(
                    function, x, use_reentrant=reentrant, **({} if reentrant else {"early_stop": False})
                )
            y.float().sum().backward()
            seen.append(str(x.grad.dtype))
        return seen

    both(scenario)


def test_contexts(both):
    def scenario(t):
        import contextlib

        c, log = module_of(t), []

        @contextlib.contextmanager
        def say(word):
            log.append(word)
            yield
            log.append(f"end {word}")

        x = t.ones(2, requires_grad=True)
        y = c.checkpoint(
            lambda v: v.sin().sin(),
            x,
            use_reentrant=False,
            context_fn=lambda: (say("first"), say("second")),
            early_stop=False,
        )
        y.sum().backward()
        return log

    both(scenario)


def test_another_second_run_is_noticed(both):
    def scenario(t):
        c, kinds = module_of(t), []
        for first, second, check in (
            (lambda v: v.sin().cos(), lambda v: v.sin(), "default"),
            (lambda v: v.sin().cos(), lambda v: v[:2].sin().cos(), "default"),
            (lambda v: v.sin().cos(), lambda v: v.double().sin().cos().float(), "default"),
            (lambda v: v.sin(), lambda v: v.sin(), "default"),
        ):
            functions = iter([first, second])
            x = t.ones(3, requires_grad=True)
            y = c.checkpoint(
                lambda v, functions=functions: next(functions)(v),
                x,
                use_reentrant=False,
                determinism_check=check,
            )
            try:
                y.sum().backward()
                kinds.append(None)
            except c.CheckpointError:
                kinds.append("CheckpointError")
        return kinds

    both(scenario)


def test_debug_lists_operators():
    c = module_of(face)
    functions = iter([lambda v: v.sin().cos(), lambda v: v.sin()])
    x = face.ones(3, requires_grad=True)
    y = c.checkpoint(lambda v: next(functions)(v), x, use_reentrant=False, debug=True)
    with pytest.raises(c.CheckpointError, match="first run: sin, cos"):
        y.sum().backward()


def test_misuse():
    for t in (torch, face):
        c, x = module_of(t), t.ones(2, requires_grad=True)
        with pytest.warns(UserWarning, match="use_reentrant"):
            c.checkpoint(t.sin, x)
        with pytest.warns(UserWarning, match="(?i)none of the inputs"):
            c.checkpoint(t.sin, t.ones(2), use_reentrant=True)
        with pytest.raises(ValueError):
            c.checkpoint(t.sin, x, use_reentrant=True, other=1)
        with pytest.raises(ValueError):
            c.checkpoint(t.sin, x, use_reentrant=True, context_fn=lambda: None)
        with pytest.raises(ValueError):
            c.checkpoint(t.sin, x, use_reentrant=False, determinism_check="some")
        with pytest.raises(RuntimeError, match="use_reentrant"):
            t.autograd.grad(c.checkpoint(t.sin, x, use_reentrant=True).sum(), x)


def test_intermediate_tensors_are_not_kept():
    """What a checkpoint's graph keeps between forward and backward does not grow with what it runs."""
    c, made = module_of(face), []

    class Watch(face.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.save_for_backward(y)
            made.append(__import__("weakref").ref(y))
            return y * 1

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    def function(v):
        for _ in range(3):
            v = Watch.apply(v)
        return v

    x = face.ones(2, requires_grad=True)
    y = c.checkpoint(function, x, use_reentrant=False)
    assert [ref() for ref in made] == [None, None, None]
    y.sum().backward()
    assert x.grad.tolist() == [8.0, 8.0]
