"""Checkpoints that keep the results of some operators and compute only the others again."""

import enum

SAC_IGNORED_OPS = set()  # operators that policies are not asked about


class CheckpointPolicy(enum.Enum):
    """What becomes of an operator's results: kept or computed again, by must or by preference."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3


class SelectiveCheckpointContext:
    """What a policy is told besides the operator: whether this is the second run."""

    def __init__(self, *, is_recompute):
        self.is_recompute = is_recompute


def create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation=False):
    """Contexts for ``checkpoint(context_fn=...)``; not supported yet."""
    raise NotImplementedError(
        "create_selective_checkpoint_contexts: not supported yet: modes see operators before their gradients "
        "are recorded here; torch.utils.checkpoint.checkpoint computes all of a function again."
    )
