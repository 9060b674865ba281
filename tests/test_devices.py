"""Scripts written for one accelerator run without it: what `cuda`, `npu` and `torch.accelerator` mean."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import pytest

import ms_adapter.pytorch as torch
from ms_adapter import _C
from ms_adapter.mindspore import ascend

ROOT = Path(__file__).resolve().parent.parent

TRAINING = """
    import torch
    {imports}
    device = torch.device("{kind}:0")
    torch.{kind}.set_device(device)
    torch.manual_seed(0)
    torch.{kind}.manual_seed_all(0)
    torch.backends.cudnn.benchmark = True
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1)).{kind}()
    model = torch.nn.DataParallel(model, device_ids=[0])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.{kind}.amp.GradScaler(enabled=False)
    begin, end = (torch.{kind}.Event(enable_timing=True) for _ in range(2))
    data = torch.utils.data.TensorDataset(torch.randn(32, 4), torch.randn(32, 1))
    begin.record()
    for x, y in torch.utils.data.DataLoader(data, batch_size=8):
        x = x.pin_memory().to(device, non_blocking=True)
        y = y.{kind}(non_blocking=True)
        with torch.{kind}.stream(torch.{kind}.Stream()):
            loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    end.record()
    torch.{kind}.synchronize()
    torch.{kind}.empty_cache()
    assert begin.elapsed_time(end) > 0 and torch.{kind}.max_memory_allocated() >= 0
    print(loss.item(), torch.{kind}.get_device_name() != "", x.device)
"""
PLAIN = """
    import torch
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = torch.utils.data.TensorDataset(torch.randn(32, 4), torch.randn(32, 1))
    for x, y in torch.utils.data.DataLoader(data, batch_size=8):
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item(), True, "cpu")
"""


def run(tmp_path: Path, source: str) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "script.py"
    file.write_text(textwrap.dedent(source))
    return subprocess.run(
        [sys.executable, "-m", "ms_adapter", "run", str(file)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
    )


def test_a_script_for_one_gpu_trains_on_the_cpu_and_is_told_so_once(tmp_path):
    there, plain = run(tmp_path, TRAINING.format(kind="cuda", imports="")), run(tmp_path, PLAIN)
    assert there.returncode == 0, there.stderr
    assert there.stdout == plain.stdout
    assert there.stderr.count("no accelerator: 'cuda' means 'cpu'") == 1


NPU = "import torch_npu; from torch_npu.contrib import transfer_to_npu"


def test_a_script_for_npu_is_told_what_was_looked_for(tmp_path):
    done = run(tmp_path, TRAINING.format(kind="npu", imports=NPU))
    assert done.returncode == 1
    assert re.search(
        r"RuntimeError: device 'npu' is MindSpore 2.10.0 on an Ascend .*MindSpore: .*/dev/davinci.*"
        r"ASCEND_HOME_PATH.*Use device 'mindspore' .*`ms-adapter run --device mindspore`.*or device 'cpu'",
        done.stderr,
    )


def test_a_guarded_script_for_npu_runs_on_the_cpu(tmp_path):
    guarded = f"""
        {NPU}
        import torch
        kind = "npu" if torch.npu.is_available() else "cpu"
        torch.npu.manual_seed_all(0), torch.npu.empty_cache(), torch.npu.memory_allocated()
        print(torch.ones(2, device=kind).device, torch.npu.device_count(), torch.npu.is_initialized())
    """
    done = run(tmp_path, guarded)
    assert (done.stdout, done.stderr) == ("cpu 0 False\n", "")


def test_a_device_that_is_only_made_says_nothing_until_something_is_put_there(tmp_path):
    done = run(
        tmp_path,
        """
        import sys, torch
        device = torch.device("cuda", 1)
        print(device == torch.device("cpu"), torch.device(0), torch.device(device), flush=True)
        print("made", file=sys.stderr, flush=True)
        torch.nn.Linear(1, 1).to(device), torch.ones(1, device=torch.device(0))
        """,
    )
    assert done.stdout.split() == ["True", "cpu", "cpu"]
    before, after = done.stderr.split("made")
    assert before == "" and after.count("no accelerator") == 1


def test_one_that_asks_is_told_the_truth_and_nothing_else(tmp_path):
    done = run(
        tmp_path,
        """
        import torch
        print(torch.cuda.is_available(), torch.cuda.device_count(), torch.npu.is_available())
        print(torch.accelerator.is_available(), torch.accelerator.current_accelerator())
        torch.cuda.manual_seed_all(1), torch.cuda.empty_cache(), torch.cuda.memory_allocated()
        """,
    )
    assert done.stdout.split() == ["False", "0", "False", "False", "None"] and done.stderr == ""


@pytest.mark.filterwarnings("ignore:this machine has no accelerator")
class TestStandIn:
    """Parts of the answers, in this process."""

    @pytest.mark.parametrize("name", ["cuda", "cuda:0", "cuda:7"])
    def test_every_index_is_the_one_cpu(self, name):
        assert torch.device(name) == torch.device("cpu") == torch.ones(1, device=name).device

    @pytest.mark.parametrize("name", ["cuda:x", "npu:-1", "cuda:200", "cuda:", "gpu"])
    def test_what_is_no_device_is_refused(self, name):
        with pytest.raises(RuntimeError):
            torch.device(name)

    def test_an_index_beside_the_type(self):
        assert torch.device("cuda", 1) == torch.device("cpu") and torch.device("cpu", 1).index == 1
        with pytest.raises(RuntimeError, match="must not include an index"):
            torch.device("cpu:0", 1)

    def test_the_legacy_classes_are_the_cpus(self):
        assert torch.cuda.FloatTensor is torch.FloatTensor
        assert isinstance(torch.ones(2).cuda(), torch.cuda.FloatTensor)
        with pytest.raises(AttributeError, match="jiterator"):
            torch.cuda.jiterator  # noqa: B018 - it is the asking that raises

    def test_events_need_timing_and_recording(self):
        silent, begin, end = torch.cuda.Event(), *(torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        with pytest.raises(RuntimeError, match="recorded"):
            begin.elapsed_time(end)
        with pytest.raises(ValueError, match="enable_timing"):
            begin.elapsed_time(silent)
        torch.cuda.current_stream().record_event(end)
        assert begin.elapsed_time(end) >= 0 and end.query()

    def test_the_state_of_its_generator_is_the_cpus(self):
        state = torch.cuda.get_rng_state()
        first = torch.rand(3, device="cuda")
        torch.cuda.set_rng_state(state)
        assert torch.equal(torch.rand(3), first)

    def test_what_has_no_counterpart_says_so(self):
        with pytest.raises(RuntimeError, match=r"torch.cuda.CUDAGraph"):
            torch.cuda.CUDAGraph()


def test_with_an_accelerator_cuda_means_it():
    _C.set_accelerator("meta")  # a device that is always there
    try:
        assert torch.cuda.is_available() and torch.cuda.device_count() == 1
        assert torch.accelerator.current_accelerator() == torch.device("meta")
        assert torch.ones(2).cuda().device.type == torch.device("cuda:0").type == "meta"
        torch.npu.set_device("npu:0")
        assert torch.ones(2).npu().device.type == torch.device("npu:0").type == "meta"
        assert torch.npu.is_available() and torch.nn.Linear(2, 2).npu(0).weight.is_meta
    finally:
        _C.set_accelerator("cpu")
    assert not torch.cuda.is_available()


USES_OF_NPU = {
    "a device": lambda: torch.device("npu"),
    "a numbered device": lambda: torch.device("npu:0"),
    "a factory": lambda: torch.ones(2, device="npu"),
    "to": lambda: torch.ones(2).to("npu:1"),
    "npu": lambda: torch.ones(2).npu(),
    "a module": lambda: torch.nn.Linear(2, 2).npu(),
    "set_device": lambda: torch.npu.set_device(0),
    "current_device": lambda: torch.npu.current_device(),
    "synchronize": lambda: torch.npu.synchronize(),
    "a stream": lambda: torch.npu.Stream(),
    "an event": lambda: torch.npu.Event(enable_timing=True),
    "a context": lambda: torch.npu.device(0).__enter__(),
    "a default": lambda: torch.set_default_device("npu"),
}


@pytest.mark.parametrize("use", USES_OF_NPU)
def test_npu_is_an_error_where_there_is_none(use):
    with pytest.raises(RuntimeError, match="device 'npu' is MindSpore .* which is not on this machine"):
        USES_OF_NPU[use]()


def test_the_error_of_npu_names_what_it_found(monkeypatch, tmp_path):
    (tmp_path / "davinci0").touch()
    monkeypatch.setattr(ascend, "NODES", (f"{tmp_path}/davinci[0-9]*",))
    monkeypatch.setenv("ASCEND_HOME_PATH", "/opt/cann")
    monkeypatch.setattr(ascend, "installed", lambda: True)
    targets = {"CPU": True, "GPU": False, "Ascend": True}
    fake = SimpleNamespace(__version__="2.9.0", hal=SimpleNamespace(is_available=targets.get))
    monkeypatch.setitem(sys.modules, "mindspore", fake)
    monkeypatch.setattr(ascend.importlib.metadata, "version", lambda name: "2.9.0")
    said = ascend.why_not()
    for part in ("MindSpore: 2.9.0, targets: CPU, Ascend", "davinci0", "ASCEND_HOME_PATH=/opt/cann"):
        assert part in said
