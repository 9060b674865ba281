"""torch.testing._internal.optests: tests made of a class's own, with every operator checked."""

import pytest

import ms_adapter.pytorch as torch
from ms_adapter.pytorch.testing._internal import optests


def wrong(x: torch.Tensor) -> torch.Tensor:
    return x + 1


class Cases:
    """What is no test of pytest's here: a class to make tests of."""

    def test_adds(self) -> bool:
        torch.ops.optests.wrong(torch.ones(2))
        return optests.is_inside_opcheck_mode()

    @optests.dontGenerateOpCheckTests("it stays as it is")
    def test_alone(self) -> None:
        torch.ops.optests.wrong(torch.ones(2))


@pytest.fixture(scope="module")
def cases() -> Cases:
    operator = torch.library.custom_op("optests::wrong", wrong, mutates_args=())
    operator.register_fake(lambda x: x.new_empty(3))
    optests.generate_opcheck_tests(
        Cases, ["optests"], test_utils=["test_schema", "test_faketensor"], additional_decorators={}
    )
    return Cases()


def test_each_test_is_made_once_for_each_check(cases: Cases) -> None:
    assert {name for name in dir(Cases) if name.startswith("test_")} == {
        "test_adds", "test_alone", "test_schema__test_adds", "test_faketensor__test_adds",
    }  # fmt: skip
    assert not cases.test_adds() and cases.test_schema__test_adds()  # type: ignore[attr-defined]


def test_what_opcheck_finds_is_a_failure(cases: Cases) -> None:
    with pytest.raises(optests.opcheck.__globals__["OpCheckError"], match="test_faketensor"):
        cases.test_faketensor__test_adds()  # type: ignore[attr-defined]
    assert not optests.is_inside_opcheck_mode()
