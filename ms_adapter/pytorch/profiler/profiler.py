"""torch.profiler.profiler: where PyTorch has what torch.profiler gives."""

from . import (
    ProfilerAction,
    _default_schedule_fn,  # noqa: F401 - Lightning takes it from here
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

__all__ = ["ProfilerAction", "profile", "schedule", "supported_activities", "tensorboard_trace_handler"]
