"""`doctor`: a sound installation, and what it says of broken ones."""

import json

import pytest

from ms_adapter.tools import doctor


def test_all_is_well_here(capsys):
    code = doctor.TOOL.main(["--json"])
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert code == 0, checks
    assert checks["engine"]["status"] == checks["self-test"]["status"] == "ok"
    assert {"Python", "instruction set", "threads", "MindSpore", "NumPy", "OpenBLAS"} <= checks.keys()


@pytest.mark.parametrize(
    "name, version, check, advice",
    [
        ("numpy", None, "NumPy", "pip install"),
        ("numpy", "1.24.0", "NumPy", "pip install -U"),
        ("mindspore", "2.3.0", "MindSpore", "tested with 2.10"),
    ],
)
def test_versions_that_do_not_go_together(name, version, check, advice, monkeypatch):
    known = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda asked: version if asked == name else known(asked))
    found = {c.name: c for c in doctor.examine()}[check]
    assert found.status != doctor.GOOD and advice in found.advice


def test_what_is_broken_is_told(monkeypatch, capsys):
    def broken():
        raise OSError("libsleef.so.3 is missing")

    monkeypatch.setattr(doctor, "CHECKS", (broken,))
    assert doctor.TOOL.main(["--json"]) == 1
    (check,) = json.loads(capsys.readouterr().out)["checks"]
    assert "libsleef.so.3" in check["found"] and check["advice"]


def test_an_old_python(monkeypatch):
    monkeypatch.setattr(doctor.sys, "version_info", (3, 9, 0, "final", 0))
    assert doctor._python().status == doctor.WRONG


def test_without_rich(monkeypatch, capsys):
    find = doctor.importlib.util.find_spec
    monkeypatch.setattr(
        doctor.importlib.util, "find_spec", lambda name, *rest: None if name == "rich" else find(name, *rest)
    )
    assert doctor.TOOL.main([]) in (0, 1)
    printed = capsys.readouterr().out
    assert "engine: ok" in printed and "tools: " in printed and "pip install" in printed
