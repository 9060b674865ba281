"""Modules with a `bprop` of their own, MindSpore's way to write a backward."""

import functools

import ms_adapter.pytorch as torch


def with_bprop(forward):
    """``forward`` whose gradients ``self.bprop(*inputs, out, dout)`` gives, one for each input."""

    @functools.wraps(forward)
    def run(self, *inputs):
        if not torch.is_grad_enabled():
            return forward(self, *inputs)
        return _ByBprop.apply(self, forward, *inputs)

    return run


class _ByBprop(torch.autograd.Function):
    """One call of a module with ``bprop``."""

    @staticmethod
    def forward(ctx, module, forward, *inputs):
        out = forward(module, *inputs)
        several = isinstance(out, tuple)
        outs = out if several else (out,)
        ctx.module, ctx.several = module, several
        ctx.plain = [None if isinstance(x, torch.Tensor) else x for x in inputs]
        ctx.save_for_backward(*(x for x in inputs if isinstance(x, torch.Tensor)), *outs)
        ctx.n_outs = len(outs)
        return out

    @staticmethod
    def backward(ctx, *douts):
        saved = list(ctx.saved_tensors)
        outs = tuple(saved[len(saved) - ctx.n_outs :])
        tensors = iter(saved)
        inputs = [next(tensors) if x is None else x for x in ctx.plain]
        given = ctx.module.bprop(
            *inputs, outs if ctx.several else outs[0], douts if ctx.several else douts[0]
        )
        given = given if isinstance(given, (tuple, list)) else (given,)
        if len(given) != len(inputs):
            raise RuntimeError(
                f"{type(ctx.module).__name__}.bprop gave {len(given)} gradients for {len(inputs)} inputs; "
                "return one for each."
            )
        return None, None, *given
