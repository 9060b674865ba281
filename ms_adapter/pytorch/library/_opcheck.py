"""opcheck: does a custom operator keep its promises?"""

import ms_adapter.pytorch as torch

from ..ops._custom import _tensors
from ._define import ServedByRow, find

__all__ = ["OpCheckError", "opcheck"]

_TESTS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


class OpCheckError(Exception):
    """A promise that an operator breaks."""


def opcheck(op, args, kwargs=None, *, test_utils=_TESTS, raise_exception=True, atol=None, rtol=None):
    """Checks an operator on one set of arguments; returns {test: "SUCCESS" or what was found}.

    ``test_schema``: only what the schema says is written to is changed. ``test_autograd_registration``:
    inputs that require gradients have one registered. ``test_faketensor``: the fake gives the shapes and
    dtypes of the real results. ``test_aot_dispatch_dynamic`` needs PyTorch's compiler: here it checks that
    backward gives the same twice.

    >>> import ms_adapter.pytorch as torch
    >>> @torch.library.custom_op("docs::inc", mutates_args=())
    ... def inc(x: torch.Tensor) -> torch.Tensor:
    ...     return x + 1
    >>> _ = inc.register_fake(lambda x: torch.empty_like(x))
    >>> sorted(set(torch.library.opcheck(inc, (torch.ones(2),)).values()))
    ['SUCCESS']
    """
    overload, kwargs = find(op), dict(kwargs or {})
    chosen = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    unknown = set(chosen) - set(_TESTS)
    if unknown:
        raise RuntimeError(f"opcheck: test_utils must be among {_TESTS}, got {sorted(unknown)}.")
    results = {}
    for name in chosen:
        try:
            _CHECKS[name](overload, tuple(args), kwargs)
            results[name] = "SUCCESS"
        except Exception as err:
            failure = OpCheckError(f"opcheck({overload}): {name} failed with {type(err).__name__}: {err}")
            if raise_exception:
                raise failure from err
            results[name] = failure
    return results


def _copies(args, kwargs):
    """The arguments with tensors of their own; gradients are required where they were."""

    def copy(value):
        if isinstance(value, torch.Tensor):
            return value.detach().clone().requires_grad_(value.requires_grad)
        return value

    return torch.utils._pytree.tree_map(copy, (args, kwargs))


def _check_schema(overload, args, kwargs):
    (args, kwargs), (before, before_kwargs) = _copies(args, kwargs), _copies(args, kwargs)
    with torch.no_grad():
        overload(*args, **kwargs)
    arguments = overload._schema.arguments
    named = dict(zip([a.name for a in arguments], zip(args, before)))
    named |= {name: (value, before_kwargs[name]) for name, value in kwargs.items()}
    for argument in arguments:
        now, then = named.get(argument.name, (None, None))
        if argument.alias_info is not None and argument.alias_info.is_write:
            continue
        for a, b in zip(_tensors((now,)), _tensors((then,))):
            if not torch.equal(a, b):
                raise RuntimeError(
                    f"Argument {argument.name} is not defined as mutable but was mutated; name it in "
                    "mutates_args."
                )


def _check_registration(overload, args, kwargs):
    wanted = any(t.requires_grad for t in _tensors((*args, *kwargs.values())))
    if (
        wanted
        and overload.backward is None
        and not {"CompositeImplicitAutograd", "Autograd"} & set(overload.kernels)
    ):
        raise RuntimeError("inputs require gradients, but no gradient is registered: call register_autograd.")


def _check_fake(overload, args, kwargs):
    args, kwargs = _copies(args, kwargs)
    with torch.no_grad():
        meta = torch.utils._pytree.tree_map(
            lambda v: v.to("meta") if isinstance(v, torch.Tensor) else v, (args, kwargs)
        )
        real = overload(*args, **kwargs)
        try:
            fake = overload(*meta[0], **meta[1])
        except NotImplementedError:
            if isinstance(overload, ServedByRow):  # a row, whose shape depends on the data
                return
            raise
    real, fake = torch.utils._pytree.tree_leaves(real), torch.utils._pytree.tree_leaves(fake)
    if len(real) != len(fake):
        raise RuntimeError(f"the fake returns {len(fake)} results, the kernel {len(real)}.")
    for i, (a, b) in enumerate(zip(real, fake)):
        if isinstance(a, torch.Tensor) and (a.shape, a.dtype, a.stride()) != (b.shape, b.dtype, b.stride()):
            raise RuntimeError(
                f"result {i} is {a.dtype} {tuple(a.shape)} with strides {a.stride()}, the fake says "
                f"{b.dtype} {tuple(b.shape)} with strides {b.stride()}."
            )


def _check_backward(overload, args, kwargs):
    if not any(t.requires_grad for t in _tensors((*args, *kwargs.values()))):
        return
    found = []
    for _ in range(2):
        a, k = _copies(args, kwargs)
        leaves = [t for t in _tensors((*a, *k.values())) if t.requires_grad]
        results = [
            t for t in torch.utils._pytree.tree_leaves(overload(*a, **k)) if isinstance(t, torch.Tensor)
        ]
        total = sum(t.sum() for t in results if t.requires_grad)
        found.append(torch.autograd.grad(total, leaves, allow_unused=True))
    for a, b in zip(*found):
        if (a is None) != (b is None) or a is not None and not torch.equal(a, b):
            raise RuntimeError("two backward passes gave different gradients.")


_CHECKS = dict(zip(_TESTS, (_check_schema, _check_registration, _check_fake, _check_backward)))
