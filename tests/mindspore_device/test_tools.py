"""verify on the device `mindspore`, against our own engine; dump folders that MindSpore itself writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ms_adapter.pytorch as torch  # noqa: F401  # before mindspore, which leaves no static TLS after it
from ms_adapter.tools import compare
from ms_adapter.tools.verification.session import Request, verify_script

pytest.importorskip("mindspore.ops", reason="needs MindSpore: make test-mindspore")

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "tests" / "verify_scripts"


# The environment that has PyTorch, where `make test-mindspore` names one.
PACKAGES = Path(os.environ.get("CONFORMANCE_ORACLE", "none"))
PYTORCH = PACKAGES.parents[2] / "bin" / "python" if PACKAGES.is_dir() else None


@pytest.mark.parametrize("reference", ["ours", "pytorch"])
@pytest.mark.parametrize("script", ["cnn", "transformer"])
def test_the_device_gives_what_the_reference_gives(script, reference, tmp_path):
    if reference == "pytorch" and (PYTORCH is None or not PYTORCH.exists()):
        pytest.skip("no environment with PyTorch is named: make test-mindspore")
    request = Request(
        script=str(SCRIPTS / f"{script}.py"), reference_engine=reference, reference_python=str(PYTORCH),
        device="mindspore", spread_runs=1, folder=str(tmp_path / "out"),
    )  # fmt: skip
    outcome = verify_script(request)
    assert outcome.finding is None, outcome.finding
    assert outcome.compared > 300


@pytest.mark.parametrize("device", [None, "mindspore"])
def test_graph_mode_gives_what_our_engine_gives(device, tmp_path):
    """In step 2 the device rounds an input of relu to the other side of 0: no fault of the graph."""
    request = Request(
        script=str(SCRIPTS / "cnn.py"), reference_engine="ours", device=device, compile="mindspore",
        spread_runs=1, folder=str(tmp_path / "out"),
    )  # fmt: skip
    outcome = verify_script(request)
    assert outcome.finding is None, outcome.finding
    assert outcome.programs > 0 and outcome.steps == 8


def test_a_fault_on_the_device_is_found(tmp_path):
    text = (SCRIPTS / "cnn.py").read_text()
    wrong = tmp_path / "cnn.py"
    wrong.write_text(text.replace("nn.BatchNorm2d(8)", "nn.BatchNorm2d(8, eps=1e-4)"))
    request = Request(
        script=str(wrong), reference_script=str(SCRIPTS / "cnn.py"), reference_engine="ours",
        device="mindspore", spread_runs=1, folder=str(tmp_path / "out"),
    )  # fmt: skip
    finding = verify_script(request).finding
    assert finding is not None and finding.line is not None
    assert "nn.BatchNorm2d(8" in finding.line.code


NET = """
import sys
import numpy as np
import mindspore as ms
from mindspore import Tensor, nn
ms.set_context(mode=ms.GRAPH_MODE)
ms.set_device("CPU")
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(4, 3, weight_init="ones", bias_init="zeros")
        self.relu = nn.ReLU()
    def construct(self, x):
        return self.relu(self.fc(x) * float(sys.argv[1]))
Net()(Tensor(np.arange(8, dtype=np.float32).reshape(2, 4)))
"""


@pytest.mark.parametrize("trans_flag", [True, False])
def test_folders_that_mindspore_dumps(trans_flag, tmp_path):
    (tmp_path / "net.py").write_text(NET)
    for side, factor in (("a", "1"), ("b", "1"), ("c", "2")):
        common = {
            "dump_mode": 0, "path": str(tmp_path / side), "net_name": "Net", "iteration": "all",
            "saved_data": "tensor", "input_output": 0, "kernels": [], "support_device": [0],
        }  # fmt: skip
        settings = {
            "common_dump_settings": common,
            "e2e_dump_settings": {"enable": True, "trans_flag": trans_flag},
        }
        (tmp_path / f"{side}.json").write_text(json.dumps(settings))
        environment = {**os.environ, "MINDSPORE_DUMP_CONFIG": str(tmp_path / f"{side}.json")}
        command = [sys.executable, str(tmp_path / "net.py"), factor]
        subprocess.run(command, check=True, env=environment, capture_output=True)
    same = compare(tmp_path / "a", tmp_path / "b", by_shape=False)
    assert same.same and len(same.rows) > 8
    report = compare(tmp_path / "a", tmp_path / "c", by_shape=False)
    status = {row.name.rpartition("/")[2]: row.status for row in report.rows}
    differing = {name for name, found in status.items() if found == "differs"}
    assert status["MatMul.Default_fc-Dense_MatMul-op0.output.0"] == "same"
    assert differing and all(name.startswith(("Mul.", "Muls.", "ReLU.")) for name in differing), status
