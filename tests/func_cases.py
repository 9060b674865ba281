"""Small programs of torch.func, vmap and forward-mode AD that must answer the same under PyTorch and us."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

CASES: list[Callable[[ModuleType], Any]] = []


def case(program: Callable[[ModuleType], Any]) -> Callable[[ModuleType], Any]:
    CASES.append(program)
    return program


def error(program: Callable[[], Any], length: int = 40) -> tuple[str, str]:
    """The exception's type and the beginning of its text."""
    try:
        return "no error", repr(program())
    except Exception as e:
        return type(e).__name__, str(e)[:length]


def numbers(tree: Any) -> Any:
    """A tree of tensors as rounded lists."""
    if isinstance(tree, dict):
        return {k: numbers(v) for k, v in sorted(tree.items())}
    if isinstance(tree, (list, tuple)):
        return [numbers(v) for v in tree]
    if hasattr(tree, "tolist"):
        return numbers(tree.tolist())
    return round(tree, 4) if isinstance(tree, float) else tree


def ramp(torch, *sizes):
    n = 1
    for s in sizes:
        n *= s
    return (torch.arange(n, dtype=torch.float64) / n - 0.3).reshape(sizes)


def model(torch):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3)).double()


def loss_of(torch, net):
    def loss(params, x, y):
        out = torch.func.functional_call(net, params, (x.unsqueeze(0),))
        return torch.nn.functional.cross_entropy(out, y.unsqueeze(0))

    return loss


# --- gradients ------------------------------------------------------------------------------------
@case
def grad_nests(torch):
    f = torch.func.grad
    x = torch.tensor(0.7, dtype=torch.float64)
    return numbers([f(torch.sin)(x), f(f(torch.sin))(x), f(f(f(torch.sin)))(x)])


@case
def grad_of_arguments_and_trees(torch):
    def f(tree, y):
        return (tree["a"] * tree["b"][0] * y).sum()

    tree, y = {"a": ramp(torch, 3), "b": [ramp(torch, 3) + 1]}, ramp(torch, 3) - 2
    first = torch.func.grad(f)(tree, y)
    both, value = torch.func.grad_and_value(f, argnums=(0, 1))(tree, y)
    return numbers([first, both, value])


@case
def grad_with_aux_and_without_history(torch):
    g, aux = torch.func.grad(lambda x: ((x**3).sum(), x * 2), has_aux=True)(ramp(torch, 3))
    return numbers([g, aux]), g.requires_grad, aux.requires_grad


@case
def grad_under_and_over_no_grad(torch):
    x = torch.tensor(2.0)
    with torch.no_grad():
        outside = torch.func.grad(lambda x: x**2)(x)

    def f(x):
        with torch.no_grad():
            c = x**2
        return x - c

    return numbers([outside, torch.func.grad(f)(x)])


@case
def gradients_reach_what_is_captured(torch):
    w = torch.tensor(3.0, requires_grad=True)
    g = torch.func.grad(lambda x: w * x**2)(torch.tensor(2.0))
    g.backward()
    return numbers([g.detach(), w.grad]), g.requires_grad


@case
def grad_wants_a_scalar(torch):
    return error(lambda: torch.func.grad(torch.sin)(torch.ones(2)), 20)[0], error(
        lambda: torch.func.grad(lambda x: 3.0)(torch.ones(2)), 20
    )[0]


@case
def vjp_of_several(torch):
    out, back = torch.func.vjp(lambda x, y: (x * y, x.sum()), ramp(torch, 3), ramp(torch, 3) + 1)
    return numbers([out, back((ramp(torch, 3), torch.tensor(2.0, dtype=torch.float64)))])


@case
def vjp_twice(torch):
    _, back = torch.func.vjp(torch.sin, ramp(torch, 3))
    return numbers([back(ramp(torch, 3)), back(ramp(torch, 3) * 2)])


# --- forward mode ---------------------------------------------------------------------------------
@case
def jvp_of_a_chain(torch):
    f = lambda x, y: torch.tanh(x @ y).exp().sum(0)  # noqa: E731
    x, y = ramp(torch, 2, 3), ramp(torch, 3, 2)
    return numbers(torch.func.jvp(f, (x, y), (x * 2, y + 1)))


@case
def jvp_nests(torch):
    def along(f):
        return lambda x: torch.func.jvp(f, (x,), (torch.ones_like(x),))[1]

    return numbers(along(along(along(torch.sin)))(ramp(torch, 3)))


@case
def jvp_and_grad_mix(torch):
    f = lambda x: (x.sin() * x).sum()  # noqa: E731
    x, v = ramp(torch, 3), ramp(torch, 3) + 1
    forward_over_reverse = torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]
    reverse_over_forward = torch.func.grad(lambda x: torch.func.jvp(f, (x,), (v,))[1])(x)
    return numbers([forward_over_reverse, reverse_over_forward])


@case
def dual_tensors(torch):
    ad = torch.autograd.forward_ad
    x = ramp(torch, 4)
    with ad.dual_level():
        dual = ad.make_dual(x, x * 0 + 2)
        seen = [ad.unpack_dual(t) for t in (dual.exp(), dual[1:3].view(2, 1), dual + 1, x)]
    after = ad.unpack_dual(dual)
    return [numbers([s.primal, s.tangent]) for s in seen], after.tangent


@case
def dual_tensors_in_place(torch):
    ad = torch.autograd.forward_ad
    with ad.dual_level():
        dual = ad.make_dual(ramp(torch, 4), torch.ones(4))  # a narrower tangent
        y = dual * 1
        y.mul_(dual)
        z = torch.zeros(4, dtype=torch.float64)
        z[1:3] = dual[:2] * 3
        seen = [ad.unpack_dual(y), ad.unpack_dual(z)]
    return [numbers([s.primal, s.tangent]) for s in seen]


@case
def dual_levels_complain(torch):
    ad = torch.autograd.forward_ad
    alone = error(lambda: ad.make_dual(torch.ones(2), torch.ones(2)))
    with ad.dual_level():
        shapes = error(lambda: ad.make_dual(torch.ones(2), torch.ones(3)))
        nested = error(ad.enter_dual_level)
    return alone, shapes, nested


@case
def linearized(torch):
    out, along = torch.func.linearize(torch.sin, ramp(torch, 3))
    return numbers([out, along(ramp(torch, 3))])


# --- Jacobians ------------------------------------------------------------------------------------
@case
def jacobians_agree(torch):
    f = lambda x: torch.stack([x[0] * x[1], x.sum() ** 2, x.prod()])  # noqa: E731
    x = ramp(torch, 3)
    return numbers([torch.func.jacrev(f)(x), torch.func.jacfwd(f)(x), torch.func.jacrev(f, chunk_size=2)(x)])


@case
def jacobians_of_trees(torch):
    f = lambda x, y: {"p": x * y.sum(), "s": (x**2).sum()}  # noqa: E731
    x, y = ramp(torch, 2), ramp(torch, 3)
    reverse = torch.func.jacrev(f, argnums=(0, 1))(x, y)
    forward = torch.func.jacfwd(f, argnums=(0, 1))(x, y)
    return numbers([reverse, forward])


@case
def jacobian_with_aux(torch):
    f = lambda x: (x**2, x + 1)  # noqa: E731
    return numbers(
        [
            torch.func.jacrev(f, has_aux=True)(ramp(torch, 2)),
            torch.func.jacfwd(f, has_aux=True)(ramp(torch, 2)),
        ]
    )


@case
def hessian_of_a_model(torch):
    net = model(torch)
    params = {k: v.detach() for k, v in net.named_parameters()}
    f = lambda p: loss_of(torch, net)(p, ramp(torch, 4), torch.tensor(1))  # noqa: E731
    return numbers(torch.func.hessian(f)(params))


@case
def hessians_both_ways(torch):
    f = lambda x: (x.sin() * x.flip(0)).sum()  # noqa: E731
    x = ramp(torch, 3)
    func = torch.func
    return numbers(
        [
            func.hessian(f)(x),
            func.jacrev(func.jacrev(f))(x),
            func.jacfwd(func.jacfwd(f))(x),
            func.jacrev(func.jacfwd(f))(x),
        ]
    )


# --- vmap -----------------------------------------------------------------------------------------
@case
def vmap_of_trees_and_dims(torch):
    f = lambda a, b: {"sum": a["x"] + b, "dot": a["x"] @ b}  # noqa: E731
    a, b = {"x": ramp(torch, 4, 3)}, ramp(torch, 3, 4)
    out = torch.vmap(f, in_dims=({"x": 0}, 1), out_dims={"sum": -1, "dot": 0})(a, b)
    return numbers(out), tuple(out["sum"].shape)


@case
def vmap_nests(torch):
    outer = torch.vmap(torch.vmap(torch.dot, in_dims=(None, 0)), in_dims=(0, None))
    return numbers(outer(ramp(torch, 2, 3), ramp(torch, 4, 3)))


@case
def vmap_in_chunks(torch):
    x = ramp(torch, 5, 3)
    return numbers([torch.vmap(torch.sum, chunk_size=n)(x) for n in (None, 1, 2, 7)])


@case
def vmap_sees_one_example(torch):
    seen = []
    torch.vmap(lambda x: seen.append((tuple(x.shape), x.dim(), x.numel(), str(x.dtype), str(x.device))) or x)(
        ramp(torch, 2, 3)
    )
    return seen


@case
def vmap_in_place(torch):
    def f(x, y):
        x = x.clone()
        x.add_(y)
        x[0] = y[1]
        x.t().mul_(2)
        return x

    return numbers(torch.vmap(f)(ramp(torch, 2, 3, 3), ramp(torch, 2, 3, 1)))


@case
def vmap_of_one_and_none(torch):
    return numbers([torch.vmap(torch.sin)(ramp(torch, 1, 2)), torch.vmap(torch.sin)(ramp(torch, 2, 0))])


@case
def vmap_of_linear_algebra(torch):
    a = ramp(torch, 2, 3, 3) + 2 * torch.eye(3, dtype=torch.float64)
    b = ramp(torch, 3)
    fs = [torch.linalg.inv, torch.linalg.det, lambda a: torch.linalg.solve(a, b), torch.linalg.norm]
    fs += [lambda a: torch.linalg.cholesky(a @ a.mT), lambda a: torch.linalg.svdvals(a), torch.trace]
    return numbers([torch.vmap(f)(a) for f in fs] + [torch.vmap(torch.func.grad(torch.linalg.det))(a)])


@case
def vmap_of_layers(torch):
    torch.manual_seed(0)
    f = torch.nn.functional
    x, w = torch.rand(3, 2, 4, 6, 6, dtype=torch.float64), torch.rand(3, 5, 4, 3, 3, dtype=torch.float64)
    b = torch.rand(3, 5, dtype=torch.float64)
    plain = torch.vmap(lambda x: f.conv2d(x, w[0], b[0]))(x)
    both = torch.vmap(lambda x, w, b: f.conv2d(x, w, b, padding=1))(x, w, b)
    weights = torch.vmap(lambda w: f.conv2d(x[0], w))(w)
    pooled = torch.vmap(lambda x: f.max_pool2d(x, 2))(x)
    normed = torch.vmap(lambda x: f.layer_norm(x, (6,)))(x)
    batch = torch.vmap(lambda x: f.batch_norm(x, None, None, training=True))(x)
    table = torch.vmap(lambda i: f.embedding(i, w[0, :, 0, 0]))(torch.tensor([[0, 1], [4, 2]]))
    return numbers([t.sum((-1, -2)) for t in (plain, both, weights, pooled, normed, batch)]), numbers(table)


@case
def vmap_of_gradients_by_shared_weights(torch):
    f = torch.nn.functional
    x, w, b = ramp(torch, 3, 2, 6, 6), ramp(torch, 4, 2, 3, 3), ramp(torch, 4)
    words, table = torch.tensor([[0, 1], [3, 2], [1, 1]]), ramp(torch, 4, 3)
    fs = [
        (lambda w, x: f.conv2d(x[None], w, b).pow(2).sum(), w, x),
        (lambda w, x: f.conv1d(x, w).pow(2).sum(), w[..., 0], x[..., 0]),
        (lambda w, x: f.conv_transpose2d(x[None], w.mT).pow(2).sum(), w[:2], x),
        (lambda x, w: f.conv2d(x, w).pow(2).sum(), x[:1], ramp(torch, 3, 4, 2, 3, 3)),
        (lambda b, x: f.conv2d(x, w, b).pow(2).sum(), b, x),
        (lambda t, i: f.embedding(i, t).pow(2).sum(), table, words),
        (lambda t, i: t[i].pow(2).sum(), table, words),
    ]
    return numbers([torch.vmap(torch.func.grad(g), in_dims=(None, 0))(by, over) for g, by, over in fs])


@case
def vmap_of_indexing(torch):
    x, i = ramp(torch, 3, 4, 5), torch.tensor([[0, 2], [1, 1], [3, 0]])
    fs = [
        lambda x, i: x[i],
        lambda x, i: x[:, i],
        lambda x, i: x[i, :, None],
        lambda x, i: x.gather(0, i[:, None].expand(2, 5)),
        lambda x, i: x.index_select(1, i),
        lambda x, i: x.index_add(0, i, x[:2]),
        lambda x, i: torch.where(x > 0, x, 0.0).cumsum(0),
    ]
    return numbers(
        [torch.vmap(f)(x, i) for f in fs] + [torch.vmap(f, in_dims=(0, None))(x, i[0]) for f in fs]
    )


@case
def vmap_of_random(torch):
    x = torch.zeros(3, 1000)
    shapes, spread = [], []
    for kind in ("different", "same"):
        made = torch.vmap(lambda x: x + torch.rand(1000), randomness=kind)(x)
        dropped = torch.vmap(lambda x: torch.nn.functional.dropout(x + 1), randomness=kind)(x)
        shapes += [tuple(made.shape), tuple(dropped.shape)]
        spread += [bool((made[0] == made[1]).all()), bool((dropped[0] == dropped[1]).all())]
    return shapes, spread, error(lambda: torch.vmap(lambda x: torch.rand(2))(x))


@case
def vmap_complains(torch):
    x = ramp(torch, 2, 3)
    vmap = torch.vmap
    return [
        error(lambda: vmap(torch.sum, in_dims=2)(x), 30)[0],
        error(lambda: vmap(torch.add)(x, ramp(torch, 3, 3)), 60),
        error(lambda: vmap(torch.sum, in_dims=None)(x), 30)[0],
        error(lambda: vmap(torch.sum)(), 30)[0],
        error(lambda: vmap(lambda x: 3)(x), 30)[0],
        error(lambda: vmap(lambda x: x, out_dims=None)(x), 30)[0],
        error(lambda: vmap(lambda x: x.sum().item())(x), 40),
        error(lambda: vmap(lambda x: x if x.sum() > 0 else -x)(x), 30)[0],
        error(lambda: vmap(torch.nonzero)(x.clamp(0)), 30)[0],
        error(lambda: vmap(lambda x: torch.zeros(3, dtype=x.dtype).add_(x))(x), 30)[0],
        error(lambda: vmap(torch.sum, randomness="some")(x), 30)[0],
        error(lambda: vmap(torch.sum, chunk_size=0)(x), 30)[0],
    ]


# --- together -------------------------------------------------------------------------------------
@case
def gradients_of_every_example(torch):
    net = model(torch)
    params = {k: v.detach() for k, v in net.named_parameters()}
    x, y = ramp(torch, 6, 4), torch.tensor([0, 1, 2, 2, 1, 0])
    each = torch.vmap(torch.func.grad(loss_of(torch, net)), in_dims=(None, 0, 0))(params, x, y)
    mean = torch.func.grad(
        lambda p: torch.nn.functional.cross_entropy(torch.func.functional_call(net, p, (x,)), y)
    )(params)
    agree = all(torch.allclose(each[k].mean(0), mean[k]) for k in params)
    return numbers(each), agree, each["0.weight"].requires_grad


@case
def gradient_of_a_mapped_function(torch):
    f = lambda w: torch.vmap(lambda x: (w * x).sin().sum())(ramp(torch, 3, 2)).prod()  # noqa: E731
    g = torch.func.grad(f)
    return numbers([g(ramp(torch, 2)), torch.func.hessian(f)(ramp(torch, 2))])


@case
def mapped_hessian_with_backward(torch):
    w = ramp(torch, 2).requires_grad_()
    h = torch.vmap(torch.func.hessian(lambda x: (w * x**3).sum()))(ramp(torch, 3, 2))
    h.sum().backward()
    return numbers([h.detach(), w.grad])


@case
def jvp_of_a_mapped_function(torch):
    f = torch.vmap(lambda x: torch.softmax(x, 0))
    x = ramp(torch, 3, 2)
    inside = torch.vmap(lambda x, v: torch.func.jvp(torch.exp, (x,), (v,))[1])(x, x)
    return numbers([torch.func.jvp(f, (x,), (x,)), inside])


@case
def an_ensemble(torch):
    nets = [model(torch) for _ in range(3)]
    for i, net in enumerate(nets):
        for p in net.parameters():
            p.data.mul_(1 + i)
    params, buffers = torch.func.stack_module_state(nets)
    call = lambda p, b, x: torch.func.functional_call(nets[0], (p, b), (x,))  # noqa: E731
    out = torch.vmap(call, in_dims=(0, 0, None))(params, buffers, ramp(torch, 2, 4))
    alone = torch.stack([net(ramp(torch, 2, 4)) for net in nets])
    return numbers(out.detach()), torch.allclose(out, alone), params["0.weight"].requires_grad


@case
def functional_call_and_ties(torch):
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Linear(2, 2, bias=False)
            self.b = torch.nn.Linear(2, 2, bias=False)
            self.b.weight = self.a.weight
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x, scale=1.0):
            self.count = self.count + 1
            return self.b(self.a(x)) * scale

    net = Tied()
    own = {k: v.clone() for k, v in net.state_dict().items()}
    given = {"a.weight": torch.eye(2) * 2, "count": torch.tensor(5.0)}
    x = torch.tensor([[1.0, 2.0]])
    call = torch.func.functional_call
    out = call(net, given, (x,), {"scale": 0.5})
    untied = error(lambda: call(net, given, x, tie_weights=False), 20)[0]
    strict = error(lambda: call(net, {"a.weight": torch.eye(2)}, x, strict=True), 20)[0]
    unknown = error(lambda: call(net, {"c": torch.eye(2)}, x), 20)[0]
    kept = all(torch.equal(v, own[k]) for k, v in net.state_dict().items())
    return numbers(out), untied, strict, unknown, kept, numbers(given["count"])


# --- custom functions -----------------------------------------------------------------------------
def cube(torch, **options):
    class Cube(torch.autograd.Function):
        generate_vmap_rule = options.get("generate", False)

        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 3 * x**2

        @staticmethod
        def jvp(ctx, tangent):
            (x,) = ctx.saved_tensors
            return tangent * 3 * x**2

    if options.get("rule"):

        class Cube(Cube):  # type: ignore[no-redef]
            @staticmethod
            def vmap(info, in_dims, x):
                return x.movedim(in_dims[0], 0) ** 3 * info.batch_size, 0

    return Cube.apply


@case
def custom_functions_mapped(torch):
    x = ramp(torch, 3, 2)
    generated, ruled = cube(torch, generate=True), cube(torch, rule=True)
    each = torch.vmap(torch.func.grad(lambda x: generated(x).sum()))(x)
    through = torch.func.grad(lambda x: torch.vmap(generated)(x).sum())(x)
    return numbers([torch.vmap(generated)(x), torch.vmap(ruled, in_dims=1)(x), each, through]), error(
        lambda: torch.vmap(cube(torch))(x)
    )


@case
def custom_functions_forward(torch):
    return numbers(torch.func.jvp(cube(torch), (ramp(torch, 3),), (ramp(torch, 3),)))


# --- autograd -------------------------------------------------------------------------------------
@case
def batched_gradients(torch):
    x = ramp(torch, 3).requires_grad_()
    y = x.sin() * x.sum()
    rows = torch.autograd.grad(y, x, torch.eye(3, dtype=torch.float64), is_grads_batched=True)
    return numbers(rows)


@case
def functional_products(torch):
    f = torch.autograd.functional
    g = lambda x, y: (x.sin() * y).sum(-1)  # noqa: E731
    s = lambda x, y: (x.sin() * y**2).sum()  # noqa: E731
    x = (ramp(torch, 2, 3), ramp(torch, 2, 3) + 1)
    v = (ramp(torch, 2, 3) * 2, ramp(torch, 2, 3))
    return numbers(
        [f.vjp(g, x, torch.ones(2, dtype=torch.float64)), f.jvp(g, x, v), f.vhp(s, x, v), f.hvp(s, x, v)]
    )


@case
def functional_jacobians(torch):
    f = torch.autograd.functional
    g = lambda x: x.sin() * x.sum()  # noqa: E731
    s = lambda x: (x**3).sum() * x[0]  # noqa: E731
    x = ramp(torch, 3)
    return numbers(
        [
            f.jacobian(g, x),
            f.jacobian(g, x, vectorize=True),
            f.jacobian(g, x, vectorize=True, strategy="forward-mode"),
            f.hessian(s, x),
            f.hessian(s, x, vectorize=True),
            f.hessian(s, x, vectorize=True, outer_jacobian_strategy="forward-mode"),
        ]
    )


@case
def functional_strict(torch):
    f = torch.autograd.functional
    x = ramp(torch, 2)
    free = lambda x: torch.ones(2)  # noqa: E731
    return (
        error(lambda: f.jacobian(free, x, strict=True), 20),
        error(lambda: f.vjp(torch.sin, x), 20)[0],
        error(lambda: f.jacobian(torch.sin, [x]), 20)[0],
        numbers(f.jacobian(free, x)),
    )


@case
def gradcheck_of_transforms(torch):
    x = ramp(torch, 3).requires_grad_()
    check = torch.autograd.gradcheck
    good = check(
        lambda x: x.sin() * x.sum(),
        x,
        check_forward_ad=True,
        check_batched_grad=True,
        check_batched_forward_grad=True,
    )
    both = torch.autograd.gradgradcheck(lambda x: x.sin().sum(), x, check_fwd_over_rev=True)
    return good, both


@case
def whether_a_transform_is_active(torch):
    seen = []

    def looks(x):
        seen.append(torch._C._are_functorch_transforms_active())
        return x.sum()

    x, func = ramp(torch, 3), torch.func
    looks(x)
    func.grad(looks)(x)
    torch.vmap(looks)(x)
    func.jvp(looks, (x,), (x,))
    func.vjp(looks, x)
    func.functionalize(looks)(x)
    looks(x)
    return seen


@case
def fast_gradcheck(torch):
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a * a

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0]

    x = ramp(torch, 5).requires_grad_()
    z = torch.complex(ramp(torch, 3), ramp(torch, 3) + 1).requires_grad_()
    check = torch.autograd.gradcheck
    return (
        check(lambda x: (x.sin(), x.prod()), x, fast_mode=True, check_forward_ad=True),
        check(lambda z, x: z.conj() * x.sum() + z.exp(), (z, x), fast_mode=True),
        check(Wrong.apply, x, fast_mode=True, raise_exception=False),
        error(lambda: check(Wrong.apply, x, fast_mode=True), 17),
        torch.autograd.gradgradcheck(lambda x: x.sin().sum(), x, fast_mode=True),
    )
