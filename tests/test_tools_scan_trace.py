"""ms-adapter scan --trace: what a run called, with dtypes and shapes, beside what the scan found."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ms_adapter import cli

HELPER = """\
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 4)
    def forward(self, x):
        hidden = torch.nn.functional.relu(self.layer(x))
        return getattr(hidden, "su" + "m")()
"""
MAIN = """\
import sys
import torch
from helper import Net
import plugin
net = Net()
for n in (2, 2, 5):
    loss = net(torch.ones(n, 3))
loss.backward()
print(vars(plugin)["report"](net))
if len(sys.argv) > 2:
    raise SystemExit(3)
torch.zeros(1)
"""
PLUGIN = "def report(model): return len(list(model.parameters()))\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in (("helper", HELPER), ("main", MAIN), ("plugin", PLUGIN)):
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


def scanned(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    cli.main(["scan", "--json", *arguments])
    return json.loads(capsys.readouterr().out)


def calls(found: dict[str, Any], file: str) -> dict[tuple[int, str], dict[str, Any]]:
    uses = next(f["uses"] for f in found["files"] if Path(f["path"]).name == file)
    return {(u["line"], u["name"]): u["called"] for u in uses if "called" in u}


@pytest.mark.parametrize("python", [None, sys.executable])
def test_what_was_called(project: Path, capsys: pytest.CaptureFixture[str], python: str | None) -> None:
    pytest.importorskip("torch")
    main = str(project / "main.py")
    reference = ["--reference-python", python] if python else []
    found = scanned(capsys, str(project), *reference, "--trace", main, "--x")
    assert found["trace"]["engine"] == ("pytorch" if python else "ours")
    assert (found["trace"]["exit_code"], found["trace"]["command"]) == (0, [main, "--x"])
    helper = calls(found, "helper.py")
    signatures = {"float32[2, 4]": 2, "float32[5, 4]": 1}
    assert helper[7, "torch.nn.functional.relu"] == {"count": 3, "signatures": signatures}
    assert helper[5, "torch.nn.Linear"] == {"count": 1, "signatures": {"": 1}}
    assert helper[7, "torch.nn.Module.__call__"]["signatures"] == {"float32[2, 3]": 2, "float32[5, 3]": 1}
    here = calls(found, "main.py")
    assert here[8, "torch.Tensor.backward"]["count"] == 1
    unsure_before = calls(found, "plugin.py")[1, "torch.nn.Module.parameters"]
    assert unsure_before["count"] == 1
    assert [(Path(u["path"]).name, u["line"], u["name"]) for u in found["trace"]["not_found_by_scan"]] == [
        ("helper.py", 8, "torch.Tensor.sum")
    ]


def test_a_run_that_fails_is_told_and_keeps_its_calls(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = scanned(capsys, str(project), "--trace", "python", str(project / "main.py"), "a", "b")
    assert (found["trace"]["exit_code"], found["exit_code"]) == (3, 1)
    assert (12, "torch.zeros") not in calls(found, "main.py")
    assert calls(found, "main.py")[7, "torch.ones"]["count"] == 3


def test_a_module(project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    found = scanned(capsys, ".", "--trace", "-m", "main")
    assert calls(found, "main.py")[7, "torch.ones"]["count"] == 3


def test_what_cannot_be_run(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "is no script" in scanned(capsys, str(project), "--trace", "nothing.py")["error"]
    assert "needs a script" in scanned(capsys, str(project), "--trace")["error"]
    missing = scanned(
        capsys, str(project), "--reference-python", "/nowhere", "--trace", str(project / "main.py")
    )
    assert "cannot be started" in missing["error"]


def test_reports_show_the_run(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, log = project / "r.html", project / "r.sarif"
    cli.main(
        ["scan", str(project), "--html", str(page), "--sarif", str(log), "--trace", str(project / "main.py")]
    )
    shown = capsys.readouterr().out
    assert "3 calls: float32[2, 4]; float32[5, 4]" in shown
    assert "Called, and not found by the scan" in shown
    assert "3 calls: float32[2, 4]; float32[5, 4]" in page.read_text()
    called = [r["properties"].get("called") for r in json.loads(log.read_text())["runs"][0]["results"]]
    assert "3 calls: float32[2, 4]; float32[5, 4]" in called
