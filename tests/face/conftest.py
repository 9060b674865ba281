"""Both sides of every comparison: the oracle (PyTorch) and the face."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

import ms_adapter.pytorch as face  # noqa: E402


@pytest.fixture
def both():
    """Runs a scenario, a function of the torch-like module, on both sides and compares what it returns."""

    def compare(scenario):
        want, got = scenario(torch), scenario(face)
        assert got == want

    return compare
