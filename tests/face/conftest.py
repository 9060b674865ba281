"""Both sides of every comparison: the oracle (PyTorch) and the face."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

import ms_adapter.pytorch as face  # noqa: E402


def close(got, want, tolerance):
    """Equal in structure, and in numbers up to a tolerance relative to one."""
    if isinstance(want, (list, tuple)):
        pairs = zip(got, want, strict=False)
        return type(got) is type(want) and len(got) == len(want) and all(close(*p, tolerance) for p in pairs)
    if isinstance(want, dict):
        return list(got) == list(want) and all(close(got[key], want[key], tolerance) for key in want)
    if isinstance(want, (float, complex)) and type(got) is type(want):
        return got == want or got == pytest.approx(want, rel=tolerance, abs=tolerance, nan_ok=True)
    return got == want


@pytest.fixture
def nearly():
    """As ``both``, with a tolerance for what rounds."""

    def compare(scenario, tolerance=1e-12):
        want, got = scenario(torch), scenario(face)
        assert close(got, want, tolerance)

    return compare


@pytest.fixture
def both():
    """Runs a scenario, a function of the torch-like module, on both sides and compares what it returns."""

    def compare(scenario):
        want, got = scenario(torch), scenario(face)
        assert got == want

    return compare
