"""Decorators of functions that would write operators to ONNX: nothing calls these, so they stay."""

__all__ = ["parse_args", "quantized_args"]


def parse_args(*arg_descriptors):
    """A decorator that leaves the function as it is."""
    return lambda function: function


quantized_args = parse_args
