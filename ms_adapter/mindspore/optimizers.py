"""`ms.nn.SGD` and `ms.nn.Momentum` of our parameters: PyTorch's SGD, which takes the same steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ms_adapter import pytorch as torch


def SGD(
    params: Iterable[Any],
    learning_rate: float = 0.1,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
    loss_scale: float = 1.0,
) -> Any:
    """`mindspore.nn.SGD` of parameters of ours.

    >>> net = torch.nn.Linear(2, 1)
    >>> SGD(net.trainable_params(), learning_rate=0.01).param_groups[0]["lr"]
    0.01
    """
    rate = _plain_rate("SGD", learning_rate, loss_scale)
    options = {"momentum": momentum, "dampening": dampening, "weight_decay": weight_decay}
    return torch.optim.SGD(params, lr=rate, nesterov=nesterov, **options)


def Momentum(
    params: Iterable[Any],
    learning_rate: float,
    momentum: float,
    weight_decay: float = 0.0,
    loss_scale: float = 1.0,
    use_nesterov: bool = False,
) -> Any:
    """`mindspore.nn.Momentum` of parameters of ours."""
    rate = _plain_rate("Momentum", learning_rate, loss_scale)
    options = {"momentum": momentum, "weight_decay": weight_decay, "nesterov": use_nesterov}
    return torch.optim.SGD(params, lr=rate, **options)


def _plain_rate(name: str, rate: Any, loss_scale: float) -> float:
    if not isinstance(rate, (int, float)):
        raise NotImplementedError(
            f"ms.nn.{name}: of our parameters the learning_rate is a number, not {type(rate).__name__}; "
            "let a scheduler of torch.optim.lr_scheduler change it."
        )
    if loss_scale != 1.0:
        raise NotImplementedError(
            f"ms.nn.{name}: loss_scale={loss_scale} is not supported for our parameters; unscale the "
            "gradients."
        )
    return float(rate)
