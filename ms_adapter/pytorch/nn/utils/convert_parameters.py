"""All parameters as one vector, and back."""

import ms_adapter.pytorch as torch


def parameters_to_vector(parameters):
    """The parameters' elements in one vector, in order."""
    return torch.cat([param.view(-1) for param in parameters])


def vector_to_parameters(vec, parameters):
    """Set the parameters to the slices of ``vec``, in order."""
    if not isinstance(vec, torch.Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {torch.typename(vec)}")
    start = 0
    for param in parameters:
        count = param.numel()
        param.data = vec[start : start + count].view_as(param).data
        start += count
