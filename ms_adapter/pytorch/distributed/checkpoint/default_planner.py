"""Planners: how a state is cut for its files. In one process they say no more than these options."""

from ..._missing import attach

__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner"]


class DefaultSavePlanner:
    """Saves the whole state, nested mappings by path."""

    def __init__(
        self, flatten_state_dict=True, flatten_sharded_tensors=True, dedup_replicated_tensors=None,
        dedup_save_to_lowest_rank=False, enable_plan_caching=False,
    ):  # fmt: skip
        self.flatten_state_dict = flatten_state_dict


class DefaultLoadPlanner:
    """Loads what the state has a place for; ``allow_partial_load`` leaves alone what is not saved."""

    def __init__(self, flatten_state_dict=True, flatten_sharded_tensors=True, allow_partial_load=False):
        self.flatten_state_dict, self.allow_partial_load = flatten_state_dict, allow_partial_load


class _EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """Loads what is saved into a state that is empty; ``keys``: the names to load, or their beginnings."""

    def __init__(self, keys=None, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.keys = keys


attach(__name__)
