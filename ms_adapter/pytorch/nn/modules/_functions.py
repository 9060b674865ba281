"""Autograd functions that nn's own machinery needs."""

from ...autograd import Function


class BackwardHookFunction(Function):
    """Identity on all its arguments: a node of its own to hang a module's backward hooks on."""

    @staticmethod
    def forward(ctx, *tensors):
        ctx.mark_non_differentiable(*(t for t in tensors if not t.requires_grad))
        return tensors

    @staticmethod
    def backward(ctx, *grads):
        return grads
