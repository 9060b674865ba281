"""Fourier transforms and LAPACK where PyTorch's samples do not look: lengths, batches, failures."""

from __future__ import annotations

import numpy as np
import pytest

import ms_adapter.pytorch as torch

RNG = np.random.default_rng(4)


def tensor(*shape: int, dtype: str = "float64") -> torch.Tensor:
    values = RNG.standard_normal(shape)
    if dtype.startswith("complex"):
        values = values + 1j * RNG.standard_normal(shape)
    return torch.from_numpy(values.astype(dtype))


@pytest.mark.parametrize("n", [1, 2, 3, 7, 11, 30, 59, 61, 64, 97, 211, 360, 1009, 2 * 503, 4096])
def test_lengths(n: int) -> None:
    """Small radices, large primes (a convolution of ours) and their products agree with NumPy."""
    line = tensor(3, n, dtype="complex128")
    np.testing.assert_allclose(
        torch.fft.fft(line).numpy(), np.fft.fft(line.numpy()), rtol=1e-9, atol=1e-11 * n
    )
    np.testing.assert_allclose(
        torch.fft.ifft(torch.fft.fft(line)).numpy(), line.numpy(), rtol=1e-9, atol=1e-12
    )
    real = tensor(2, n)
    np.testing.assert_allclose(
        torch.fft.rfft(real).numpy(), np.fft.rfft(real.numpy()), rtol=1e-9, atol=1e-11 * n
    )
    np.testing.assert_allclose(
        torch.fft.irfft(torch.fft.rfft(real), n).numpy(), real.numpy(), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 11, 12, 35, 49, 66, 97, 118, 210, 224, 360, 1023, 1024])
@pytest.mark.parametrize("count", [2, 3, 8, 11])
def test_lines_side_by_side(n: int, count: int) -> None:
    """Bundles of lines, and what is left over beside them, along a near and a far dimension."""
    for shape, axis in ((count, n), 1), ((n, count), 0), ((2, n, count), 1):
        line, real = tensor(*shape, dtype="complex128"), tensor(*shape)
        got, want = torch.fft.fft(line, dim=axis), np.fft.fft(line.numpy(), axis=axis)
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-9, atol=1e-11 * n)
        got, want = torch.fft.rfft(real, dim=axis), np.fft.rfft(real.numpy(), axis=axis)
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-9, atol=1e-11 * n)
        back = torch.fft.irfft(got, n, dim=axis)
        np.testing.assert_allclose(back.numpy(), real.numpy(), rtol=1e-9, atol=1e-12)
        whole = torch.fft.fft(real, dim=axis).numpy()
        np.testing.assert_allclose(whole, np.fft.fft(real.numpy(), axis=axis), rtol=1e-9, atol=1e-11 * n)


def test_float32_keeps_its_digits() -> None:
    line = tensor(5, 3 * 5 * 7 * 64, dtype="float32")
    exact = np.fft.fft(line.numpy().astype("float64"))
    assert np.abs(torch.fft.fft(line).numpy() - exact).max() < 2e-7 * np.abs(exact).max()


def test_threads_share_nothing() -> None:
    many = tensor(4096, 97, dtype="complex64")
    one_by_one = np.stack([torch.fft.fft(row).numpy() for row in many[::1024]])
    assert (torch.fft.fft(many)[::1024].numpy() == one_by_one).all()


def test_real_signs_have_no_gradient() -> None:
    a = tensor(2, 4, 4).requires_grad_()
    sign, logarithm = torch.linalg.slogdet(a)
    assert torch.autograd.grad(sign.sum(), a, retain_graph=True, allow_unused=True) == (None,)
    (grad,) = torch.autograd.grad(logarithm.sum(), a)
    np.testing.assert_allclose(grad.numpy(), np.linalg.inv(a.detach().numpy()).swapaxes(1, 2), rtol=1e-9)


def test_as_strided_scatter_has_the_gradient_of_what_it_computes() -> None:
    """By finite differences: PyTorch 2.13 gives the input the gradient of the places written over."""
    src = tensor(2, 3).requires_grad_()
    for view in (lambda t: t), (lambda t: t.t()[1:]):  # the second is not contiguous
        x = tensor(4, 4).requires_grad_()
        scatter = lambda x, src: torch.as_strided_scatter(view(x), src, (2, 3), (1, 4), 2)  # noqa: B023
        assert torch.autograd.gradcheck(scatter, (x, src))
        assert torch.autograd.gradgradcheck(scatter, (x, src))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_batches_and_strides(dtype: str) -> None:
    """Each matrix of a transposed, expanded batch is factored on its own."""
    a = tensor(4, 3, 5, 5, dtype=dtype).transpose(0, 1)
    tolerance = 1e-4 if dtype in ("float32", "complex64") else 1e-11
    for name, ours, numpys in [
        ("inv", torch.linalg.inv, np.linalg.inv),
        ("det", torch.linalg.det, np.linalg.det),
        ("svdvals", torch.linalg.svdvals, lambda m: np.linalg.svd(m, compute_uv=False)),
        ("pinv", torch.linalg.pinv, np.linalg.pinv),
    ]:
        want = numpys(a.numpy())
        np.testing.assert_allclose(
            ours(a).numpy(), want, rtol=tolerance, atol=tolerance * np.abs(want).max(), err_msg=name
        )
    q, r = torch.linalg.qr(a)
    p, lower, upper = torch.linalg.lu(a)
    u, s, vh = torch.linalg.svd(a)
    w, v = torch.linalg.eig(a)
    for back in (
        q @ r,
        p @ lower @ upper,
        (u * s.unsqueeze(-2)) @ vh,
        (v * w.unsqueeze(-2)) @ torch.linalg.inv(v),
    ):
        np.testing.assert_allclose(back.numpy(), a.numpy(), rtol=20 * tolerance, atol=20 * tolerance)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("n", [1, 2, 5, 12, 13, 40])
def test_elimination(n: int, dtype: str) -> None:
    """Small matrices are eliminated by code of ours, larger ones by LAPACK."""
    a, b = tensor(6, n, n, dtype=dtype), tensor(6, n, 3, dtype=dtype)
    np.testing.assert_allclose((a @ torch.linalg.solve(a, b)).numpy(), b.numpy(), atol=1e-9)
    np.testing.assert_allclose(torch.linalg.inv(a).numpy(), np.linalg.inv(a.numpy()), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(torch.linalg.det(a).numpy(), np.linalg.det(a.numpy()), rtol=1e-8)
    for shape in ((n, n), (n + 2, n), (n, n + 2)):
        m = tensor(3, *shape, dtype=dtype)
        p, lower, upper = torch.linalg.lu(m)
        np.testing.assert_allclose((p @ lower @ upper).numpy(), m.numpy(), atol=1e-12)
        assert lower.abs().max() <= (1.0 if dtype == "float64" else 2**0.5) + 1e-12


def test_failures_name_the_matrix() -> None:
    a = torch.eye(3).repeat(4, 1, 1)
    a[2, 1, 1] = -1
    with pytest.raises(torch.linalg.LinAlgError, match=r"Batch element 2.*not positive-definite"):
        torch.linalg.cholesky(a)
    a[2, 1, 1] = 0
    with pytest.raises(torch.linalg.LinAlgError, match=r"Batch element 2.*singular"):
        torch.linalg.inv(a)
    assert torch.linalg.inv_ex(a).info.tolist() == [0, 0, 2, 0]
    with pytest.raises(torch.linalg.LinAlgError, match="singular"):
        torch.linalg.solve(torch.zeros(2, 2), torch.ones(2))


def test_determinant_of_singular_matrices() -> None:
    """Its gradient is the cofactor matrix, which a singular matrix has too."""
    a = torch.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=torch.float64, requires_grad=True)
    torch.linalg.det(a).backward()
    np.testing.assert_allclose(a.grad.numpy(), [[4, -2], [-2, 1]], atol=1e-12)


def test_exponential_scales_each_matrix_alone() -> None:
    large = torch.tensor([[0.0, 40.0], [-40.0, 0.0]], dtype=torch.float64)
    both = torch.matrix_exp(torch.stack([large, large / 1000]))
    for out, angle in zip(both, (40.0, 0.04)):
        want = [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
        np.testing.assert_allclose(out.numpy(), want, rtol=1e-11, atol=1e-11)


def test_a_loss_on_the_phase_has_no_gradient() -> None:
    """Complex eigenvectors are given up to a phase: abs() may be differentiated, the numbers may not."""
    a = tensor(3, 3, dtype="complex128")
    a = (a + a.mH).requires_grad_()
    torch.linalg.eigh(a).eigenvectors.abs()[0, 0].backward()
    for decompose in (lambda: torch.linalg.eigh(a)[1], lambda: torch.linalg.svd(a)[0]):
        with pytest.raises(RuntimeError, match="phase"):
            (decompose()[0, 0] * (1 + 2j)).real.backward()


@pytest.mark.parametrize("pivots", [[1, 2, 9], [0, 1, 2], [-1, 2, 3], [1, 2], [1, 2, 3, 3]])
def test_pivots_are_not_trusted(pivots: list[int]) -> None:
    """LAPACK would follow them out of the matrix."""
    swaps = torch.tensor(pivots, dtype=torch.int32)
    for use in (
        lambda: torch.lu_unpack(torch.eye(3), swaps),
        lambda: torch.linalg.lu_solve(torch.eye(3), swaps, torch.ones(3, 1)),
        lambda: torch.linalg.ldl_solve(torch.eye(3), swaps, torch.ones(3, 1)),
    ):
        with pytest.raises(RuntimeError):
            use()


def test_singular_matrices_leave_no_finite_answer() -> None:
    inverse, info = torch.linalg.inv_ex(torch.tensor([[1.0, 2.0], [2.0, 4.0]]))
    assert info.item() == 2 and not torch.isfinite(inverse).any()
    result, info = torch.linalg.solve_ex(torch.zeros(2, 2), torch.ones(4, 2, 1))
    assert info.shape == () and info.item() == 1 and not torch.isfinite(result).all()
    with pytest.raises(torch.linalg.LinAlgError, match="singular"):
        torch.cholesky_inverse(torch.zeros(2, 2))


def test_not_finite_matrices_end() -> None:
    """Iterative routines would not converge on them."""
    a = torch.tensor([[float("nan"), 1.0], [1.0, 1.0]])
    for name in ("eig", "eigvals"):
        with pytest.raises(RuntimeError, match="infs or NaNs"):
            getattr(torch.linalg, name)(a)
    with pytest.raises(torch.linalg.LinAlgError, match="converge"):
        torch.linalg.svd(a)


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("transpose", [True, False])
def test_reflectors(left: bool, transpose: bool) -> None:
    """Q as a matrix and Q as LAPACK applies it agree, and so do their gradients."""
    compact, tau = (t.requires_grad_() for t in torch.geqrf(tensor(2, 4, 4)))
    other, cotangent = tensor(2, 4, 4), tensor(2, 4, 4)
    q = torch.linalg.householder_product(compact, tau)
    q = q.mT if transpose else q
    expected = q @ other if left else other @ q
    got = torch.ormqr(compact, tau, other, left, transpose)
    for a, b in zip(
        (expected, *torch.autograd.grad(expected, (compact, tau), cotangent)),
        (got, *torch.autograd.grad(got, (compact, tau), cotangent)),
    ):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("order", [-1, -3.5, float("inf"), float("-inf")])
def test_no_elements_have_no_extreme_norm(order: float) -> None:
    with pytest.raises(RuntimeError, match="identity"):
        torch.linalg.vector_norm(torch.ones(0, 3), order, 0)
    assert torch.linalg.vector_norm(torch.ones(0, 3), order, 1).shape == (0,)


def test_low_rank() -> None:
    factors = tensor(2, 7, 3), tensor(2, 5, 3)
    a = factors[0] @ factors[1].mT
    u, s, v = torch.svd_lowrank(a, q=3)
    np.testing.assert_allclose(((u * s.unsqueeze(-2)) @ v.mT).numpy(), a.numpy(), atol=1e-10)
    centred = a - a.mean(-2, keepdim=True)
    u, s, v = torch.pca_lowrank(a, q=3)
    np.testing.assert_allclose(((u * s.unsqueeze(-2)) @ v.mT).numpy(), centred.numpy(), atol=1e-10)
    with pytest.raises(ValueError, match="not greater than"):
        torch.pca_lowrank(a, q=6)


@pytest.mark.parametrize(
    ("ours", "numpys"),
    [
        (torch.hann_window, np.hanning),
        (torch.hamming_window, np.hamming),
        (torch.bartlett_window, np.bartlett),
        (torch.blackman_window, np.blackman),
        (
            lambda n, periodic, dtype: torch.kaiser_window(n, periodic, 5.0, dtype=dtype),
            lambda n: np.kaiser(n, 5.0),
        ),
    ],
)
def test_windows(ours, numpys) -> None:
    """NumPy's are symmetric; a periodic one is the larger symmetric one without its end."""
    for n in (0, 1, 2, 7, 8):
        np.testing.assert_allclose(ours(n, False, dtype=torch.float64).numpy(), numpys(n), atol=1e-12)
        if n > 1:
            periodic = ours(n, True, dtype=torch.float64).numpy()
            np.testing.assert_allclose(periodic, numpys(n + 1)[:-1], atol=1e-12)


@pytest.mark.parametrize("largest", [True, False])
def test_lobpcg(largest: bool) -> None:
    """Eigenpairs and gradients are those of the whole decomposition."""
    a = tensor(2, 30, 30)
    a = (a @ a.mT + torch.eye(30, dtype=torch.float64)).requires_grad_()
    cotangent = tensor(2, 30, 2)
    values, vectors = torch.lobpcg(a, k=2, largest=largest, tol=1e-13)
    all_values, all_vectors = torch.linalg.eigh(a)
    all_values, all_vectors = (t.flip(-1) if largest else t for t in (all_values, all_vectors))
    grads = []
    for w, v in ((values, vectors), (all_values[:, :2], all_vectors[..., :2])):
        loss = (v.abs() * cotangent).sum() + (w**2).sum()
        grads.append(torch.autograd.grad(loss, a)[0].numpy())
    np.testing.assert_allclose(values.detach().numpy(), all_values[:, :2].detach().numpy(), rtol=1e-9)
    np.testing.assert_allclose(*grads, rtol=1e-6, atol=1e-6 * np.abs(grads[1]).max())
    with pytest.raises(ValueError, match="eigh"):
        torch.lobpcg(torch.eye(5), k=2)
