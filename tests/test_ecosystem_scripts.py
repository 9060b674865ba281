"""The tool that compares public scripts: what it reads out of them, and what it takes for a fault."""

from __future__ import annotations

import math

import pytest

from ecosystem.scripts import ELSEWHERE, Outcome, judge, largest_difference, printed_numbers

LOSSES = [2.0, 1.0, 0.5]


def outcome(numbers: list[float], error: str | None = None) -> Outcome:
    return Outcome(error, numbers, 0.0, 1.0, "")


def fault(ours: Outcome, theirs: Outcome, **others: Outcome) -> str | None:
    sides = {("ours", "float32"): ours, ("torch", "float32"): theirs}
    sides |= {(next(iter(ELSEWHERE)), "float32"): others["old"]} if "old" in others else {}
    wide = ("ours", "torch") if "wide" in others else ()
    sides |= {(side, "float64"): others["wide"] if side == "ours" else theirs for side in wide}
    return judge("script", {}, sides).fault


def test_a_run_may_part_by_three_times_what_pytorch_parts_from_itself() -> None:
    theirs, old = outcome(LOSSES), outcome([2.0, 1.0, 0.501])
    assert fault(outcome([2.0, 1.0, 0.5029]), theirs, old=old) is None
    assert "parts from PyTorch" in str(fault(outcome([2.0, 1.0, 0.504]), theirs, old=old))
    assert "parts from PyTorch" in str(fault(outcome([2.0, 1.0, 0.5029]), theirs))


@pytest.mark.parametrize("numbers", [[2.0, 1.0], [2.0, 1.0, math.nan], [2.0, 1.0, math.inf]])
def test_missing_steps_and_numbers_that_are_none_are_faults(numbers: list[float]) -> None:
    assert fault(outcome(numbers), outcome(LOSSES)) is not None


def test_float64_must_agree_to_nine_digits() -> None:
    ours, theirs = outcome(LOSSES), outcome(LOSSES)
    assert fault(ours, theirs, wide=outcome([2.0, 1.0, 0.5 + 1e-10])) is None
    assert "in float64" in str(fault(ours, theirs, wide=outcome([2.0, 1.0, 0.5 + 1e-8])))


def test_scripts_that_fail_are_faults_on_either_side() -> None:
    assert fault(outcome(LOSSES, "exit code 1"), outcome(LOSSES)) == "exit code 1"
    assert fault(outcome(LOSSES), outcome(LOSSES, "exit code 1")) == "PyTorch: exit code 1"


def test_differences_are_relative_to_large_numbers() -> None:
    assert largest_difference([1000.0, 0.001], [1001.0, 0.001]) == pytest.approx(1 / 1001)
    assert largest_difference([math.nan], [math.nan]) == 0.0


def test_numbers_are_read_from_what_a_script_prints() -> None:
    text = "epoch 3 loss -0.125 acc 97.5% lr 1.5e-05 v2.13.0\ntime 3.25s\n"
    assert printed_numbers(text, r"time.*") == ([-0.125, 97.5, 1.5e-05], 0.1)
