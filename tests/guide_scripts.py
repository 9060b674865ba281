"""Scripts as MSAdapter's guide writes them; each checks itself against the same loop in PyTorch's way.

`python guide_scripts.py torch-first|mindspore-first` runs them with MindSpore's own package, which is
imported after or before ours; `ours` runs them with `ms_adapter.mindspore` alone.
"""

from __future__ import annotations

import sys
import traceback

FIRST = """
import numpy as np
import ms_adapter.pytorch as torch
import ms_adapter.pytorch.nn as nn
from ms_adapter.pytorch.utils.data import DataLoader, TensorDataset

class config_args:
    device, epochs = "cpu", 2

class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.phase = "a name of the user's"
        self.conv, self.bn, self.fc = nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Linear(4 * 16, 5)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.bn(self.conv(x))), 2)
        return self.fc(torch.flatten(x, 1))

def setting(device="cpu"):
    torch.manual_seed(0)
    net = LeNet().to(device)
    data = TensorDataset(torch.randn(16, 1, 8, 8), torch.randint(0, 5, (16,)))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=0.0005)
    return net, DataLoader(data, batch_size=4), nn.CrossEntropyLoss(), optimizer

def pytorch_way(device="cpu"):
    net, train_data, criterion, optimizer = setting(device)
    net.train()
    losses = []
    for i in range(config_args.epochs):
        for X, y in train_data:
            loss = criterion(net(X.to(device)), y.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss))
    return losses
"""

SCRIPTS = {
    "value_and_grad": """
        net, train_data, criterion, optimizer = setting()

        def forward_fn(data, label):
            logits = net(data)
            loss = criterion(logits, label)
            return loss, logits

        grad_fn = ms.ops.value_and_grad(forward_fn, None, optimizer.parameters, has_aux=True)

        def train_step(data, label):
            (loss, _), grads = grad_fn(data, label)
            optimizer(grads)
            return loss

        net.train()
        losses = []
        for i in range(config_args.epochs):
            for X, y in train_data:
                X, y = X.to(config_args.device), y.to(config_args.device)
                res = train_step(X, y)
                losses.append(float(res.asnumpy()))
        assert losses == pytorch_way() and net.phase == "a name of the user's"
    """,
    "cells_and_checkpoint": """
        net, train_data, criterion, optimizer = setting()
        net.train()
        loss_net = ms.nn.WithLossCell(net, criterion)
        train_net = ms.nn.TrainOneStepCell(loss_net, optimizer)
        losses = []
        for i in range(config_args.epochs):
            for X, y in train_data:
                res = train_net(X, y)
                losses.append(float(res.asnumpy()))
        assert losses == pytorch_way()
        path = os.path.join(tempfile.mkdtemp(), "save_path.ckpt")
        ms.save_checkpoint(net, path)
        again = LeNet()
        missing, extra = ms.load_param_into_net(again, ms.load_checkpoint(path))
        assert not missing and not extra
        assert all(torch.equal(a, b) for a, b in zip(net.state_dict().values(), again.state_dict().values()))
    """,
    "model": """
        for sink in (False, True):
            net, train_data, criterion, optimizer = setting()
            losses = []

            class Watch(ms.train.Callback):
                def step_end(self, run_context):
                    losses.append(float(run_context.original_args().net_outputs.asnumpy()))

            model = ms.Model(net, criterion, optimizer, metrics={"accuracy"})
            folder = tempfile.mkdtemp()
            config = ms.train.CheckpointConfig(save_checkpoint_steps=3, keep_checkpoint_max=2)
            saver = ms.train.ModelCheckpoint(prefix="lenet", directory=folder, config=config)
            callbacks = [Watch(), ms.train.LossMonitor(100), ms.train.TimeMonitor(), saver]
            model.train(config_args.epochs, train_data, callbacks=callbacks, dataset_sink_mode=sink)
            assert losses == pytorch_way()
            assert model.eval(train_data)["accuracy"] >= 0
            assert sorted(os.listdir(folder)) == ["lenet-2_2.ckpt", "lenet-2_4.ckpt"]
            saved = ms.load_checkpoint(os.path.join(folder, "lenet-2_4.ckpt"))
            np.testing.assert_array_equal(saved["fc.weight"].asnumpy(), net.fc.weight.asnumpy())
            fitted = ms.Model(*(setting()[i] for i in (0, 2)), torch.optim.SGD(net.parameters(), lr=0.1))
            fitted.fit(1, train_data, train_data, callbacks=[])
    """,
    "model_amp": """
        for level in ("O0", "O1", "O2", "O3", "auto"):
            net, train_data, criterion, optimizer = setting()
            losses = []

            class Watch(ms.train.Callback):
                def on_train_step_end(self, run_context):
                    found = run_context.original_args().net_outputs
                    losses.append(float(found[0] if isinstance(found, tuple) else found))

            model = ms.Model(net, criterion, optimizer, amp_level=level, loss_scale_manager=None)
            model.train(config_args.epochs, train_data, callbacks=Watch())
            assert all(p.dtype == torch.float32 for p in net.parameters())
            np.testing.assert_allclose(losses, pytorch_way(), rtol=0 if level == "O0" else 2e-2)
            assert level == "O0" or losses != pytorch_way()
    """,
    "loss_scale": """
        for scaler in (ms.amp.StaticLossScaler(1024), ms.amp.DynamicLossScaler(2**16, 2, 3)):
            net, train_data, criterion, optimizer = setting()

            def forward_fn(data, label):
                logits = net(data)
                return scaler.scale(criterion(logits, label)), logits

            grad_fn = ms.value_and_grad(forward_fn, None, optimizer.parameters, has_aux=True)
            losses = []
            for i in range(config_args.epochs):
                for X, y in train_data:
                    (loss, _), grads = grad_fn(X, y)
                    loss = scaler.unscale(loss)
                    is_finite = ms.amp.all_finite(grads)
                    if is_finite:
                        grads = scaler.unscale(grads)
                        optimizer(grads)
                    scaler.adjust(is_finite)
                    losses.append(float(loss))
            assert losses == pytorch_way()
    """,
    "mixed_precision_step": """
        net, train_data, criterion, optimizer = setting()
        net = ms.amp.auto_mixed_precision(net, "O2")
        seen = []
        net.bn.register_forward_hook(lambda m, args, out: seen.append((args[0].dtype, out.dtype)))
        out = net(torch.ones(2, 1, 8, 8))
        assert out.dtype == torch.float32 and net.conv.weight.dtype == torch.float32
        assert seen == [(torch.float32, torch.float16)]
        out.sum().backward()
        assert net.conv.weight.grad.dtype == torch.float32
        step = ms.amp.build_train_network(setting()[0], optimizer, criterion, level="O3")
        assert step(*next(iter(train_data))).dtype == torch.float32
    """,
    "loss_scale_manager": """
        net, train_data, criterion, optimizer = setting()
        model = ms.Model(net, criterion, optimizer, loss_scale_manager=ms.amp.FixedLossScaleManager(1024.0))
        losses = []

        class Watch(ms.train.Callback):
            def on_train_step_end(self, run_context):
                loss, overflow, scale = run_context.original_args().net_outputs
                assert not overflow and float(scale) == 1024
                losses.append(float(loss))

        model.train(config_args.epochs, train_data, callbacks=[Watch()])
        assert losses == pytorch_way()
    """,
    "data_sink": """
        net, train_data, criterion, optimizer = setting()
        train_net = ms.nn.TrainOneStepCell(ms.nn.WithLossCell(net, criterion), optimizer)
        sink_process = ms.data_sink(train_net, train_data, sink_size=2)
        losses = [float(sink_process().asnumpy()) for _ in range(4)]
        assert losses == pytorch_way()[1::2]
    """,
    "bprop": """
        class TenTimes(nn.Module):
            def forward(self, x, y):
                return x * y

            def bprop(self, x, y, out, dout):
                return dout * 10, out + y

        class Doubled(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                return grad * 7

        net, x, y = TenTimes(), torch.tensor([2.0]), torch.tensor([3.0])
        found = ms.grad(lambda a, b: net(a, b).sum(), (0, 1))(x, y)
        assert [float(g.asnumpy()[0]) for g in found] == [10.0, 9.0]
        assert float(ms.ops.grad(lambda a: Doubled.apply(a).sum())(x).asnumpy()[0]) == 7.0
    """,
    "context": """
        for mode in (ms.GRAPH_MODE, ms.PYNATIVE_MODE):
            ms.set_context(mode=mode, device_target="CPU")
            assert ms.get_context("mode") == mode
            x, w = torch.tensor([2.0]), nn.Parameter(torch.tensor([3.0]))
            value, (of_x, of_w) = ms.value_and_grad(lambda a: (a * w).sum(), 0, [w])(x)
            assert (float(value), float(of_x), float(of_w[0])) == (6.0, 3.0, 2.0)
    """,
}


def run(package: str, order: str = "torch-first") -> dict[str, str]:
    """The scripts that failed, with their tracebacks; `package` is imported as `ms`."""
    import textwrap

    first = f"import os, tempfile\nimport {package} as ms\n"
    space: dict[str, object] = {}
    exec(FIRST + first if order == "torch-first" else first + FIRST, space)
    failed = {}
    for name, source in SCRIPTS.items():
        try:
            exec(compile(textwrap.dedent(source), name, "exec"), dict(space))
        except Exception:
            failed[name] = traceback.format_exc()
    return failed


if __name__ == "__main__":
    order = sys.argv[1]
    failures = run("ms_adapter.mindspore" if order == "ours" else "mindspore", order)
    print(*(f"== {name}\n{text}" for name, text in failures.items()), sep="\n")
    sys.exit(bool(failures))
