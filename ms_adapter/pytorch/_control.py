"""Control flow as functions, for code written for PyTorch's compiler: here the branch or loop simply runs."""

import ms_adapter.pytorch as torch

__all__ = ["cond", "while_loop"]


def cond(pred, true_fn, false_fn, operands=()):
    """``true_fn(*operands)`` where ``pred``, a bool or a tensor of one element, holds, else ``false_fn``'s.

    >>> import ms_adapter.pytorch as torch
    >>> torch.cond(torch.tensor(True), lambda x: x + 1, lambda x: x - 1, (torch.ones(2),))
    tensor([2., 2.])
    """
    if isinstance(pred, torch.Tensor) and pred.numel() != 1:
        raise RuntimeError(f"cond: expected pred to be bool or a tensor of one element, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("cond: expected both branches to be callable.")
    if not isinstance(operands, (tuple, list)):
        raise RuntimeError(f"cond: expected operands to be a tuple of tensors, but got {operands}.")
    return (true_fn if pred else false_fn)(*operands)


def while_loop(cond_fn, body_fn, carried_inputs):
    """Repeats ``carried = body_fn(*carried)`` while ``cond_fn(*carried)`` holds; returns the last ones.

    >>> import ms_adapter.pytorch as torch
    >>> torch.while_loop(lambda n: n < 10, lambda n: (n * 2,), (torch.tensor(3),))
    (tensor(12),)
    """
    carried = tuple(carried_inputs)
    while cond_fn(*carried):
        made = body_fn(*carried)
        made = tuple(made) if isinstance(made, (tuple, list)) else (made,)
        if len(made) != len(carried):
            raise RuntimeError(
                f"while_loop: body_fn returned {len(made)} values for {len(carried)} carried inputs."
            )
        carried = made
    return carried
