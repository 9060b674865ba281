"""Functions that PyTorch removed and keeps only to say so."""

__all__ = ["eig", "lstsq", "matrix_rank", "solve", "symeig"]


def _removed(name, successor):
    def gone(*args, **kwargs):
        raise RuntimeError(f"torch.{name} was removed from PyTorch in version 1.9: use {successor}.")

    gone.__name__ = gone.__qualname__ = name
    gone.__doc__ = f"Removed from PyTorch: use {successor}."
    return gone


eig = _removed("eig", "torch.linalg.eig, which returns complex tensors")
lstsq = _removed("lstsq", "torch.linalg.lstsq, whose arguments are the other way round")
matrix_rank = _removed("matrix_rank", "torch.linalg.matrix_rank")
solve = _removed("solve", "torch.linalg.solve, whose arguments are the other way round")
symeig = _removed("symeig", "torch.linalg.eigh, which reads the lower triangle by default")
