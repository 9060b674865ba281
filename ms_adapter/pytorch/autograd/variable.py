"""torch.autograd.Variable: what a tensor with a history was called once; old scripts still use it."""

import warnings

from ms_adapter._C import Tensor


class VariableMeta(type):
    """Makes every tensor a Variable."""

    def __instancecheck__(cls, instance):
        return isinstance(instance, Tensor)


class Variable(metaclass=VariableMeta):
    """``Variable(data, requires_grad=False)``: a new leaf over the memory of ``data``.

    Args:
        data: a tensor; an empty one when left out.
        requires_grad: whether gradients flow to the new leaf, whatever ``data`` requires.
        volatile: has no effect; ``torch.no_grad()`` replaced it.

    Raises TypeError where ``data`` is no tensor.

    >>> import ms_adapter.pytorch as torch
    >>> from ms_adapter.pytorch.autograd import Variable
    >>> x = Variable(torch.ones(2), requires_grad=True)
    >>> (3 * x).sum().backward()
    >>> x.grad, isinstance(x.grad, Variable)
    (tensor([3., 3.]), True)
    """

    def __new__(cls, data=None, requires_grad=False, volatile=False):
        if volatile:
            warnings.warn(
                "Variable: volatile has no effect; use `with torch.no_grad():` instead.", stacklevel=2
            )
        if data is None:
            data = Tensor()
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable: data has to be a tensor, not {type(data).__name__}.")
        return data.detach().as_subclass(Tensor).requires_grad_(bool(requires_grad))
