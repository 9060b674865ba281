"""torch.autocast: dtypes, settings, the kept casts of weights, and numbers of a training, as PyTorch's."""

import random

import numpy as np
import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

import ms_adapter.pytorch as face
from conformance.autocast import GIVEN, converted, outcome
from conformance.face import Face, Missing, record_constructors
from conformance.ops import exists, full_name, pick

# Where the dtypes differ, and why.
KNOWN = {
    "block_diag": "a mixture of two half types, which is joined by cat here",
    "svd_lowrank": "PyTorch's own gradient fails",
    "pca_lowrank": "PyTorch's own gradient fails",
    "inner": "of scalars: a product here, a multiplication there",
    "tensordot": "of scalars: a product here, a multiplication there",
    "nn.functional.linear_cross_entropy/chunked": "computed in one piece here, whose loss is float32",
    "nn.functional.linear_cross_entropy/chunked_none": "computed in one piece here, whose loss is float32",
    "nn.functional.embedding_bag": "a mixture of two half types",
    "_softmax_backward_data": "a half result of PyTorch's internal operator",
    "linalg.pinv": "PyTorch's own gradient fails: its result is bfloat16",
    "linalg.pinv/hermitian": "PyTorch's own gradient fails: its result is bfloat16",
    "linalg.det": "empty half matrices",
    "linalg.ldl_factor": "empty half matrices",
    "linalg.ldl_factor_ex": "empty half matrices",
    "linalg.ldl_solve": "empty half matrices",
    "linalg.lu_solve": "empty half matrices",
    "linalg.solve_ex": "empty half matrices",
    "ormqr": "empty inputs get zeros as gradients here",
    "linalg.householder_product": "empty inputs get zeros as gradients here",
    "linalg.vector_norm": "an empty input gets zeros as its gradient here",
}
record_constructors()
ORACLE, FACE = Face("torch"), Face("ms_adapter.pytorch")


@pytest.mark.slow
def test_dtypes_of_results_and_gradients():
    """Over PyTorch's table of operators, for each dtype of the inputs and each lower precision."""
    torch.set_num_threads(1)
    wrong, tried = [], 0
    for op in op_db:
        if torch.float32 not in op.supported_dtypes("cpu") or not exists(op, FACE):
            continue
        for seed in (torch.manual_seed, random.seed, np.random.seed):
            seed(0)
        try:
            fns = ORACLE.adopt(op.op), FACE.adopt(op.op)
        except Missing:
            continue
        samples = pick(op.sample_inputs("cpu", torch.float32, requires_grad=op.supports_autograd), 1)
        for sample in samples:
            process = sample.output_process_fn_grad
            for given in GIVEN:
                for lower in ("bfloat16", "float16"):
                    here = converted(sample, getattr(torch, given))
                    want = outcome(ORACLE, fns[0], process, here, lower, op.supports_autograd)
                    if want is None:
                        continue
                    got = outcome(FACE, fns[1], FACE.adopt(process), here, lower, op.supports_autograd)
                    tried += 1
                    if got is None or got[0] != want[0] or want[1] not in (None, got[1]):
                        wrong.append((full_name(op), given, lower, got, want))
    assert tried > 2500
    assert not [item for item in wrong if item[0] not in KNOWN], wrong


def make_model(t):
    t.manual_seed(3)
    return t.nn.Sequential(
        t.nn.Conv2d(2, 4, 3),
        t.nn.BatchNorm2d(4),
        t.nn.ReLU(),
        t.nn.Flatten(),
        t.nn.Linear(4 * 4 * 4, 8),
        t.nn.LayerNorm(8),
        t.nn.GELU(),
        t.nn.Linear(8, 3),
    )


def trained(t, lower, steps=6):
    """Losses and the dtypes of what a training under autocast makes."""
    model = make_model(t)
    optimizer = t.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, target = t.randn(16, 2, 6, 6), t.arange(16) % 3
    losses, dtypes = [], set()
    for _ in range(steps):
        optimizer.zero_grad()
        with t.autocast("cpu", dtype=getattr(t, lower)):
            out = model(x)
            loss = t.nn.functional.cross_entropy(out, target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        dtypes |= {str(out.dtype), str(loss.dtype), *(str(p.grad.dtype) for p in model.parameters())}
    return losses, sorted(dtypes)


@pytest.mark.parametrize("lower", ["bfloat16", "float16"])
def test_training(lower):
    (want, want_dtypes), (got, got_dtypes) = trained(torch, lower), trained(face, lower)
    assert got_dtypes == want_dtypes
    # A last bit of a half type is 2 ** -8 or 2 ** -11; what it does to the loss grows with the steps.
    assert got == pytest.approx(want, rel=0.02 if lower == "bfloat16" else 0.003)


def test_attention_and_matmul(both):
    def scenario(t):
        q = t.ones(1, 2, 4, 8, requires_grad=True)
        with t.autocast("cpu"):
            out = t.nn.functional.scaled_dot_product_attention(q, q, q)
            products = [q @ q.mT, t.einsum("bhij,bhkj->bhik", q, q), t.softmax(q, -1), q.sum(), q.exp()]
        out.sum().backward()
        return str(out.dtype), str(q.grad.dtype), [str(p.dtype) for p in products]

    both(scenario)


def test_nesting_and_settings(both):
    def scenario(t):
        seen = []

        def look():
            seen.append(
                (
                    t.is_autocast_enabled("cpu"),
                    str(t.get_autocast_dtype("cpu")),
                    t.is_autocast_cache_enabled(),
                )
            )

        look()
        with t.autocast("cpu", dtype=t.float16, cache_enabled=False):
            look()
            with t.autocast("cpu", enabled=False):
                look()
                seen.append(str((t.ones(2, 2) @ t.ones(2, 2)).dtype))
            look()
        look()
        try:
            with t.autocast("cpu"):
                raise KeyError
        except KeyError:
            look()
        seen.append(str(t.autocast("cpu")(lambda a: a @ a)(t.ones(2, 2)).dtype))
        t.set_autocast_enabled("cpu", True)
        t.set_autocast_cpu_dtype(t.float16)
        look()
        seen.append(str((t.ones(2, 2) @ t.ones(2, 2)).dtype))
        t.set_autocast_cpu_enabled(False)
        t.set_autocast_dtype("cpu", t.bfloat16)
        t.clear_autocast_cache()
        look()
        seen += [t.autocast_increment_nesting(), t.autocast_decrement_nesting()]
        seen += [t.amp.is_autocast_available(kind) for kind in ("cpu", "cuda", "meta")]
        seen += [t.is_autocast_enabled(), str(t.get_autocast_gpu_dtype()), t.is_autocast_cpu_enabled()]
        return seen

    both(scenario)


def test_weights_are_cast_once_and_their_gradients_meet_in_lower_precision(both):
    def scenario(t):
        w = t.full((2, 2), 1.0, requires_grad=True)
        x = t.tensor([[1.0, 2.0**-9]])
        out = []
        with t.autocast("cpu"):
            with t.no_grad():
                x @ w
            first, second = x @ w, x @ w
            out.append(first.grad_fn.next_functions[1][0] is second.grad_fn.next_functions[1][0])
            with t.no_grad():
                w.fill_(2.0)
            out.append((x @ w).tolist())  # the cast of before is still used
            t.clear_autocast_cache()
            out.append((x @ w).tolist())
        (first.sum() + second.sum()).backward()
        out.append(w.grad.tolist())
        with t.autocast("cpu", cache_enabled=False):
            first, second = x @ w, x @ w
        out.append(first.grad_fn.next_functions[1][0] is second.grad_fn.next_functions[1][0])
        return out

    both(scenario)


def test_what_stays_as_it_is(both):
    def scenario(t):
        x, out = t.randn(2, 2), []
        with t.autocast("cpu"):
            out.append(str((x.double() @ x.double()).dtype))
            out.append(str((x.int() @ x.int()).dtype))
            out.append(str(t.mm(x, x, out=t.empty(2, 2)).dtype))
            out.append(str(x.clone().addmm_(x, x).dtype))
            out.append(str(t.cat([x, x.bfloat16()]).dtype))
            out.append(str(t.cat([x.bfloat16(), x.bfloat16()]).dtype))
            out.append(str(t.nn.functional.mse_loss(x.bfloat16(), x).dtype))
            for call in (
                lambda: x.double() @ x,
                lambda: t.cat([x.half(), x]),
                lambda: t.empty(1, 2, 2).baddbmm_(x[None], x[None].bfloat16()),
            ):
                with pytest.raises(RuntimeError):
                    call()
        return out

    both(scenario)


def test_backward_inside_of_the_region(nearly):
    def scenario(t):
        t.manual_seed(0)
        x = t.randn(3, 3, requires_grad=True)
        y = (x @ x).sum()
        with t.autocast("cpu"):
            inside = t.autograd.grad(y, x, retain_graph=True)[0]
        outside = t.autograd.grad(y, x)[0]
        return inside.tolist(), outside.tolist()

    nearly(scenario, 1e-6)


def test_custom_functions(both):
    def scenario(t):
        seen = []

        class Product(t.autograd.Function):
            @staticmethod
            @t.amp.custom_fwd(device_type="cpu")
            def forward(ctx, a, b):
                ctx.save_for_backward(a, b)
                return a @ b

            @staticmethod
            @t.amp.custom_bwd(device_type="cpu")
            def backward(ctx, grad):
                a, b = ctx.saved_tensors
                seen.append((t.is_autocast_enabled("cpu"), str(grad.dtype)))
                return grad @ b.mT, a.mT @ grad

        class Wide(t.autograd.Function):
            @staticmethod
            @t.amp.custom_fwd(device_type="cpu", cast_inputs=t.float32)
            def forward(ctx, a):
                seen.append((str(a.dtype), t.is_autocast_enabled("cpu")))
                return a * 2

            @staticmethod
            @t.amp.custom_bwd(device_type="cpu")
            def backward(ctx, grad):
                seen.append(t.is_autocast_enabled("cpu"))
                return grad * 2

        x = t.ones(2, 2, requires_grad=True)
        with t.autocast("cpu"):
            y = Product.apply(x, x)
            z = Wide.apply(y)
        z.sum().backward()
        Wide.apply(x.detach().bfloat16())
        return seen, str(y.dtype), str(z.dtype), x.grad.tolist()

    both(scenario)


@pytest.mark.parametrize("arguments", [("cuda",), ("cpu", "float32")])
def test_what_is_not_possible_is_off_and_said(arguments):
    for t in (torch, face):
        kind, *dtype = arguments
        with pytest.warns(UserWarning, match="(?i)disabling autocast|stays off"):
            region = t.autocast(kind, *(getattr(t, name) for name in dtype))
        with region:
            assert (t.ones(2, 2) @ t.ones(2, 2)).dtype == t.float32
        with pytest.raises(ValueError):
            t.autocast(5)
        for bad in ("meta", "nowhere"):
            with pytest.raises(RuntimeError):
                t.autocast(bad)


def test_older_names(both):
    def scenario(t):
        out = []
        with pytest.warns(FutureWarning):
            region = t.cpu.amp.autocast(dtype=t.float16)
        with region:
            out.append(str((t.ones(2, 2) @ t.ones(2, 2)).dtype))
        with pytest.warns(FutureWarning):
            out.append(isinstance(t.cpu.amp.GradScaler(), t.amp.GradScaler))
        with pytest.warns((FutureWarning, UserWarning)):
            out.append(t.cuda.amp.GradScaler().is_enabled())
        with pytest.warns((FutureWarning, UserWarning)):
            out.append(isinstance(t.cuda.amp.autocast(), t.autocast))
        out.append(t.cuda.amp.common.amp_definitely_not_available())
        return out

    both(scenario)


def test_half_models_train(nearly):
    """Modules in bfloat16 and float16: a step's numbers are PyTorch's to a bit or two of the half type."""

    def scenario(t):
        results = []
        for dtype in (t.bfloat16, t.float16):
            t.manual_seed(1)
            model = t.nn.Sequential(t.nn.Linear(6, 8), t.nn.Tanh(), t.nn.LayerNorm(8), t.nn.Linear(8, 2)).to(
                dtype
            )
            optimizer = t.optim.SGD(model.parameters(), lr=0.05)
            x, y = t.randn(10, 6).to(dtype), t.randn(10, 2).to(dtype)
            for _ in range(4):
                optimizer.zero_grad()
                loss = t.nn.functional.mse_loss(model(x), y)
                loss.backward()
                optimizer.step()
                results.append(loss.float().item())
            results += [str(p.dtype) for p in model.parameters()]
        return results

    nearly(scenario, 2**-7)
