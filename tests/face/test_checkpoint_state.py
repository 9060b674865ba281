"""torch.distributed.checkpoint.state_dict in one process: the module's own state, strictly or not."""

import pytest
import torch.distributed.checkpoint.state_dict  # noqa: F401 - PyTorch does not import it by itself

import ms_adapter.pytorch.distributed.checkpoint.state_dict  # noqa: F401


def scenario_of(t, strict):
    states = t.distributed.checkpoint.state_dict
    options = states.StateDictOptions(strict=strict)
    model = t.nn.Linear(2, 1)
    state = {"weight": t.ones(1, 2), "bias": t.zeros(1)} | ({} if strict else {"more": t.ones(1)})
    result = states.set_model_state_dict(model, state, options=options)
    found = states.get_model_state_dict(model, options=options)
    return {k: v.tolist() for k, v in found.items()}, list(result.missing_keys), list(result.unexpected_keys)


@pytest.mark.parametrize("strict", [True, False])
def test_set_and_get(both, strict):
    both(lambda t: scenario_of(t, strict))


def test_frozen_parameters_can_be_left_out(both):
    def scenario(t):
        states = t.distributed.checkpoint.state_dict
        model = t.nn.Linear(2, 1)
        model.weight.requires_grad_(False)
        options = states.StateDictOptions(ignore_frozen_params=True)
        return list(states.get_model_state_dict(model, options=options))

    both(scenario)


def test_states_of_optimizers_go_by_names_of_parameters(both):
    def scenario(t):
        states = t.distributed.checkpoint.state_dict
        model = t.nn.Linear(2, 1)
        optimizer = t.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
        found = states.get_optimizer_state_dict(model, optimizer)
        return sorted(found["state"]), [group["params"] for group in found["param_groups"]]

    both(scenario)
