"""Optimizers and schedulers: numbers, states and groups as PyTorch's."""

import copy
import warnings

import pytest
import torch

import ms_adapter.pytorch as face

OPTIONS = {
    "SGD": [
        {"lr": 0.1},
        {"lr": 0.1, "momentum": 0.9},
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "weight_decay": 0.1, "maximize": True},
        {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
    ],
    "Adam": [
        {"lr": 0.1},
        {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3, "weight_decay": 0.1},
        {"lr": 0.1, "amsgrad": True, "maximize": True},
    ],
    "AdamW": [{"lr": 0.1}, {"lr": 0.1, "amsgrad": True, "weight_decay": 0.3}],
    "RMSprop": [{}, {"lr": 0.1, "momentum": 0.9, "centered": True, "weight_decay": 0.1}],
    "Adagrad": [{}, {"lr": 0.1, "lr_decay": 0.2, "initial_accumulator_value": 0.3, "maximize": True}],
    "Adadelta": [{}, {"lr": 0.5, "rho": 0.8, "weight_decay": 0.1, "maximize": True}],
    "Adamax": [{"lr": 0.1}, {"lr": 0.1, "weight_decay": 0.1, "maximize": True}],
    "NAdam": [{"lr": 0.1}, {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}],
    "RAdam": [{"lr": 0.1}, {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}],
    "ASGD": [{"lr": 0.1}, {"lr": 0.1, "t0": 2.0, "lambd": 0.1, "weight_decay": 0.1}],
    "Rprop": [{"lr": 0.1}, {"lr": 0.1, "etas": (0.4, 1.5), "maximize": True}],
}
CASES = [(name, options) for name, all_options in OPTIONS.items() for options in all_options]


def train(t, make, steps=7, dtype="float64"):
    """Parameters after each step, and the optimizer; the gradients are a fixed function of the parameters."""
    dtype = getattr(t, dtype)
    params = [
        t.nn.Parameter(t.tensor([[1.0, -2.0], [0.5, 2.5]], dtype=dtype)),
        t.nn.Parameter(t.ones(3, dtype=dtype)),
    ]
    optimizer, trail = make(t, params), []
    for _ in range(steps):
        for param in params:
            param.grad = (param * param * 0.3 - param).detach()
        optimizer.step()
        trail.append([param.detach().tolist() for param in params])
    return trail, optimizer


def close(got, want, dtype):
    """Equal but for the last bits: fused and plain multiply-adds differ there."""
    tolerance = 1e-6 if dtype == "float32" else 1e-14
    if isinstance(want, (list, tuple)):
        return len(got) == len(want) and all(close(g, w, dtype) for g, w in zip(got, want, strict=True))
    if isinstance(want, dict):
        return list(got) == list(want) and all(close(got[key], want[key], dtype) for key in want)
    if isinstance(want, float):
        return got == pytest.approx(want, rel=tolerance, abs=tolerance)
    return got == want


def plain_state(optimizer):
    state = optimizer.state_dict()
    values = {
        number: {key: value.tolist() for key, value in entry.items()}
        for number, entry in state["state"].items()
    }
    return values, state["param_groups"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "options"), CASES)
def test_steps_and_state(name, options, dtype):
    def scenario(t):
        trail, optimizer = train(t, lambda t, p: getattr(t.optim, name)(p, **options), dtype=dtype)
        return trail, plain_state(optimizer)

    assert close(scenario(face), scenario(torch), dtype)


def test_groups_and_repr(both):
    def scenario(t):
        a, b, c = (t.nn.Parameter(t.ones(1)) for _ in range(3))
        optimizer = t.optim.SGD([{"params": [a], "lr": 0.5}, {"params": b}], lr=0.1, momentum=0.2)
        optimizer.add_param_group({"params": [c], "momentum": 0.0})
        return repr(optimizer), plain_state(optimizer)

    both(scenario)


def test_named_parameters(both):
    def scenario(t):
        optimizer = t.optim.Adam(t.nn.Linear(1, 1).named_parameters())
        return optimizer.state_dict()["param_groups"]

    both(scenario)


def attempt(action):
    try:
        return action()
    except Exception as err:
        return type(err).__name__


def test_errors(both):
    def scenario(t):
        param = t.nn.Parameter(t.ones(1))
        calls = [
            lambda: t.optim.SGD([]),
            lambda: t.optim.SGD(param),
            lambda: t.optim.SGD([3]),
            lambda: t.optim.SGD([param], lr=-1.0),
            lambda: t.optim.SGD([param], momentum=-1.0),
            lambda: t.optim.SGD([param], nesterov=True),
            lambda: t.optim.SGD([param * 2]),
            lambda: t.optim.SGD([{"params": [param]}, {"params": [param]}]),
            lambda: t.optim.SGD([{"params": {param}}]),
            lambda: t.optim.Adam([param], betas=(1.0, 0.9)),
            lambda: t.optim.Adam([param], eps=-1.0),
            lambda: t.optim.Adam([param], fused=True, foreach=True),
            lambda: t.optim.SGD([param], fused=True, differentiable=True),
            lambda: t.optim.SGD([param]).load_state_dict({"state": {}, "param_groups": []}),
        ]
        return [attempt(call) for call in calls]

    both(scenario)


def test_state_travels_between_the_two():
    def make(t, p):
        return t.optim.Adam(p, lr=0.1)

    _, theirs = train(torch, make)
    trail, ours = train(face, make, steps=1)
    saved = copy.deepcopy(theirs.state_dict())
    for entry in saved["state"].values():
        for key, value in entry.items():
            entry[key] = face.from_numpy(value.numpy()) if value.dim() else face.tensor(float(value))
    ours.load_state_dict(saved)
    assert plain_state(ours) == plain_state(theirs)


def test_step_hooks_and_closure(both):
    def scenario(t):
        param, trace = t.nn.Parameter(t.ones(1)), []
        optimizer = t.optim.SGD([param], lr=0.5)
        optimizer.register_step_pre_hook(lambda o, a, k: trace.append(("pre", len(a), k)))
        optimizer.register_step_post_hook(lambda o, a, k: trace.append("post"))

        def closure():
            optimizer.zero_grad()
            loss = (param * 2).sum()
            loss.backward()
            trace.append(param.grad.tolist())
            return loss

        trace.append(optimizer.step(closure).item())
        trace.append(param.tolist())
        optimizer.zero_grad(set_to_none=False)
        trace.append(param.grad.tolist())
        optimizer.zero_grad()
        return trace, param.grad

    both(scenario)


def test_state_dict_hooks(both):
    def scenario(t):
        param, trace = t.nn.Parameter(t.ones(1)), []
        optimizer = t.optim.SGD([param], lr=0.5)
        optimizer.register_state_dict_pre_hook(lambda o: trace.append("save"))
        optimizer.register_state_dict_post_hook(lambda o, sd: {**sd, "extra": 1})
        optimizer.register_load_state_dict_pre_hook(lambda o, sd: trace.append(sorted(sd)))
        optimizer.register_load_state_dict_post_hook(lambda o: trace.append("loaded"))
        optimizer.load_state_dict(optimizer.state_dict())
        return trace

    both(scenario)


SCHEDULERS = {
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda epoch: 0.95**epoch),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, lambda epoch: 0.97),
    "StepLR": lambda s, o: s.StepLR(o, 7, 0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [3, 10, 10, 40], 0.5),
    "ConstantLR": lambda s, o: s.ConstantLR(o, 0.25, 6),
    "LinearLR": lambda s, o: s.LinearLR(o, 0.1, 0.9, 12),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.98),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, 20, 2.0),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 17, 0.01),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, [1.0, 0.5], total_steps=200),
    "OneCycleLR three phases": lambda s, o: s.OneCycleLR(
        o, 1.0, epochs=20, steps_per_epoch=10, three_phase=True, anneal_strategy="linear"
    ),
    "SequentialLR": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.5, 1.0, 5), s.ExponentialLR(o, 0.9)], [5]
    ),
}


@pytest.mark.parametrize("name", list(SCHEDULERS))
def test_scheduler(both, name):
    def scenario(t):
        params = [t.nn.Parameter(t.ones(1)) for _ in range(2)]
        groups = [{"params": params[0]}, {"params": params[1], "lr": 0.3}]
        optimizer = t.optim.SGD(groups, lr=0.7, momentum=0.9)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scheduler = SCHEDULERS[name](t.optim.lr_scheduler, optimizer)
            trail = [scheduler.get_last_lr()]
            for _ in range(199):
                optimizer.step()
                scheduler.step()
                trail.append(scheduler.get_last_lr())
        return trail, [group["momentum"] for group in optimizer.param_groups]

    both(scenario)


def test_reduce_on_plateau(both):
    def scenario(t):
        optimizer = t.optim.SGD([t.nn.Parameter(t.ones(1))], lr=1.0)
        scheduler = t.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=2, cooldown=1, min_lr=0.001)
        trail = []
        for metric in [5, 4, 4, 4, 4, 4, 4, 4, 3, 3, 3, 3, 3, 3, 3, 3, 3]:
            scheduler.step(metric)
            trail.append(scheduler.get_last_lr())
        return trail

    both(scenario)
