"""docs/support.md and its sources: no public name of PyTorch is missing silently, and page and data agree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import ms_adapter.pytorch as ours  # noqa: E402
from conformance import on_mindspore, support  # noqa: E402 - needs PyTorch
from ms_adapter.pytorch import _missing  # noqa: E402
from ms_adapter.tools import on_mindspore as measured  # noqa: E402


def record(**changes: Any) -> dict[str, Any]:
    plain = {"suite": "ops", "name": "add@float32", "exists": True, "skip": None, "crash": None, "phases": {}}
    return {**plain, **changes}


def test_every_public_name_is_there_or_listed_with_its_reason() -> None:
    assert list(support.faults()) == []


def test_a_name_without_a_reason_and_a_reason_without_a_name_are_faults(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = dict(_missing.reasons())
    del table["torch.embedding_bag"]
    table |= {"torch.add": "", "torch.no_such_name": ""}
    monkeypatch.setattr(_missing, "reasons", lambda present=False: {} if present else table)
    assert list(support.faults()) == [
        "torch.add is there, but absent.toml lists it",
        "torch.embedding_bag is neither there nor in absent.toml",
        "absent.toml: 'torch.add' fits no name",
        "absent.toml: 'torch.no_such_name' fits no name",
    ]


def test_the_error_of_an_absent_name_gives_the_reason() -> None:
    with pytest.raises(
        AttributeError, match="no attribute 'package' in ms_adapter: packing programs with their code is not"
    ):
        ours.package  # noqa: B018 - it raises


def test_the_page_is_up_to_date() -> None:
    assert support.page() == support.PAGE.read_text(), "run: make support"


def test_a_record_becomes_letters() -> None:
    phases = {"forward": {"pass": 2}, "grad": {"pass": 1, "fail": 1}, "out": {"skip": 1}}
    assert support.letters(record(phases=phases)) == "fG"
    assert support.letters(record(exists=False)) == "-"
    assert support.letters(record(crash="SIGSEGV")) == "!"
    assert support.letters(record(skip="no dtype on CPU")) == ""


def test_partial_runs_merge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(support, "DATA", tmp_path / "support.json")
    runs = []
    for number, (name, outcome) in enumerate(
        [("add@float32", "fail"), ("add@int64", "pass"), ("add@float32", "pass")]
    ):
        items = [record(name=name, phases={"forward": {outcome: 1}})]
        runs.append(tmp_path / f"{number}.json")
        runs[-1].write_text(json.dumps({"options": {"max_samples": 2}, "items": items}))
    support.merge(runs[:2])
    support.merge(runs[2:])
    data = json.loads(support.DATA.read_text())
    assert data == {"samples": 2, "items": {"add": {"float32": "f", "int64": "f"}}}


@pytest.mark.parametrize(
    ("letters", "role", "marks"),
    [
        ("fsgo", "function", "F B O"),
        ("fSg", "function", "~~F~~ B"),
        ("fG", "function", "F ~~B~~"),
        ("fmI", "inplace", "~~I~~"),
        ("fm", "method", "F"),
        ("-", "function", "~~F~~"),
        ("f", "inplace", " "),
    ],
)
def test_letters_become_marks(letters: str, role: str, marks: str) -> None:
    assert support.cell({"add": {"float32": letters}}, [("add", role)], "float") == marks


def test_one_failing_dtype_strikes_out_its_group() -> None:
    results = {"add": {"float32": "fg", "float64": "Fg", "int64": "f"}}
    assert support.cell(results, [("add", "function")], "float") == "~~F~~ B"
    assert support.cell(results, [("add", "function")], "int") == "F"


def entry(clean: bool = True, **calls: list[str]) -> dict[str, Any]:
    return {"clean": clean, "calls": calls}


@pytest.mark.parametrize(
    ("word", "callables", "of"),
    [
        ("native", ("ops.add",), entry(add=["ops.add"], sum=["ops.sum"])),
        ("fallback", ("ops.add",), entry(add=["cpu", "ops.add"])),
        ("composed", ("ops.mul",), entry(mul=["ops.mul"])),
        ("memory", (), entry()),
        ("drawn", ("generator",), entry(normal_=["generator"])),
        ("differs", ("ops.add",), entry(clean=False, add=["ops.add"])),
    ],
)
def test_the_calls_of_an_entry_become_a_word(word: str, callables: tuple[str, ...], of: Any) -> None:
    found = on_mindspore.standing(of, ("add",))
    assert (found.word, found.callables) == (word, callables)


def test_of_several_entries_the_worst_word_counts() -> None:
    found = [on_mindspore.standing(e, ("add",)) for e in (entry(add=["ops.add"]), entry(mul=["cpu"]))]
    joined = on_mindspore.joined(found, ("add",))
    assert (joined.word, joined.on_cpu, joined.rows) == ("fallback", ("mul",), ("add",))


def test_what_ran_is_what_the_registry_declares() -> None:
    declared = measured.declared()
    ran = [
        (row, c) for e in measured.stored()["entries"].values() for row, cs in e["calls"].items() for c in cs
    ]
    assert [pair for pair in ran if pair[1] not in ("cpu", "generator", *declared.get(pair[0], ()))] == []
    assert measured.candidates("torch.add") == measured.candidates("torch.Tensor.add_") == declared["add"]
    assert measured.candidates("torch.jit.trace") == ()  # which is no torch.trace


def test_the_stored_run_answers_for_public_names() -> None:
    assert measured.ran("torch.add") == measured.Ran("native", ("ops.add",), (), ("add",))
    assert measured.ran("torch.Tensor.t").word == "memory" and measured.ran("torch.einsum").word == "composed"
    fallback = measured.ran("torch.linalg.cholesky")
    assert fallback.word == "fallback" and fallback.note().endswith("computed on cpu: _linalg_cholesky")
    assert measured.ran("torch.no_such_name") is None


def test_the_page_has_what_ran() -> None:
    line = next(line for line in support.PAGE.read_text().splitlines() if line.startswith("| add |"))
    assert line.endswith("| native: `ops.add` |")
