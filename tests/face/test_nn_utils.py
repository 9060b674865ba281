"""Fusing, calling with other tensors, making without initialising, memory formats."""

import warnings

import pytest


def filled(t, module):
    module = module.double().eval()
    with t.no_grad():
        for i, tensor in enumerate(module.state_dict().values()):
            if tensor.is_floating_point():
                tensor.copy_(
                    (t.arange(1.0, tensor.numel() + 1).double().reshape(tensor.shape) + i).sin().abs() + 0.1
                )
    return module


@pytest.mark.parametrize("bias", [True, False])
def test_fusion(nearly, bias):
    def scenario(t):
        utils, trace = t.nn.utils, []
        conv, conv_norm = filled(t, t.nn.Conv2d(2, 4, 3, bias=bias)), filled(t, t.nn.BatchNorm2d(4))
        x = t.arange(50.0, dtype=t.float64).reshape(1, 2, 5, 5).sin()
        turned, turned_norm = (
            filled(t, t.nn.ConvTranspose2d(2, 3, 3, bias=bias)),
            filled(t, t.nn.BatchNorm2d(3)),
        )
        linear = filled(t, t.nn.Linear(4, 6, bias=bias))
        plain_norm = filled(t, t.nn.BatchNorm1d(6))
        cases = [
            (utils.fuse_conv_bn_eval(conv, conv_norm), lambda: conv_norm(conv(x)), x),
            (utils.fuse_conv_bn_eval(turned, turned_norm, transpose=True), lambda: turned_norm(turned(x)), x),
            (
                utils.fuse_linear_bn_eval(linear, plain_norm),
                lambda: plain_norm(linear(x[0, 0, :4, :4])),
                x[0, 0, :4, :4],
            ),
        ]
        for fused, apart, given in cases:
            assert (fused(given) - apart()).abs().max() < 1e-12
            trace.append((repr(fused), {k: v.tolist() for k, v in fused.state_dict().items()}))
        with pytest.raises(AssertionError):
            utils.fuse_conv_bn_eval(conv.train(), conv_norm)
        return trace

    nearly(scenario)


def test_functional_call(nearly):
    def scenario(t):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return run(t)

    def run(t):
        call, trace = t.nn.utils.stateless.functional_call, []
        net = filled(t, t.nn.Sequential(t.nn.Linear(2, 3), t.nn.BatchNorm1d(3), t.nn.Linear(3, 1))).train()
        net[2].again = net[2].weight
        x = t.arange(8.0, dtype=t.float64).reshape(4, 2)
        weight = t.full((3, 2), 0.5, dtype=t.float64, requires_grad=True)
        mean = t.zeros(3, dtype=t.float64)
        given = {"0.weight": weight, "1.running_mean": mean}
        output = call(net, given, x)
        output.sin().sum().backward()
        trace += [output.tolist(), weight.grad.tolist(), mean.tolist(), net[0].weight.grad is None]
        trace += [net[0].weight.tolist(), net[1].running_mean.tolist()]
        tied = t.ones(1, 3, dtype=t.float64)
        trace += [call(net, {"2.again": tied}, (x,)).tolist(), net[2].weight is net[2].again]
        trace.append(call(net, {"2.again": tied}, (x,), tie_weights=False).tolist())
        wrong = [
            lambda: call(net, {"0.weight": weight}, x, strict=True),
            lambda: call(net, {"2.weight": tied, "2.again": tied * 2}, x),
            lambda: call(net, {"7.weight": tied}, x),
            lambda: call(net, {"0.weight": tied}, x[:, :1]),
        ]
        for action in wrong:
            with pytest.raises((RuntimeError, ValueError, AttributeError)) as caught:
                action()
            trace.append(caught.type.__name__)
        return [*trace, net[0].weight.tolist()]

    nearly(scenario)


def test_skip_init_and_memory_formats(both):
    def scenario(t):
        before = t.manual_seed(3).get_state().tolist()
        layer = t.nn.utils.skip_init(t.nn.Linear, 3, 2, bias=False)
        trace = [repr(layer), str(layer.weight.device), t.get_rng_state().tolist() == before]
        with pytest.raises(RuntimeError):
            t.nn.utils.skip_init(dict)
        with pytest.raises(RuntimeError):
            t.nn.utils.skip_init(t.nn.ReLU)
        net = t.nn.Sequential(t.nn.Conv2d(2, 4, 3), t.nn.Linear(2, 2), t.nn.Conv3d(2, 4, 3))
        t.nn.utils.convert_conv2d_weight_memory_format(net, t.channels_last)
        t.nn.utils.convert_conv3d_weight_memory_format(net, t.channels_last_3d)
        return trace, [tuple(module.weight.stride()) for module in net]

    both(scenario)
