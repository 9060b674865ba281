"""Folding a batch norm, in evaluation mode, into the layer before it."""

import copy

import ms_adapter.pytorch as torch

from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _fused(weight, bias, running_mean, running_var, eps, bn_weight, bn_bias, outputs):
    """Weight and bias with the norm's scale and shift in them, along dimension ``outputs`` of the weight."""
    bias = torch.zeros_like(running_mean) if bias is None else bias
    bn_weight = torch.ones_like(running_mean) if bn_weight is None else bn_weight
    bn_bias = torch.zeros_like(running_mean) if bn_bias is None else bn_bias
    scale = bn_weight * torch.rsqrt(running_var + eps)
    shape = [1] * weight.dim()
    shape[outputs] = -1
    new_weight = (weight * scale.reshape(shape)).to(weight.dtype)
    new_bias = ((bias - running_mean) * scale + bn_bias).to(bias.dtype)
    return Parameter(new_weight, weight.requires_grad), Parameter(new_bias, bias.requires_grad)


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    """Weight and bias of the convolution that does what a convolution and a batch norm do."""
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 1 if transpose else 0)


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """Weight and bias of the linear layer that does what a linear layer and a batch norm do."""
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0)


def _fuse(layer, bn, outputs):
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    fused = copy.deepcopy(layer)
    statistics = (bn.running_mean, bn.running_var, bn.eps)
    fused.weight, fused.bias = _fused(fused.weight, fused.bias, *statistics, bn.weight, bn.bias, outputs)
    return fused


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """A convolution that does what ``conv`` and then ``bn`` do; both must be in evaluation mode.

    >>> import ms_adapter.pytorch as torch
    >>> conv, bn = torch.nn.Conv2d(1, 2, 3).eval(), torch.nn.BatchNorm2d(2).eval()
    >>> x = torch.randn(1, 1, 5, 5)
    >>> fused = torch.nn.utils.fuse_conv_bn_eval(conv, bn)
    >>> bool((fused(x) - bn(conv(x))).abs().max() < 1e-5)
    True
    """
    return _fuse(conv, bn, 1 if transpose else 0)


def fuse_linear_bn_eval(linear, bn):
    """A linear layer that does what ``linear`` and then ``bn`` do; both must be in evaluation mode."""
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    return _fuse(linear, bn, 0)
