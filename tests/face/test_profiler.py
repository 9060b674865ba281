"""torch.profiler: which operators it shows, in which blocks, and when its schedule records."""

import gzip
import importlib
import json

import pytest
import torch

import ms_adapter.pytorch as face


@pytest.mark.parametrize(
    "options",
    [
        {"wait": 1, "warmup": 1, "active": 2},
        {"wait": 0, "warmup": 0, "active": 1},
        {"wait": 1, "warmup": 1, "active": 2, "repeat": 2, "skip_first": 3},
        {"wait": 2, "warmup": 1, "active": 1, "repeat": 1, "skip_first": 1, "skip_first_wait": 1},
    ],
)
def test_schedules(both, options):
    both(lambda t: [t.profiler.schedule(**options)(step).name for step in range(20)])


def test_operators_and_blocks():
    """Names and counts of forward and backward operators; blocks hold what ran in them."""
    for t in (torch, face):
        x = t.randn(4, 4, requires_grad=True)
        with t.profiler.profile(activities=[t.profiler.ProfilerActivity.CPU]) as prof:
            with t.profiler.record_function("block"):
                y = (x @ x).exp()
            y.sum().backward()
            _ = t.profiler.record_function("decorated")(t.tanh)(x.detach())
        rows = {row.key: row for row in prof.key_averages()}
        for name in ("aten::exp", "aten::sum", "aten::tanh", "block", "decorated"):
            assert rows[name].count == 1, name
        assert rows["aten::mul"].count >= 1  # the gradient of exp
        block = next(event for event in prof.events() if event.name == "block")
        inside = {child.name for child in block.cpu_children}
        assert {"aten::matmul", "aten::exp"} <= inside and "aten::sum" not in inside
        assert block.cpu_time_total >= sum(child.cpu_time_total for child in block.cpu_children) > 0
        table = prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=3)
        assert "Self CPU %" in table and "# of Calls" in table and "Self CPU time total" in table


def test_composed_operators_are_shown_once_and_errors_too():
    with face.autograd.profiler.profile() as prof:
        face.nn.functional.layer_norm(face.ones(2, 4), (4,))
        with pytest.raises(RuntimeError):
            face.ones(2) + face.ones(3)
    names = [event.name for event in prof.events()]
    assert names.count("aten::layer_norm") == 1 and names[-1] == "aten::add"
    with face.autograd.profiler.profile(enabled=False) as prof:
        face.ones(2)
    with pytest.raises(RuntimeError):
        prof.events()


def test_steps(both):
    def scenario(t):
        seen, steps = [], []
        schedule = t.profiler.schedule(wait=1, warmup=1, active=2, repeat=2)

        def ready(prof):
            counts = {row.key: row.count for row in prof.key_averages()}
            seen.append(counts.get("aten::tanh"))
            steps.append(sorted(name for name in counts if name.startswith("ProfilerStep")))

        with t.profiler.profile(schedule=schedule, on_trace_ready=ready) as prof:
            for _ in range(9):
                t.ones(3).tanh()
                prof.step()
        return seen, steps, prof.step_num

    both(scenario)


def test_traces(tmp_path):
    handler = face.profiler.tensorboard_trace_handler(str(tmp_path / "traces"), "me")
    with face.profiler.profile(on_trace_ready=handler) as prof:
        face.ones(3).sin()
    (path,) = (tmp_path / "traces").iterdir()
    assert path.name.startswith("me.") and path.name.endswith(".pt.trace.json")
    assert "aten::sin" in {event["name"] for event in json.loads(path.read_text())["traceEvents"]}
    prof.export_chrome_trace(str(tmp_path / "trace.json.gz"))
    assert b"aten::sin" in gzip.decompress((tmp_path / "trace.json.gz").read_bytes())


def test_what_is_not_recorded_is_said():
    with pytest.warns(UserWarning, match="profile_memory"):
        face.profiler.profile(profile_memory=True)
    with pytest.raises(NotImplementedError):
        face.autograd.profiler.emit_nvtx()
    assert face.profiler.supported_activities() == {face.profiler.ProfilerActivity.CPU}


def test_collect_env():
    for t in (torch, face):
        module = importlib.import_module(f"{t.__name__}.utils.collect_env")
        info = module.get_env_info()
        assert str(t.__version__) == info.torch_version and info.is_cuda_available == "False"
    assert "kernels use" in module.get_pretty_env_info()


def test_what_lightning_asks_of_profilers(both):
    def scenario(t):
        states = [t.autograd._profiler_enabled()]
        with t.autograd.profiler.profile() as prof:
            t.ones(3).tanh()
            states.append(t.autograd._profiler_enabled())
        events = prof.function_events
        counts = {row.key: row.count for row in events.key_averages(group_by_input_shapes=False)}
        return states, counts["aten::tanh"], t.profiler.profiler._default_schedule_fn(3).name

    both(scenario)
