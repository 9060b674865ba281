"""The Python side of autograd: modes, custom functions, hooks, checks."""

import gc
import weakref

import pytest


def attempt(action):
    try:
        return action()
    except Exception as err:
        return type(err).__name__


def test_modes_nest_and_decorate(both):
    def scenario(t):
        trace = []

        def note():
            trace.append(t.is_grad_enabled())

        with t.no_grad():
            note()
            with t.enable_grad():
                note()
                with t.set_grad_enabled(False):
                    note()
            note()
        note()
        t.no_grad()(note)()
        t.no_grad(note)()
        t.set_grad_enabled(False)(note)()
        note()
        t.set_grad_enabled(False)
        note()
        t.set_grad_enabled(True)
        with t.inference_mode():
            trace.append((t.is_inference_mode_enabled(), t.is_grad_enabled(), t.ones(1).is_inference()))
        t.inference_mode()(note)()
        t.inference_mode(note)()
        note()
        return trace

    both(scenario)


def test_a_mode_may_be_entered_twice():
    import ms_adapter.pytorch as t

    same = t.no_grad()
    with same, same:
        assert not t.is_grad_enabled()
    assert t.is_grad_enabled()


def test_generators_run_in_their_mode(both):
    def scenario(t):
        trace = []

        @t.no_grad()
        def numbers():
            try:
                got = yield t.is_grad_enabled()
                trace.append(("sent", got, t.is_grad_enabled()))
                yield t.is_grad_enabled()
            except ValueError:
                trace.append(("thrown", t.is_grad_enabled()))
                yield "recovered"
            finally:
                trace.append(("closed", t.is_grad_enabled()))
            return "end"

        g = numbers()
        trace += [next(g), t.is_grad_enabled(), g.send(5), g.throw(ValueError()), attempt(lambda: next(g))]
        h = numbers()
        next(h)
        h.close()
        return trace

    both(scenario)


def square(t):
    class Square(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, times):
            ctx.save_for_backward(x)
            ctx.times = times
            return x * x * times

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * grad * ctx.times, None

    return Square


def test_custom_function(both):
    def scenario(t):
        x = t.tensor([1.0, 2.0], requires_grad=True)
        y = square(t).apply(x, 3)
        y.sum().backward()
        again = attempt(lambda: y.sum().backward())
        return y.tolist(), x.grad.tolist(), y.grad_fn.name(), type(y.grad_fn).__name__, again

    both(scenario)


def test_what_a_function_keeps_is_found_on_its_node(both):
    def scenario(t):
        class Kept(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                ctx.factor = 3
                return x * 3

            @staticmethod
            def backward(ctx, g):
                return g * ctx.factor

        y = Kept.apply(t.ones(2, requires_grad=True))
        plain = attempt(lambda: (y * 2).grad_fn.factor)
        return y.grad_fn.factor, y.grad_fn.saved_tensors[0].tolist(), attempt(lambda: y.grad_fn.other), plain

    both(scenario)


def test_setup_context_and_two_outputs(both):
    def scenario(t):
        class Both(t.autograd.Function):
            @staticmethod
            def forward(a, b=2.0):
                return a * b, a.long()

            @staticmethod
            def setup_context(ctx, inputs, output):
                a, b = inputs
                ctx.factor = b
                ctx.mark_non_differentiable(output[1])
                ctx.needs = ctx.needs_input_grad

            @staticmethod
            def backward(ctx, grad, _other):
                return grad * ctx.factor, None

        x = t.tensor([1.5], requires_grad=True)
        a, b = Both.apply(x)
        (c, _) = Both.apply(x, 5.0)
        (a + c).backward()
        return a.tolist(), b.tolist(), b.requires_grad, x.grad.tolist()

    both(scenario)


def test_in_place_function_and_saved_output(both):
    def scenario(t):
        class Exp(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                y = x.exp()
                ctx.save_for_backward(y)
                return y

            @staticmethod
            def backward(ctx, grad):
                return grad * ctx.saved_tensors[0]

        class Twice(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_dirty(x)
                return x.mul_(2)

            @staticmethod
            def backward(ctx, grad):
                return grad * 2

        x = t.tensor([0.0, 1.0], requires_grad=True)
        y = x * 1
        z = Twice.apply(y)
        Exp.apply(z).sum().backward()
        return z is y, [round(v, 4) for v in x.grad.tolist()]

    both(scenario)


def test_materialized_gradients(both):
    def scenario(t):
        trace = []

        class Pair(t.autograd.Function):
            @staticmethod
            def forward(ctx, x, materialize):
                ctx.set_materialize_grads(materialize)
                return x * 1, x * 2

            @staticmethod
            def backward(ctx, a, b):
                trace.append([None if g is None else g.tolist() for g in (a, b)])
                return a, None

        for materialize in (True, False):
            x = t.ones(1, requires_grad=True)
            Pair.apply(x, materialize)[0].backward()
        return trace

    both(scenario)


def test_double_backward_and_once_differentiable(both):
    def scenario(t):
        x = t.tensor(3.0, requires_grad=True)
        (first,) = t.autograd.grad(square(t).apply(x, 1), x, create_graph=True)
        (second,) = t.autograd.grad(first, x)

        class Once(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            @t.autograd.function.once_differentiable
            def backward(ctx, grad):
                return 2 * grad * ctx.saved_tensors[0]

        (once,) = t.autograd.grad(Once.apply(x), x, create_graph=True)
        return first.item(), second.item(), once.item(), attempt(lambda: once.backward())

    both(scenario)


def test_function_errors(both):
    def scenario(t):
        class Wrong(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 1

            @staticmethod
            def backward(ctx, grad):
                return grad, grad

        class NoBackward(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 1

        x = t.ones(1, requires_grad=True)
        calls = [
            lambda: Wrong.apply(x).backward(),
            lambda: NoBackward.apply(x).backward(),
            lambda: t.autograd.Function.apply(x),
        ]
        return [attempt(call) for call in calls]

    both(scenario)


def test_backward_and_grad_arguments(both):
    def scenario(t):
        x = t.tensor([1.0, 2.0], requires_grad=True)
        w = t.tensor([3.0, 4.0], requires_grad=True)
        y = x * w
        trace = [
            attempt(lambda: y.backward()),
            attempt(lambda: y.backward(t.ones(3))),
            attempt(lambda: t.autograd.grad(y.sum(), t.ones(1, requires_grad=True), retain_graph=True)),
            attempt(lambda: t.ones(1).backward()),
        ]
        y.backward(t.tensor([1.0, 10.0]), retain_graph=True, inputs=[x])
        trace += [x.grad.tolist(), w.grad]
        unused = t.ones(2, requires_grad=True)
        grads = t.autograd.grad(y.sum(), [w, unused], retain_graph=True, allow_unused=True)
        trace += [grads[0].tolist(), grads[1]]
        grads = t.autograd.grad(y.sum(), [w, unused], retain_graph=True, materialize_grads=True)
        trace += [grads[1].tolist()]
        batched = t.autograd.grad(y, x, t.eye(2), is_grads_batched=True)
        return trace + [batched[0].tolist()]

    both(scenario)


def test_tensor_hooks(both):
    def scenario(t):
        x, trace = t.ones(2, requires_grad=True), []
        y = x * 3
        y.retain_grad()
        handle = y.register_hook(lambda g: g * 2)
        y.register_hook(lambda g: trace.append(g.tolist()))
        x.register_hook(lambda g: trace.append(g.tolist()))
        x.register_post_accumulate_grad_hook(lambda p: trace.append(("post", p.grad.tolist())))
        y.sum().backward(retain_graph=True)
        handle.remove()
        handle.remove()
        y.sum().backward()
        trace.append(y.grad.tolist())
        trace.append(attempt(lambda: t.ones(1).register_hook(print)))
        return trace

    both(scenario)


def test_node_hooks(both):
    def scenario(t):
        x, trace = t.ones(2, requires_grad=True), []
        y = x * 3
        y.grad_fn.register_prehook(lambda go: (go[0] * 5,))
        y.grad_fn.register_hook(lambda gi, go: trace.append((gi[0].tolist(), go[0].tolist())))
        y.sum().backward()
        nodes = [node.name() if node else None for node, _ in y.grad_fn.next_functions]
        return trace, x.grad.tolist(), nodes

    both(scenario)


def test_saved_tensor_hooks(both):
    def scenario(t):
        x, trace = t.tensor([2.0], requires_grad=True), []

        def pack(tensor):
            trace.append(("pack", tensor.tolist()))
            return tensor.tolist()

        def unpack(values):
            trace.append(("unpack", values))
            return t.tensor(values)

        with t.autograd.graph.saved_tensors_hooks(pack, unpack):
            y = x * x
        y.backward()
        with t.autograd.graph.save_on_cpu():
            (x * x).sum().backward()
        with t.autograd.graph.disable_saved_tensors_hooks("not here"):
            trace.append(attempt(lambda: t.autograd.graph.saved_tensors_hooks(pack, unpack).__enter__()))
        return trace, x.grad.tolist()

    both(scenario)


def test_multi_grad_hook(both):
    def scenario(t):
        a, b, c = (t.ones(1, requires_grad=True) for _ in range(3))
        trace = []
        for mode in ("all", "any"):
            t.autograd.graph.register_multi_grad_hook(
                (a, b, c), lambda g, mode=mode: trace.append((mode, str(g).replace("\n", ""))), mode=mode
            )
        (a * 2 + b * 3).backward()
        return trace

    both(scenario)


def test_gradcheck():
    import ms_adapter.pytorch as t

    x = t.tensor([0.3, 0.7, 1.1], dtype=t.float64, requires_grad=True)
    assert t.autograd.gradcheck(lambda a: a * a.exp(), (x,))
    assert t.autograd.gradgradcheck(lambda a: a * a.exp(), (x,))

    class Wrong(t.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a * a

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0]

    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        t.autograd.gradcheck(Wrong.apply, (x,))
    assert not t.autograd.gradcheck(Wrong.apply, (x,), raise_exception=False)
    with pytest.raises(ValueError, match="double precision"):
        t.autograd.gradcheck(t.exp, (t.ones(1, requires_grad=True),))


def test_gradcheck_complex():
    import ms_adapter.pytorch as t

    z = t.tensor([0.5 + 0.2j, -0.3 + 1j], dtype=t.complex128, requires_grad=True)
    assert t.autograd.gradcheck(lambda a: a * a.conj() + a, (z,))


def test_graph_is_freed():
    import ms_adapter.pytorch as t

    x = t.ones(1, requires_grad=True)
    y = square(t).apply(x, 2)
    node = weakref.ref(y.grad_fn)
    del y
    gc.collect()
    assert node() is None
