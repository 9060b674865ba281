"""The layers, by family."""

from importlib import import_module

from . import activation, attention, more_pooling, pooling
from .module import Module

_FAMILIES = [
    import_module(f"{__name__}.{name}")
    for name in (
        "activation",
        "adaptive",
        "attention",
        "batchnorm",
        "channelshuffle",
        "container",
        "conv",
        "distance",
        "dropout",
        "flatten",
        "fold",
        "instancenorm",
        "linear",
        "linear_cross_entropy_options",
        "loss",
        "more_pooling",
        "normalization",
        "padding",
        "pixelshuffle",
        "pooling",
        "rnn",
        "sparse",
        "transformer",
        "upsampling",
    )
]
for _family in _FAMILIES:
    globals().update({_name: getattr(_family, _name) for _name in _family.__all__})

# Where PyTorch has them, and pickles look for them.
activation.MultiheadAttention = attention.MultiheadAttention
for _name in more_pooling.__all__:
    getattr(more_pooling, _name).__module__ = pooling.__name__
    setattr(pooling, _name, getattr(more_pooling, _name))

__all__ = ["Module", *(name for family in _FAMILIES for name in family.__all__)]
