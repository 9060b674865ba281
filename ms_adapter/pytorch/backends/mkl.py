"""torch.backends.mkl: Intel's MKL; not used: BLAS and LAPACK are OpenBLAS."""

from .mkldnn import verbose  # noqa: F401 - the same block, which does nothing

VERBOSE_OFF, VERBOSE_ON = 0, 1


def is_available():
    """False: MKL is not used."""
    return False
