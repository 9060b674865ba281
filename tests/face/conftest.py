"""Both sides of every comparison: the oracle (PyTorch) and the face."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

import ms_adapter.pytorch as face  # noqa: E402


def difference(got, want, tolerance, path=""):
    """The first place where nested values differ, numbers by more than a tolerance; None where none does."""
    if isinstance(want, (list, tuple)) and type(got) is type(want) and len(got) == len(want):
        found = (
            difference(*pair, tolerance, f"{path}[{i}]") for i, pair in enumerate(zip(got, want, strict=True))
        )
        return next(filter(None, found), None)
    if isinstance(want, dict) and isinstance(got, dict) and got.keys() == want.keys():
        found = (difference(got[key], want[key], tolerance, f"{path}[{key!r}]") for key in want)
        return next(filter(None, found), None)
    numbers = isinstance(want, (float, complex)) and type(got) is type(want)
    if got == want or numbers and got == pytest.approx(want, rel=tolerance, abs=tolerance, nan_ok=True):
        return None
    return f"at {path or 'the top'}: {got!r} is not {want!r}"


@pytest.fixture
def nearly():
    """As ``both``, with a tolerance for what rounds."""

    def compare(scenario, tolerance=1e-12):
        want, got = scenario(torch), scenario(face)
        assert difference(got, want, tolerance) is None

    return compare


@pytest.fixture
def both():
    """Runs a scenario, a function of the torch-like module, on both sides and compares what it returns."""

    def compare(scenario):
        want, got = scenario(torch), scenario(face)
        assert got == want

    return compare
