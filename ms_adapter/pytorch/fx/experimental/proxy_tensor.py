"""Tracing by proxies of tensors, which is not here: no such tracing is ever under way."""

__all__ = ["get_proxy_mode", "make_fx", "maybe_disable_fake_tensor_mode"]

import contextlib


def get_proxy_mode():
    """None: nothing is being traced."""
    return


def make_fx(f, *args, **kwargs):
    """Raises NotImplementedError: only torch.fx.symbolic_trace records graphs here."""
    raise NotImplementedError("make_fx: tracing by example is not supported yet; use torch.fx.symbolic_trace")


def maybe_disable_fake_tensor_mode():
    """A context in which tensors are real, as they are."""
    return contextlib.nullcontext()
