"""Learning-rate schedulers: 200 steps of each, and their states, as PyTorch's."""

import copy
import sys
import warnings

import pytest


def swa(schedulers):
    """The swa_utils beside a module of schedulers."""
    return sys.modules[schedulers.__name__.replace("lr_scheduler", "swa_utils")]


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


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
    "CyclicLR": lambda s, o: s.CyclicLR(o, [0.1, 0.2], 0.9, 7, 5),
    "CyclicLR triangular2": lambda s, o: s.CyclicLR(o, 0.1, [0.5, 0.9], 6, mode="triangular2"),
    "CyclicLR exp_range": lambda s, o: s.CyclicLR(o, 0.1, 0.9, 6, mode="exp_range", gamma=0.99),
    "CyclicLR own": lambda s, o: s.CyclicLR(
        o, 0.1, 0.9, 6, scale_fn=lambda x: 1 / (1 + x), scale_mode="iterations", cycle_momentum=False
    ),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 9, 2, 0.01),
    "ChainedScheduler": lambda s, o: s.ChainedScheduler([s.LinearLR(o, 0.5), s.ExponentialLR(o, 0.9)]),
    "SWALR": lambda s, o: swa(s).SWALR(o, [0.05, 0.2], 20),
    "SWALR linear": lambda s, o: swa(s).SWALR(o, 0.05, 13, "linear"),
    "SequentialLR of cosines": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o), s.CosineAnnealingLR(o, 9), s.CosineAnnealingWarmRestarts(o, 5)], [4, 30]
    ),
    "SequentialLR": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.5, 1.0, 5), s.ExponentialLR(o, 0.9)], [5]
    ),
}


def make(t, name):
    params = [t.nn.Parameter(t.ones(1)) for _ in range(2)]
    groups = [{"params": params[0]}, {"params": params[1], "lr": 0.3}]
    optimizer = t.optim.SGD(groups, lr=0.7, momentum=0.9)
    return optimizer, SCHEDULERS[name](t.optim.lr_scheduler, optimizer)


def run(optimizer, scheduler, steps):
    trail = []
    for _ in range(steps):
        optimizer.step()
        scheduler.step()
        trail.append((scheduler.get_last_lr(), [group["momentum"] for group in optimizer.param_groups]))
    return trail


@pytest.mark.parametrize("name", list(SCHEDULERS))
def test_steps_and_state(nearly, name):
    def scenario(t):
        optimizer, scheduler = make(t, name)
        trail = [scheduler.get_last_lr(), *run(optimizer, scheduler, 199)]
        return trail, scheduler.state_dict(), type(scheduler).__module__.partition(".optim")[2]

    nearly(scenario)


@pytest.mark.parametrize("name", list(SCHEDULERS))
def test_state_goes_on(both, name):
    """Another scheduler with the state of the first gives the same rates from there."""

    def scenario(t):
        optimizer, scheduler = make(t, name)
        run(optimizer, scheduler, 30)
        saved = copy.deepcopy((optimizer.state_dict(), scheduler.state_dict()))
        want = run(optimizer, scheduler, 20)
        optimizer, scheduler = make(t, name)
        optimizer.load_state_dict(saved[0])
        scheduler.load_state_dict(saved[1])
        return run(optimizer, scheduler, 20) == want

    both(scenario)


def test_fractions_of_epochs(nearly):
    def scenario(t):
        trail = []
        for factor in (1, 2):
            optimizer = t.optim.SGD([t.nn.Parameter(t.ones(1))], lr=1.0)
            scheduler = t.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 4, factor)
            for i in range(60):
                scheduler.step(i / 3)
                trail.append((scheduler.get_last_lr(), scheduler.state_dict()))
        return trail

    nearly(scenario)


def test_errors(both):
    def scenario(t):
        s, o = t.optim.lr_scheduler, t.optim.SGD([t.nn.Parameter(t.ones(1))], lr=1.0)
        other = t.optim.SGD([t.nn.Parameter(t.ones(1))], lr=1.0)
        rprop = t.optim.Rprop([t.nn.Parameter(t.ones(1))])
        calls = [
            lambda: s.StepLR(3, 1),
            lambda: s.CosineAnnealingWarmRestarts(o, 0),
            lambda: s.CosineAnnealingWarmRestarts(o, 4.5),
            lambda: s.CosineAnnealingWarmRestarts(o, 4, 0),
            lambda: s.CosineAnnealingWarmRestarts(o, 4, eta_min="x"),
            lambda: s.CosineAnnealingWarmRestarts(o, 4).step(-1),
            lambda: s.ChainedScheduler([]),
            lambda: s.ChainedScheduler([s.StepLR(o, 3), s.StepLR(other, 3)]),
            lambda: s.CyclicLR(o, 0.1, 0.2, mode="x"),
            lambda: s.CyclicLR(o, [0.1, 0.2], 0.2),
            lambda: s.CyclicLR(rprop, 0.1, 0.2),
            lambda: swa(s).SWALR(o, 0.1, -1),
            lambda: swa(s).SWALR(o, 0.1, anneal_strategy="x"),
            lambda: swa(s).SWALR(o, [0.1, 0.2]),
            lambda: swa(s).get_ema_avg_fn(2.0),
            lambda: swa(s).AveragedModel(t.nn.Linear(1, 1), avg_fn=max, multi_avg_fn=max),
        ]
        trace = []
        for call in calls:
            try:
                trace.append(type(call()).__name__)
            except Exception as err:
                trace.append(type(err).__name__)
        return trace

    both(scenario)


def test_reduce_on_plateau(both):
    def scenario(t):
        optimizer = t.optim.SGD([t.nn.Parameter(t.ones(1))], lr=1.0)
        scheduler = t.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=2, cooldown=1, min_lr=0.001)
        trail = []
        for metric in [5, 4, 4, 4, 4, 4, 4, 4, 3, 3, 3, 3, 3, 3, 3, 3, 3]:
            scheduler.step(metric)
            trail.append(scheduler.get_last_lr())
        return trail, scheduler.state_dict()

    both(scenario)


def model_of(t):
    model = t.nn.Sequential(t.nn.Linear(2, 3), t.nn.BatchNorm1d(3), t.nn.Linear(3, 1)).double()
    for i, param in enumerate(model.parameters()):
        param.data = (t.arange(param.numel(), dtype=t.float64).reshape(param.shape) + i).sin()
    return model


AVERAGES = {
    "equal": lambda u: {},
    "equal buffers": lambda u: {"use_buffers": True},
    "function": lambda u: {"avg_fn": u.get_swa_avg_fn()},
    "ema": lambda u: {"avg_fn": u.get_ema_avg_fn(0.9)},
    "ema lists": lambda u: {"multi_avg_fn": u.get_ema_multi_avg_fn(0.9), "use_buffers": True},
}


@pytest.mark.parametrize("name", list(AVERAGES))
def test_averaged_model(nearly, name):
    def scenario(t):
        model, trace = model_of(t), []
        averaged = t.optim.swa_utils.AveragedModel(model, **AVERAGES[name](t.optim.swa_utils))
        for step in range(4):
            model(t.arange(8.0, dtype=t.float64).reshape(4, 2) * (step + 1))
            with t.no_grad():
                for param in model.parameters():
                    param.mul_(0.9).add_(step)
            averaged.update_parameters(model)
            trace.append({key: value.tolist() for key, value in averaged.state_dict().items()})
        return trace, repr(averaged), averaged(t.ones(2, 2, dtype=t.float64)).tolist()

    nearly(scenario)


def test_update_bn(nearly):
    def scenario(t):
        model = model_of(t).eval()
        batches = [(t.arange(8.0, dtype=t.float64).reshape(4, 2) * (i + 1)).cos() for i in range(3)]
        t.optim.swa_utils.update_bn([batches[0], [batches[1], "label"], (batches[2],)], model)
        t.optim.swa_utils.update_bn(batches, t.nn.Linear(2, 2))
        return {k: v.tolist() for k, v in model.state_dict().items()}, model.training, model[1].momentum

    nearly(scenario)
