"""The gradients of convolutions as functions of their own."""

import ms_adapter.pytorch as torch


def _gradient(dims, wanted, input, weight, grad_output, options):
    """The gradient of an n-dimensional convolution for its input (``wanted`` 0) or its weight (1)."""
    operands = [input, weight]
    with torch.enable_grad():
        operands[wanted] = operands[wanted].detach().requires_grad_()
        output = getattr(torch.nn.functional, f"conv{dims}d")(*operands, None, *options)
    return torch.autograd.grad(output, operands[wanted], grad_output)[0]


def _input_function(dims):
    def conv_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
        options = (stride, padding, dilation, groups)
        return _gradient(dims, 0, weight.new_zeros(input_size), weight, grad_output, options)

    conv_input.__name__ = conv_input.__qualname__ = f"conv{dims}d_input"
    conv_input.__doc__ = f"The gradient of a conv{dims}d with respect to its input of size ``input_size``."
    return conv_input


def _weight_function(dims):
    def conv_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
        options = (stride, padding, dilation, groups)
        return _gradient(dims, 1, input, input.new_zeros(weight_size), grad_output, options)

    conv_weight.__name__ = conv_weight.__qualname__ = f"conv{dims}d_weight"
    conv_weight.__doc__ = f"The gradient of a conv{dims}d with respect to its weight of size ``weight_size``."
    return conv_weight


conv1d_input, conv2d_input, conv3d_input = map(_input_function, (1, 2, 3))
conv1d_weight, conv2d_weight, conv3d_weight = map(_weight_function, (1, 2, 3))
