"""torch.backends.mkl: Intel's MKL; not used: BLAS and LAPACK are OpenBLAS."""


def is_available():
    """False: MKL is not used."""
    return False
