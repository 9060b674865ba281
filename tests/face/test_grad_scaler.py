"""GradScaler: scales, skipped steps and states as PyTorch's."""

import copy
import pickle

import pytest
import torch

import ms_adapter.pytorch as face


def trained(t, **options):
    """A training in which one loss and one gradient are infinite: scales, parameters, the final state."""
    t.manual_seed(0)
    model = t.nn.Linear(3, 2).double()
    optimizer = t.optim.Adam(model.parameters(), lr=0.1)
    scaler = t.amp.GradScaler("cpu", init_scale=64.0, growth_interval=3, **options)
    trail = []
    for step in range(12):
        optimizer.zero_grad()
        loss = (model(t.randn(4, 3).double()) ** 2).mean()
        if step == 4:
            loss = loss * float("inf")
        scaler.scale(loss).backward()
        if step == 7:
            model.weight.grad[0, 0] = float("nan")
        if step % 2:
            scaler.unscale_(optimizer)
            norm = t.nn.utils.clip_grad_norm_(model.parameters(), 0.5).item()
            trail.append(norm if norm == norm else "nan")
        result = scaler.step(optimizer)
        scaler.update()
        trail += [result is None, scaler.get_scale(), model.weight.detach().tolist()]
    return trail, scaler.state_dict()


def test_training_with_an_infinite_gradient(nearly):
    nearly(trained, 1e-9)
    nearly(lambda t: trained(t, growth_factor=4.0, backoff_factor=0.25), 1e-9)


def test_disabled(nearly):
    nearly(lambda t: trained(t, enabled=False), 1e-9)


def test_several_losses_and_optimizers(nearly):
    def scenario(t):
        a, b = t.nn.Parameter(t.ones(2)), t.nn.Parameter(t.ones(2))
        optimizers = [t.optim.SGD([p], lr=0.1) for p in (a, b)]
        scaler = t.amp.GradScaler("cpu", init_scale=4.0)
        first, (second,) = scaler.scale([(a * b).sum(), [(a + b).sum()]])
        first.backward(retain_graph=True)
        second.backward()
        b.grad[1] = float("inf")
        found = [scaler._check_inf_per_device(o) for o in optimizers]
        for optimizer in optimizers:
            scaler.step(optimizer)
        scaler.update()
        return a.tolist(), b.tolist(), scaler.get_scale(), [v.item() for f in found for v in f.values()]

    nearly(scenario)


def test_misuse(both):
    def scenario(t):
        scaler = t.amp.GradScaler("cpu")
        p = t.nn.Parameter(t.ones(2))
        half = t.nn.Parameter(t.ones(2).half())
        half.grad = t.ones(2).half()
        optimizer = t.optim.SGD([p], lr=0.1)
        kinds = []

        def attempt(call):
            try:
                call()
                kinds.append(None)
            except (RuntimeError, AssertionError, ValueError) as err:
                kinds.append(type(err).__name__)

        attempt(lambda: scaler.step(optimizer))
        attempt(scaler.update)
        attempt(lambda: scaler.unscale_(optimizer))
        scaler.scale(p.sum()).backward()
        attempt(lambda: scaler.unscale_(t.optim.SGD([half], lr=0.1)))
        attempt(lambda: pickle.dumps(scaler))
        attempt(lambda: scaler.step(t.optim.SGD([t.nn.Parameter(t.ones(2))], lr=0.1)))
        scaler.update(2.0)
        kinds.append(scaler.get_scale())
        scaler.unscale_(optimizer)
        attempt(lambda: scaler.unscale_(optimizer))
        attempt(lambda: scaler.step(optimizer, closure=lambda: 0))
        scaler.step(optimizer)
        attempt(lambda: scaler.step(optimizer))
        attempt(lambda: scaler.unscale_(optimizer))
        attempt(lambda: scaler.load_state_dict({}))
        attempt(lambda: scaler.update(t.ones(2)))
        attempt(lambda: t.amp.GradScaler("cpu", growth_factor=1.0))
        attempt(lambda: t.amp.GradScaler("cpu", backoff_factor=1.0))
        return kinds

    both(scenario)


def test_states_travel(both):
    def scenario(t):
        scaler = t.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
        p = t.nn.Parameter(t.ones(1))
        optimizer = t.optim.SGD([p], lr=0.1)

        def step(scaler):
            scaler.scale(p.sum()).backward()
            scaler.step(optimizer)
            scaler.update()

        step(scaler)
        copies = [pickle.loads(pickle.dumps(scaler)) if t is torch else copy.deepcopy(scaler)]
        other = t.amp.GradScaler("cpu")
        other.load_state_dict(scaler.state_dict())
        copies.append(other)
        for each in copies:
            step(each)
        return [each.state_dict() for each in copies]

    both(scenario)


def test_an_optimizer_that_scales_itself(both):
    def scenario(t):
        seen = []

        class Own(t.optim.SGD):
            _step_supports_amp_scaling = True

            def step(self, closure=None):
                scale = getattr(self, "grad_scale", "absent")
                seen.append((scale if scale is None else scale.item(), self.found_inf.item()))

        p = t.nn.Parameter(t.ones(2))
        optimizer, scaler = Own([p], lr=0.1), t.amp.GradScaler("cpu", init_scale=4.0)
        for unscaled in (False, True):
            scaler.scale(p.sum()).backward()
            if unscaled:
                scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
        return seen, hasattr(optimizer, "found_inf")

    both(scenario)


def test_the_two_operators(both):
    def scenario(t):
        out = []
        scale, tracker = t.tensor([4.0]), t.tensor([0], dtype=t.int32)
        for found in (0.0, 0.0, 0.0, 0.0, 1.0, 0.0):
            same = t._amp_update_scale_(scale, tracker, t.tensor([found]), 2.0, 0.5, 3)
            out.append((scale.item(), tracker.item(), same is scale))
        scale.fill_(3e38)
        tracker.fill_(2)
        t._amp_update_scale_(scale, tracker, t.tensor([0.0]), 2.0, 0.5, 3)
        out.append((scale.item(), tracker.item()))
        for bad in (1.0, float("inf"), float("nan")):
            grads = [t.tensor([1.0, bad]), t.tensor([2.0]).double(), t.tensor([3.0]).half(), t.empty(0)]
            found = t.zeros(1)
            t._amp_foreach_non_finite_check_and_unscale_(grads, found, t.tensor([0.3]))
            out += [found.item(), *(str(g.tolist()) for g in grads)]
        with pytest.raises(RuntimeError):
            t._amp_foreach_non_finite_check_and_unscale_([t.ones(1)], t.zeros(2), t.tensor([0.5]))
        return out

    both(scenario)


def test_without_cuda_it_is_off():
    for t in (torch, face):
        with pytest.warns(UserWarning):
            scaler = t.amp.GradScaler()
        assert not scaler.is_enabled() and scaler.get_scale() == 1.0 and scaler.state_dict() == {}
