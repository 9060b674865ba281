"""torch.profiler: times of operators over the steps of a training."""

import enum
import os
import socket
import tempfile
import time

from ms_adapter.pytorch.autograd import profiler as _profiler
from ms_adapter.pytorch.autograd.profiler import record_function

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


class ProfilerActivity(enum.Enum):
    """What can be recorded; here the CPU."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """What a profile does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities():
    """{ProfilerActivity.CPU}."""
    return {ProfilerActivity.CPU}


def kineto_available():
    """False: the library of that name is not used."""
    return False


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """Which steps are recorded: after ``skip_first`` steps, ``repeat`` cycles (0: on and on) of ``wait``,
    ``warmup`` and ``active`` steps; the first cycle may go without its wait.

    >>> from ms_adapter.pytorch.profiler import schedule
    >>> action = schedule(wait=1, warmup=1, active=2)
    >>> [action(step).name for step in range(4)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError("schedule: numbers of steps are not negative, and at least one step is active.")
    length = wait + warmup + active

    def action(step):
        if step < 0:
            raise AssertionError(f"schedule: a step is not negative, got {step}.")
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        if skip_first_wait:
            step += wait
        if repeat and step // length >= repeat:
            return ProfilerAction.NONE
        place = step % length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if place == length - 1 else ProfilerAction.RECORD

    return action


def _default_schedule_fn(step):
    """What a profile without a schedule does in each step: it records."""
    return ProfilerAction.RECORD


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False):
    """For ``profile(on_trace_ready=...)``: writes each trace into a folder."""
    worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"

    def handle(prof):
        os.makedirs(dir_name, exist_ok=True)
        path = os.path.join(dir_name, f"{worker}.{time.time_ns()}.pt.trace.json")
        prof.export_chrome_trace(path + ".gz" if use_gzip else path)

    return handle


_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


class profile:
    """Times the operators of a block, or of those of its steps that a schedule chooses.

    Args:
        activities: what to record; all but the CPU is left out.
        schedule: step -> ProfilerAction, see :func:`schedule`; None records all.
        on_trace_ready: called with the profile whenever a recording is complete.
        record_shapes, profile_memory, with_stack, with_flops, with_modules: accepted, with a warning.

    >>> import ms_adapter.pytorch as torch
    >>> with torch.profiler.profile() as prof:
    ...     for _ in range(3):
    ...         y = torch.ones(4).tanh()
    ...         prof.step()
    >>> {row.key: row.count for row in prof.key_averages()}["aten::tanh"]
    3
    """

    def __init__(
        self,
        *,
        activities=None,
        schedule=None,
        on_trace_ready=None,
        record_shapes=False,
        profile_memory=False,
        with_stack=False,
        with_flops=False,
        with_modules=False,
        experimental_config=None,
        execution_trace_observer=None,
        acc_events=False,
        use_cuda=None,
        custom_trace_id_callback=None,
        post_processing_timeout_s=None,
    ):
        options = {
            "record_shapes": record_shapes,
            "profile_memory": profile_memory,
            "with_stack": with_stack,
            "with_flops": with_flops,
            "with_modules": with_modules,
        }
        _profiler.say_what_is_missing("profile", options)
        self.activities = supported_activities() if activities is None else set(activities)
        self.schedule = schedule or _default_schedule_fn
        self._records_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num, self.current_action = 0, ProfilerAction.NONE
        self._events, self._step = None, None

    def start(self):
        """Begin, as entering the block does."""
        self._turn(self.schedule(self.step_num))

    def stop(self):
        """End, as leaving the block does."""
        recording = self.current_action in _RECORDING
        self._turn(ProfilerAction.NONE)
        if recording and self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def step(self):
        """The next step begins."""
        before = self.current_action
        self.step_num += 1
        action = self.schedule(self.step_num)
        if before is ProfilerAction.RECORD_AND_SAVE:
            self._turn(ProfilerAction.NONE)
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)
        self._turn(action)

    def _turn(self, action):
        """From what was done in the last step to what is done in the next one."""
        if self._step is not None:
            self._step.__exit__(None, None, None)
            self._step = None
        if action in _RECORDING and self.current_action not in _RECORDING:
            _profiler.start()
        elif action not in _RECORDING and self.current_action in _RECORDING:
            self._events = _profiler.stop()
        self.current_action = action
        if action in _RECORDING and self._records_steps:
            self._step = record_function(f"ProfilerStep#{self.step_num}").__enter__()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, exc_type, exc_val, exc_tb):
        self.stop()

    def _recorded(self):
        if self._events is None:
            raise AssertionError("profile: nothing was recorded, or the recording has not ended.")
        return self._events

    def events(self):
        """All events of the last recording."""
        return self._recorded()

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """The sums of the events of each name; ``.table()`` shows them."""
        return self._recorded().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path):
        """Write a trace that chrome://tracing and Perfetto show; compressed where the name ends in .gz."""
        if not str(path).endswith(".gz"):
            self._recorded().export_chrome_trace(path)
            return
        import gzip

        with tempfile.TemporaryDirectory() as folder:
            plain = os.path.join(folder, "trace.json")
            self._recorded().export_chrome_trace(plain)
            with open(plain, "rb") as source, gzip.open(path, "wb") as target:
                target.write(source.read())


from . import profiler  # noqa: E402 - it takes its names from here
