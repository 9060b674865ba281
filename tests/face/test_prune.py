"""Pruning: masks, hooks and states as PyTorch's, drawn from the same random stream."""

import pytest
import torch.nn.utils.prune  # noqa: F401 - PyTorch does not import it by itself


def linear(t):
    layer = t.nn.Linear(4, 6)
    with t.no_grad():
        for i, param in enumerate(layer.parameters()):
            param.copy_((t.arange(param.numel()).reshape(param.shape) + i + 1.0).sin())
    return layer


def seen(module):
    names = [name for name, _ in module.named_parameters()]
    hooks = [type(hook).__name__ for hook in module._forward_pre_hooks.values()]
    return (
        names,
        hooks,
        {key: value.tolist() for key, value in module.state_dict().items()},
        module.weight.tolist(),
    )


METHODS = {
    "identity": lambda p, m: p.identity(m, "weight"),
    "random share": lambda p, m: p.random_unstructured(m, "weight", 0.3),
    "random count": lambda p, m: p.random_unstructured(m, "weight", 5),
    "l1": lambda p, m: p.l1_unstructured(m, "weight", 0.4),
    "l1 none": lambda p, m: p.l1_unstructured(m, "weight", 0),
    "l1 scores": lambda p, m: p.l1_unstructured(m, "weight", 7, importance_scores=m.weight.detach().cos()),
    "random channels": lambda p, m: p.random_structured(m, "weight", 2, dim=0),
    "ln channels": lambda p, m: p.ln_structured(m, "weight", 0.5, n=2, dim=1),
    "ln last": lambda p, m: p.ln_structured(m, "weight", 1, n=float("inf"), dim=-1),
    "mask": lambda p, m: p.custom_from_mask(m, "weight", m.weight.detach() > 0),
    "twice": lambda p, m: p.l1_unstructured(p.l1_unstructured(m, "weight", 0.25), "weight", 0.5),
    "channels then elements": lambda p, m: p.l1_unstructured(
        p.ln_structured(m, "weight", 2, 2, 0), "weight", 5
    ),
    "elements then channels": lambda p, m: p.ln_structured(
        p.l1_unstructured(m, "weight", 5), "weight", 2, 1, 0
    ),
    "three": lambda p, m: p.random_structured(
        p.random_unstructured(p.l1_unstructured(m, "weight", 3), "weight", 0.2), "weight", 1, 1
    ),
}


@pytest.mark.parametrize("name", list(METHODS))
def test_methods(nearly, name):
    def scenario(t):
        t.manual_seed(1)
        prune, module = t.nn.utils.prune, linear(t)
        METHODS[name](prune, module)
        trace = [seen(module), prune.is_pruned(t.nn.Sequential(module))]
        with t.no_grad():
            module.weight_orig.mul_(2)
        module(t.ones(2, 4)).sin().sum().backward()
        trace += [module.weight.tolist(), module.weight_orig.grad.tolist()]
        prune.remove(module, "weight")
        return [*trace, seen(module), prune.is_pruned(module), isinstance(module.weight, t.nn.Parameter)]

    nearly(scenario, 1e-6)


def test_global(nearly):
    def scenario(t):
        prune = t.nn.utils.prune
        first, second = linear(t), linear(t)
        pairs = [(first, "weight"), (first, "bias"), (second, "weight")]
        prune.global_unstructured(pairs, prune.L1Unstructured, amount=0.4)
        prune.global_unstructured(pairs[1:], prune.RandomUnstructured, amount=3)
        return [
            module.state_dict()[f"{name}_mask"].sum().item() for module, name in pairs
        ], first.weight.tolist()

    nearly(scenario, 1e-6)


def test_methods_on_tensors(nearly):
    def scenario(t):
        prune = t.nn.utils.prune
        x = (t.arange(12.0) + 1).sin().reshape(3, 4)
        container = prune.PruningContainer()
        container._tensor_name = "x"
        method = prune.L1Unstructured(amount=4)
        method._tensor_name = "x"
        container.add_pruning_method(method)
        return (
            method.prune(x).tolist(),
            method.prune(x, importance_scores=-x.abs()).tolist(),
            container.compute_mask(x, (x > 0).float()).tolist(),
            (len(container), list(container) == [method], container[0] is method),
        )

    nearly(scenario, 1e-6)


def test_errors(both):
    def scenario(t):
        prune = t.nn.utils.prune
        calls = [
            lambda: prune.l1_unstructured(linear(t), "weight", amount="x"),
            lambda: prune.l1_unstructured(linear(t), "weight", amount=1.5),
            lambda: prune.l1_unstructured(linear(t), "weight", amount=-1),
            lambda: prune.l1_unstructured(linear(t), "weight", amount=100),
            lambda: prune.ln_structured(linear(t), "bias", 1, 2, 0),
            lambda: prune.ln_structured(linear(t), "weight", 1, 2, 3),
            lambda: prune.remove(linear(t), "weight"),
            lambda: prune.custom_from_mask(linear(t), "weight", t.ones(2)),
            lambda: prune.global_unstructured([(linear(t), "weight")], prune.LnStructured, amount=1, n=2),
            lambda: prune.global_unstructured(3, prune.L1Unstructured, amount=1),
            lambda: prune.PruningContainer().add_pruning_method(3),
        ]
        trace = []
        for call in calls:
            with pytest.raises((TypeError, ValueError, IndexError, AssertionError)) as caught:
                call()
            trace.append(caught.type.__name__)
        return trace

    both(scenario)
