"""torch.backends.openmp: OpenMP, which kernels' threads are made with."""


def is_available():
    """True: OpenMP is built in."""
    return True
