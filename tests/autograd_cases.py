"""Small programs about autograd that must answer the same under PyTorch and us; each takes the module."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

CASES: list[Callable[[ModuleType], Any]] = []


def case(program: Callable[[ModuleType], Any]) -> Callable[[ModuleType], Any]:
    CASES.append(program)
    return program


def error(program: Callable[[], Any], length: int = 30) -> tuple[str, str]:
    """The exception's type and the beginning of its text."""
    try:
        return "no error", repr(program())
    except Exception as e:
        return type(e).__name__, str(e)[:length]


def kind(tensor: Any) -> str:
    return type(tensor.grad_fn).__name__


# --- views and in-place changes -------------------------------------------------------------------
@case
def view_made_without_grad(torch):
    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        v = x[:2]
    return v.requires_grad, v.is_leaf, v.grad_fn, v._is_view(), v._base is x, error(lambda: v.mul_(2))


@case
def change_through_a_view_reaches_base_and_other_views(torch):
    x = torch.zeros(3)
    v, other, w = x[:2], x[1:], torch.ones(2, requires_grad=True)
    v.mul_(w)
    seen = x.requires_grad, kind(x), kind(v), other.requires_grad, other.is_leaf, kind(other)
    (x * torch.arange(3.0)).sum().backward()
    return seen, w.grad.tolist()


@case
def several_changes_through_views(torch):
    a = torch.ones(4, requires_grad=True)
    c = a.clone()
    v = c[1:3]
    v.mul_(3)
    v.add_(1)
    c.mul_(2)
    c.view(2, 2)[0].mul_(torch.tensor([5.0, 7.0]))
    (c * torch.arange(4.0)).sum().backward()
    return a.grad.tolist(), c.tolist()


@case
def second_derivative_through_a_changed_view(torch):
    a = torch.ones(4, requires_grad=True)
    c = a.clone()
    c[1:3].exp_()
    (first,) = torch.autograd.grad((c * c).sum(), a, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), a)
    return [round(v, 4) for v in first.tolist() + second.tolist()]


@case
def base_changed_after_expand(torch):
    x = torch.ones(3).requires_grad_()
    y = x * 2
    z, z2 = y.expand(2, 3), y[:2]
    y.mul_(3)
    (z.sum() + z2.sum()).backward()
    return x.grad.tolist()


@case
def views_that_overlap(torch):
    x = torch.arange(6.0).requires_grad_()
    (x.as_strided((3, 2), (1, 1), 1) * torch.arange(6.0).view(3, 2)).sum().backward()
    y = torch.arange(3.0).requires_grad_()
    (y.expand(2, 3).as_strided((2, 2), (1, 1), 0) * torch.arange(4.0).view(2, 2)).sum().backward()
    return x.grad.tolist(), y.grad.tolist()


@case
def change_through_real_views_of_complex(torch):
    x = torch.ones(3, dtype=torch.complex64).requires_grad_()
    c = x.clone()
    torch.view_as_real(c).mul_(torch.tensor([2.0, 3.0]))
    c.real.mul_(5.0)
    (torch.view_as_real(c) * torch.arange(6.0).view(3, 2)).sum().backward()
    return x.grad.tolist(), c.tolist()


@case
def assignment_by_index(torch):
    x = torch.ones(2, 2).requires_grad_()
    y = torch.zeros(2, 2)
    y[0] = x[0] * 2
    y[:, 1] = x[:, 0]
    (y * torch.arange(4.0).view(2, 2)).sum().backward()
    return x.grad.tolist()


@case
def what_may_not_be_changed_in_place(torch):
    leaf = torch.ones(2, requires_grad=True)
    parts = torch.ones(4, requires_grad=True).clone().split(2)
    rows = torch.ones(2, 2, requires_grad=True).clone().unbind()
    return (
        error(lambda: leaf.mul_(2)), error(lambda: leaf[:1].mul_(2)),
        error(lambda: parts[0].mul_(2), 15), error(lambda: rows[0].mul_(2), 15),
    )  # fmt: skip


@case
def changed_after_it_was_saved(torch):
    z = torch.ones(2, requires_grad=True)
    e = z.exp()
    e.add_(1)
    f = z * 2
    g = f * f
    f.add_(1)
    return error(lambda: e.sum().backward()), error(lambda: g.sum().backward())


@case
def data_and_detach_share_memory(torch):
    z = torch.tensor([1.0, 2.0], requires_grad=True)
    z.data[0] = 5
    z.detach().mul_(2)
    return z._version, z.tolist(), z.data._version, z.detach()._is_view()


@case
def detach_in_place(torch):
    y = torch.ones(2, requires_grad=True) * 2
    y.retain_grad()
    y.detach_()
    return y.requires_grad, y.grad_fn, y.is_leaf


# --- running --------------------------------------------------------------------------------------
@case
def gradients_are_summed_and_cast_to_inputs(torch):
    z, b = torch.ones(2, 3, requires_grad=True), torch.ones(3, requires_grad=True)
    c = torch.ones(2, 1, dtype=torch.float64, requires_grad=True)
    ((z + b) * c).sum().backward()
    return z.grad.tolist(), b.grad.tolist(), c.grad.tolist(), str(z.grad.dtype)[-7:], str(c.grad.dtype)[-7:]


@case
def three_derivatives(torch):
    z = torch.ones(2, requires_grad=True)
    (g,) = torch.autograd.grad((z * z * z).sum(), z, create_graph=True)
    (g2,) = torch.autograd.grad(g.sum(), z, create_graph=True)
    (g3,) = torch.autograd.grad(g2.sum(), z)
    return g.tolist(), g2.tolist(), g3.tolist()


@case
def gradient_of_inner_tensors_and_hooks(torch):
    z = torch.ones(2, requires_grad=True)
    h = z * 2
    h.register_hook(lambda g: g * 10)
    return [g.tolist() for g in torch.autograd.grad((h * 3).sum(), [h, z])]


@case
def backward_twice(torch):
    z = torch.ones(2, requires_grad=True)
    s, plain = z.exp().sum(), (z + 1).sum()
    for _ in range(2):
        plain.backward()  # nothing was saved, so nothing is missing
    s.backward(retain_graph=True)
    s.backward()
    return error(s.backward), z.grad.tolist()


@case
def only_given_inputs_accumulate(torch):
    z, w = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0], requires_grad=True)
    h = z * 1
    (h * w).sum().backward(inputs=[h])
    return h.grad.tolist(), z.grad, w.grad


@case
def unused_inputs(torch):
    z, w = torch.tensor([1.0, 2.0], requires_grad=True), torch.ones(2, requires_grad=True)
    refused = error(lambda: torch.autograd.grad((z * 2).sum(), [z, w]), 40)
    return refused, torch.autograd.grad((z * 2).sum(), [z, w], allow_unused=True)[1]


@case
def leaf_as_root_and_identity_of_grad(torch):
    z, g = torch.tensor([1.0, 2.0], requires_grad=True), torch.ones(2)
    z.backward(g)
    first = z.grad
    z.backward(g)
    return z.grad.tolist(), g.tolist(), z.grad is g, z.grad is first


@case
def wrong_calls(torch):
    a = torch.ones(2, requires_grad=True)
    return (
        error(lambda: (a * 2).backward()), error(lambda: torch.ones(2).sum().backward()),
        error(lambda: (a * 1).requires_grad_(False)), error(lambda: torch.arange(2).requires_grad_()),
        error(lambda: torch.ones(2).retain_grad()), error(lambda: torch.add(a, 1, out=torch.empty(2))),
    )  # fmt: skip


@case
def backward_inside_backward(torch):
    z = torch.tensor([1.0, 2.0], requires_grad=True)
    y = z * z

    def hook(g):
        with torch.enable_grad():
            (z * 3).sum().backward()  # a graph of its own
            if z.grad[0] < 4:
                y.sum().backward(retain_graph=True)  # and the one that is running

    y.register_hook(hook)
    y.sum().backward(retain_graph=True)
    return z.grad.tolist()


@case
def four_threads(torch):
    z, errors = torch.ones(100, requires_grad=True), []

    def run():
        try:
            for _ in range(100):
                (z * z).sum().backward()
        except Exception as e:
            errors.append(e)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return errors


@case
def inference_tensors(torch):
    with torch.inference_mode():
        t = torch.ones(2)
    return (
        t.is_inference(), error(lambda: t.add_(1))[0], error(lambda: t.requires_grad_(True)),
        error(lambda: torch.ones(2, requires_grad=True) * t),
    )  # fmt: skip


# --- hooks ----------------------------------------------------------------------------------------
@case
def order_of_hooks(torch):
    x, seen = torch.ones(2, requires_grad=True), []
    h = x * 2
    h.register_hook(lambda g: seen.append(("first", g.tolist())) or g * 10)
    h.retain_grad()
    h.register_hook(lambda g: seen.append(("second", g.tolist())))
    h.grad_fn.register_prehook(lambda out: seen.append(("pre", len(out))))
    h.grad_fn.register_hook(lambda inp, out: seen.append(("post", len(inp), out[0].tolist())))
    (h * 3).sum().backward()
    return seen, h.grad.tolist(), x.grad.tolist()


@case
def hooks_and_changes_in_place(torch):
    z, seen = torch.ones(2, requires_grad=True), []
    y = z * 2
    y.retain_grad()
    handle = y.register_hook(lambda g: seen.append(("old", g.tolist())))
    removed = y.register_hook(lambda g: seen.append("removed"))
    y.mul_(3)
    y.register_hook(lambda g: seen.append(("new", g.tolist())))
    removed.remove()
    y.sum().backward()
    del handle
    return seen, y.grad.tolist(), z.grad.tolist()


@case
def after_accumulation(torch):
    p, seen = torch.ones(2, requires_grad=True), []
    handle = p.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.tolist()))
    for _ in range(2):
        (p * 2).sum().backward()
    handle.remove()
    (p * 2).sum().backward()
    return seen


@case
def hooks_on_several_tensors(torch):
    a, b, seen = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True), []
    handle = torch.autograd.graph.register_multi_grad_hook(
        [a, b], lambda grads: seen.append([None if g is None else g.tolist() for g in grads])
    )
    (a * 2 + b * 3).sum().backward()
    (a * 2).sum().backward()
    handle.remove()
    (a * 2 + b * 3).sum().backward()
    return seen


@case
def hooks_that_return_nonsense(torch):
    def run(hook):
        b = torch.ones(2, requires_grad=True).clone()
        b.register_hook(hook)
        return error(lambda: b.sum().backward())[0]

    return run(lambda g: 5), run(lambda g: g.sum()), run(lambda g: g.double())


@case
def saved_tensor_hooks(torch):
    z, packed = torch.tensor([1.0, 2.0], requires_grad=True), []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: packed.append(t.tolist()) or t.detach().clone(), lambda t: t * 2
    ):
        y = (z * z).sum()
    y.backward()
    return packed, z.grad.tolist()


@case
def graph_of_nodes(torch):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    after, node = y.add(1).grad_fn, y.grad_fn
    return (
        node is after.next_functions[0][0], after.next_functions[1], len({node, y.grad_fn}), node.name(),
        type(node).__name__, node.next_functions[0][0].name(), type(node.next_functions[0][0]).__name__,
        x.grad_fn,
    )  # fmt: skip


# --- custom functions -----------------------------------------------------------------------------
def functions(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 2 * x

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 7

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    class Flat(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view(-1)

        @staticmethod
        def backward(ctx, g):
            return g.view(2, 2) * 2

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return torch.ones(7)

    class Several(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, k):
            ctx.set_materialize_grads(False)
            index = torch.arange(2)
            ctx.mark_non_differentiable(index)
            return x * k, y + 1, index, "text"

        @staticmethod
        def backward(ctx, *g):
            return None if g[0] is None else g[0] * 3, g[1], None

    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(x, scale=3):
            return x.exp() * scale

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.scale = inputs[1]
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0], None

    return {f.__name__: f for f in (Square, Same, Double, Flat, Wrong, Several, Exp)}


@case
def custom_function_twice_differentiated(torch):
    square, z = functions(torch)["Square"], torch.tensor([1.0, 2.0], requires_grad=True)
    y = square.apply(z)
    (g,) = torch.autograd.grad(y.sum(), z, create_graph=True)
    (g2,) = torch.autograd.grad(g.sum(), z)
    return kind(y), y.grad_fn.name(), g.tolist(), g2.tolist()


@case
def custom_function_twice_run(torch):
    y = functions(torch)["Square"].apply(torch.ones(2, requires_grad=True)).sum()
    y.backward()
    return error(y.backward)


@case
def custom_function_returns_its_input(torch):
    z = torch.tensor([1.0, 2.0], requires_grad=True)
    y = functions(torch)["Same"].apply(z)
    y.sum().backward()
    return y is z, kind(y), z.grad.tolist(), error(lambda: y.mul_(2), 15)


@case
def custom_function_changes_its_input(torch):
    double, z = functions(torch)["Double"], torch.tensor([1.0, 2.0], requires_grad=True)
    c = z * 1
    y = double.apply(c)
    y.sum().backward()
    d = z * 1
    double.apply(d[:1])
    (g,) = torch.autograd.grad(d.sum(), z)
    return y is c, z.grad.tolist(), kind(d), g.tolist(), error(lambda: double.apply(z))


@case
def custom_function_returns_a_view(torch):
    c = torch.ones(2, 2, requires_grad=True).clone()
    v = functions(torch)["Flat"].apply(c)
    (g,) = torch.autograd.grad(v.sum(), c)
    return v._is_view(), g.tolist(), error(lambda: v.mul_(2), 15)


@case
def custom_function_with_several_outputs(torch):
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    out = functions(torch)["Several"].apply(a, b, 4)
    out[1].sum().backward()
    return a.grad, b.grad.tolist(), out[2].requires_grad, out[3], out[0].grad_fn is out[1].grad_fn


@case
def custom_function_of_the_newer_style(torch):
    a = torch.zeros(2, requires_grad=True)
    functions(torch)["Exp"].apply(a).sum().backward()
    return a.grad.tolist()


@case
def custom_function_with_a_wrong_gradient(torch):
    y = functions(torch)["Wrong"].apply(torch.ones(2, requires_grad=True))
    return error(lambda: y.sum().backward(), 50)


# --- lifetime -------------------------------------------------------------------------------------
@case
def a_hook_that_holds_its_leaf_is_collected(torch):
    z = torch.ones(2, requires_grad=True)
    z.register_hook(lambda g, z=z: None)
    gone = weakref.ref(z)
    del z
    gc.collect()
    return gone() is None


@case
def a_custom_function_that_saved_its_output_is_collected(torch):
    z = torch.zeros(2, requires_grad=True)
    y = functions(torch)["Exp"].apply(z)
    gone = weakref.ref(y), weakref.ref(z)
    (y * 2).sum().backward()
    del y, z
    gc.collect()
    return [ref() is None for ref in gone]


# Every in-place method with a call: its gradient, and its refusal of a leaf, must be PyTorch's.
INPLACE_CALLS = """
eq(o) | ne(o) | lt(o) | le(o) | gt(o) | ge(o) | logical_and(o) | logical_not() | floor_divide(o)
heaviside(o) | clamp(.2, .9) | clip(.2, .9) | clamp_min(.5) | square() | renorm(2, 0, 1.) | sinc()
nan_to_num() | deg2rad() | rad2deg() | index_fill(0, i, 2.) | masked_scatter(o > .5, o)
masked_fill(o > .5, 2.) | put(i, o[0, :1]) | addr(o[0], o[1]) | addbmm(o[None], o[None])
mvlgamma(1) | ldexp(o.long()) | index_copy(0, i, o[:1]) | scatter_reduce(0, i[None], o[:1], 'sum')
index_reduce(0, i, o[:1], 'prod') | index_add(0, i, o[:1]) | fmod(o) | remainder(o) | copysign(o)
hypot(o) | pow(o) | pow(2) | nextafter(o) | xlogy(o) | sign() | round() | frac() | trunc()
index_put((i,), o[0]) | lerp(o, .5) | addcmul(o, o) | addcdiv(o, o) | cumsum(0) | cumprod(0)
tril() | sigmoid() | tanh()
""".replace("\n", " | ").strip(" |")


@case
def inplace_methods_give_pytorchs_gradient_or_refusal(t):
    def answer(call: str, leaf: bool) -> Any:
        x = t.tensor([[0.3, 0.6], [0.7, 1.2]], requires_grad=True)
        name, _, arguments = call.partition("(")
        room = {"y": x if leaf else x * 1.5, "o": t.tensor([[0.5, 0.6], [0.1, 0.9]]), "i": t.tensor([0])}
        eval(f"y.{name}_({arguments}", room)
        room["y"].sum().backward()
        return [round(v, 3) for v in x.grad.flatten().tolist()]

    def outcome(call: str, leaf: bool) -> Any:
        try:
            return answer(call, leaf)
        except RuntimeError:  # NotImplementedError is one
            return "refused"

    calls = [c.strip() for c in INPLACE_CALLS.split(" | ") if c.strip()]
    return [(call, leaf, outcome(call, leaf)) for call in calls for leaf in (False, True)]


@case
def what_has_no_derivative_says_so_in_backward(t):
    x = t.tensor([0.5, 1.5, 0.5], requires_grad=True)
    programs = {
        "unique": lambda: t.unique(x),
        "unique_consecutive": lambda: t.unique_consecutive(x),
        "histogram": lambda: t.histogram(x, 2).hist,
        "bincount": lambda: t.bincount(t.tensor([0, 1, 1]), weights=x),
        "heaviside": lambda: t.heaviside(x, x),
        "floor_divide": lambda: t.floor_divide(x, 2),
        "argmax": lambda: t.argmax(x),
        "eq": lambda: t.eq(x, 1),
        "airy_ai": lambda: t.special.airy_ai(x),
    }

    def outcome(program: Callable[[], Any]) -> Any:
        result = program()
        try:
            (x.sum() + result.sum()).backward()
        except RuntimeError:
            return result.requires_grad, "refused"
        return result.requires_grad, "went through"

    return {name: outcome(program) for name, program in programs.items()}


@case
def saved_hooks_see_tensors_and_no_numbers(t):
    seen = []
    a = t.tensor([1.0, 2.0], requires_grad=True)
    with t.autograd.graph.saved_tensors_hooks(lambda x: seen.append(tuple(x.shape)) or x, lambda x: x * 10):
        y = (a**2).sum() + (a * 3).sum() + (a / 2).sum()
    y.backward()
    return seen, a.grad.tolist()
