"""ms-adapter map: its answers from the stored table, the table's own consistency, and the page beside it."""

from __future__ import annotations

import doctest
import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from conformance.mapping import fit
from conformance.mapping.signatures import Signature, parsed, text
from ms_adapter import cli
from ms_adapter.tools import mapping
from ms_adapter.tools.mapping import page, show, table

ROOT = Path(__file__).resolve().parent.parent


def signature(written: str) -> Signature:
    found = parsed(written)
    assert found is not None
    return found


def test_examples_of_the_documentation() -> None:
    assert doctest.testmod(table).failed == 0


def test_lookup_gives_the_counterpart_and_the_differences() -> None:
    silu = mapping.lookup("torch.nn.functional.silu")
    assert silu is not None and silu.verdict == table.IDENTICAL
    assert silu.counterpart == "mindspore.mint.nn.functional.silu"
    assert silu.best and silu.best.signatures == ("(input, inplace=False)",)
    dropout = mapping.lookup("nn.Sequential")
    assert dropout is not None and dropout.summary == "differs in semantics"
    assert mapping.lookup("torch.no_such_name") is None
    missing = mapping.lookup("torch.nn.LazyLinear")
    assert missing is not None and missing.summary == "missing" and missing.best is None


def test_what_differs_only_at_the_edges_is_ordinary() -> None:
    relu = mapping.lookup("torch.nn.functional.relu")  # MindSpore's gives 0 for NaN
    assert relu is not None and relu.summary == "differs in edges" and "NaN" in relu.differences[0].text
    assert relu.best and relu.best.ordinary and relu.best.loud
    full = mapping.lookup("torch.full")  # of 2.5 MindSpore's makes integers
    assert full is not None and full.best and not full.best.ordinary and not full.best.loud


def test_every_record_says_what_its_verdict_means() -> None:
    for record in table.records():
        for c in record.counterparts:
            assert c.name.startswith("mindspore."), record.name
            assert (c.verdict == table.DIFFERS) == bool(c.differences), record.name
            assert (c.verdict == table.UNMEASURED) == bool(c.unmeasured), record.name
            assert c.verdict in table.VERDICTS and all(d.kind and d.text for d in c.differences)
        if record.verdict == table.IDENTICAL and record.kind != "value":
            assert record.best and record.best.checked, record.name


def test_identical_rows_agree_on_every_sample_outside_the_gaps() -> None:
    for record in table.records():
        for dtype, count in record.best.checked if record.verdict == table.IDENTICAL and record.best else ():
            good, _, all_of = count.partition(" of ")
            assert good == all_of or dtype in record.best.gaps, f"{record.name} {dtype}"


def test_loud_differences_change_no_number_silently() -> None:
    silent = table.Difference("results", "")
    loud = table.Difference("dtypes", "")
    assert table.Counterpart("mindspore.x", table.DIFFERS, differences=(loud,)).loud
    assert not table.Counterpart("mindspore.x", table.DIFFERS, differences=(loud, silent)).loud
    assert not table.Counterpart("mindspore.x", table.UNMEASURED).loud


def test_both_directions_agree() -> None:
    names = {(c.name, record.name) for record in table.records() for c in record.counterparts}
    assert {(name, r.name) for name, pairs in mapping.reverse("*") for r, _ in pairs} == names


def test_page_is_what_the_data_gives() -> None:
    assert (ROOT / "docs" / "api-mapping.md").read_text() == page.page(), (
        "run: ms-adapter map --page docs/api-mapping.md"
    )


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = cli.main(["map", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def test_one_name_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "torch.nn.functional.silu")
    assert code == 0
    assert "mindspore.mint.nn.functional.silu(input, inplace=False)" in out
    assert "torch.nn.functional.silu(input, inplace=False)" in out


def test_patterns_give_a_table_and_its_sums(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "torch.nn.*Norm1d")
    assert code == 1
    assert "torch.nn.BatchNorm1d" in out and "torch.nn.LazyBatchNorm1d" in out
    assert "names: " in out and "missing" in out


def test_json_has_everything(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "torch.nn.BatchNorm2d", "--json")
    answer = json.loads(out)
    assert code == answer["exit_code"] == 1
    (name,) = answer["names"]
    assert name["name"] == "torch.nn.BatchNorm2d" and answer["mindspore"] == "2.10.0"
    old = next(c for c in name["counterparts"] if c["counterpart"] == "mindspore.nn.BatchNorm2d")
    assert any("momentum" in d["text"] for d in old["differences"])


def test_from_mindspore(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "mindspore.mint.nn.functional.silu", "--to", "torch")
    assert code == 0 and "torch.nn.functional.silu" in out
    _, same, _ = run(capsys, "mindspore.mint.nn.functional.silu")
    assert same == out
    code, out, _ = run(capsys, "--to", "torch", "mint.nn.functional.*pool*", "--json")
    assert {n["torch"] for n in json.loads(out)["names"]} >= {"torch.nn.functional.max_pool2d"}


def test_unknown_names_are_errors_with_near_ones(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "torch.nn.functional.rellu")
    assert code == 2 and "torch.nn.functional.relu" in err
    code, _, err = run(capsys, "torch.Linear")
    assert code == 2 and "torch.nn.Linear" in err
    assert run(capsys, "torch.zzz*")[0] == 2
    code, _, err = run(capsys, "mindspore.relu6", "--to", "torch")
    assert code == 2 and "mindspore." in err
    assert "ask with --to torch" in run(capsys, "mindspore.mint.abs", "--to", "mindspore")[2]
    assert "ask with --to mindspore" in run(capsys, "torch.abs", "--to", "torch")[2]


def test_verdict_filters(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "torch.nn.*", "--verdict", "missing", "--json")
    names = json.loads(out)["names"]
    assert names and all(n["verdict"] == "missing" for n in names)


def test_examples_show_what_has_to_be_given() -> None:
    assert show.example("torch.add", "(input, other, *, alpha=1)") == "torch.add(input, other)"
    assert show.example("torch.Tensor.add", "(other, *, alpha=1)") == "tensor.add(other)"


@pytest.mark.parametrize(
    "ours, theirs, kinds",
    [
        ("(input, dim, keepdim=False)", "(input, dim, keepdim=False)", []),
        ("(input, dim)", "(input, dim=None, *, dtype=None)", []),
        ("(input, dim)", "(x, axis)", ["names", "names"]),
        ("(input, p=0.5, inplace=False)", "(input, p=0.5)", ["missing"]),
        ("(input, eps=1e-05)", "(input, eps=1e-07)", ["defaults"]),
        ("(a, b)", "(b, a)", ["order", "order"]),
        ("(input, dim=None)", "(input, *, dim=None)", ["order"]),
        ("(input)", "(input, size)", ["extra"]),
        ("(input, *, out=None)", "(input)", []),
        ("(affine=True, track=True)", "(affine=True, init='ones')", ["missing"]),
        ("(*tensors)", "(*tensors, indexing=None)", []),
    ],
)
def test_fit(ours: str, theirs: str, kinds: list[str]) -> None:
    assert [d.kind for d in fit.fit([signature(ours)], [signature(theirs)])[0]] == kinds


def test_fit_takes_the_overload_that_suits_best() -> None:
    wanted = [signature("(input)"), signature("(input, dim, keepdim=False)")]
    offered = [signature("(input, dim, keepdim=False)"), signature("(input)")]
    assert fit.fit(wanted, offered) == ([], [])


def test_one_overload_may_take_the_calls_without_what_another_asks_for() -> None:
    wanted = [signature("(dim=None, keepdim=False, *, dtype=None)")]
    offered = [signature("(*, dtype=None)"), signature("(dim, keepdim=False, *, dtype=None)")]
    assert fit.fit(wanted, offered) == ([], [])
    assert [d.kind for d in fit.fit(wanted, offered[1:])[0]] == ["defaults"]


def test_parameters_of_place_are_told_apart() -> None:
    found = fit.fit([signature("(input, *, out=None, device=None)")], [signature("(input)")])
    assert found == ([], ["out", "device"])


@pytest.mark.parametrize(
    "a, b, same",
    [
        ("1", "1.0", True),
        ("None", "[]", True),
        ("0", "(0, 0)", True),
        ("True", "1", False),
        ("'mean'", "'none'", False),
        ("torch.float32", "mindspore.float32", True),
    ],
)
def test_values_that_mean_the_same(a: str, b: str, same: bool) -> None:
    assert fit.same_value(a, b) is same


def test_signatures_read_as_written() -> None:
    for written in ("(input, dim=None, *, dtype=None)", "(*tensors, indexing='ij')", "(a, **kwargs)"):
        assert text(signature(written)) == written
    assert parsed("(not a signature") is None


@pytest.mark.parametrize(
    "documented, meant",
    [
        ("(*size, *, dtype=None)", "(*size, dtype=None)"),
        ("(start=0, end, step=1, *, out=None)", "(start, end, step=1, *, out=None)"),
        ("(low=0, high, size, \\*, out=None)", "(low, high, size, *, out=None)"),
        ("(input, dim [, keepdim])", "(input, dim, keepdim)"),
    ],
)
def test_signatures_of_docstrings_that_are_no_python(documented: str, meant: str) -> None:
    assert text(signature(documented)) == meant
