"""torch.distributed.checkpoint in one process: folders of states, exchanged with PyTorch if it is there."""

from __future__ import annotations

import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import ms_adapter.pytorch as ours
import ms_adapter.pytorch.distributed.checkpoint as our_dcp
from ms_adapter.pytorch.distributed.checkpoint import format_utils, state_dict

SIDES: list[tuple[ModuleType, Any]] = [(ours, our_dcp)]
try:
    import torch as theirs
    import torch.distributed.checkpoint as their_dcp

    SIDES.append((theirs, their_dcp))
except ImportError:
    pass


def state(torch: Any, fill: float) -> dict[str, Any]:
    """A nested state; `fill` is in every value."""
    return {
        "model": {"0.weight": torch.full((2, 3), fill), "n": torch.tensor(int(fill))},
        "list": [torch.full((2,), fill, dtype=torch.bfloat16), int(fill)],
        "pair": (int(fill), "text"),
        "deep": {"3": {"inner": [{"z": fill}]}},
        "channels": torch.full((1, 2, 2, 2), fill).to(memory_format=torch.channels_last),
        "number": int(fill),
        "empty": {},
        "none": None,
    }


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [plain(part) for part in value]
    return (str(value.dtype), value.tolist()) if hasattr(value, "tolist") else value


def save(dcp: Any, value: dict[str, Any], folder: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns that there is one process
        return dcp.save(value, checkpoint_id=str(folder))


@pytest.mark.parametrize("written_by", range(len(SIDES)), ids=lambda i: SIDES[i][0].__name__)
@pytest.mark.parametrize("read_by", range(len(SIDES)), ids=lambda i: SIDES[i][0].__name__)
def test_a_state_comes_back(tmp_path: Path, written_by: int, read_by: int) -> None:
    (torch, dcp), (reader, reading) = SIDES[written_by], SIDES[read_by]
    save(dcp, state(torch, 7), tmp_path)
    got = state(reader, 0)
    place = got["model"]["0.weight"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reading.load(got, checkpoint_id=str(tmp_path))
    assert plain(got) == plain(state(reader, 7))
    assert got["model"]["0.weight"] is place  # filled, not replaced


@pytest.mark.skipif(len(SIDES) == 1, reason="PyTorch is not installed")
def test_the_names_are_pytorchs(tmp_path: Path) -> None:
    mine, its = (save(dcp, state(torch, 1), tmp_path / torch.__name__) for torch, dcp in SIDES)
    assert mine.planner_data == its.planner_data
    assert mine.state_dict_metadata.keys() == its.state_dict_metadata.keys()


def test_keys_that_are_no_text_are_found_by_theirs(tmp_path: Path) -> None:
    our_dcp.save({"a": {3: 1, "b": [{4: 2}]}}, checkpoint_id=tmp_path)
    got: dict[str, Any] = {"a": {3: 0, "b": [{4: 0}]}}
    our_dcp.load(got, checkpoint_id=tmp_path)
    assert got == {"a": {3: 1, "b": [{4: 2}]}}


def trained(seed: int) -> tuple[Any, Any]:
    ours.manual_seed(seed)
    model = ours.nn.Sequential(ours.nn.Linear(2, 3), ours.nn.BatchNorm1d(3))
    optimizer = ours.optim.Adam(model.parameters(), lr=0.1 * (seed + 1))
    model(ours.randn(4, 2)).square().sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    return model, optimizer


def test_modules_and_optimizers_take_their_states(tmp_path: Path) -> None:
    (model, optimizer), (other, its) = trained(0), trained(1)
    our_dcp.save({"model": model, "optimizer": optimizer}, checkpoint_id=tmp_path)
    our_dcp.load({"model": other, "optimizer": its}, checkpoint_id=tmp_path)
    assert plain(dict(other.state_dict())) == plain(dict(model.state_dict()))
    assert plain(its.state_dict()) == plain(optimizer.state_dict())


def test_optimizers_states_go_by_the_parameters_names(tmp_path: Path) -> None:
    model, optimizer = trained(0)
    saved = dict(zip(("model", "optimizer"), state_dict.get_state_dict(model, optimizer), strict=True))
    assert list(saved["optimizer"]["state"]) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    our_dcp.save(saved, checkpoint_id=tmp_path)
    fresh = ours.nn.Sequential(ours.nn.Linear(2, 3), ours.nn.BatchNorm1d(3))
    its = ours.optim.Adam(fresh.parameters(), lr=5.0)
    got = dict(zip(("model", "optimizer"), state_dict.get_state_dict(fresh, its), strict=True))
    our_dcp.load(got, checkpoint_id=tmp_path)
    state_dict.set_state_dict(fresh, its, model_state_dict=got["model"], optim_state_dict=got["optimizer"])
    assert plain(its.state_dict()) == plain(optimizer.state_dict())
    with pytest.raises(ValueError, match="does not have"):
        state_dict.get_optimizer_state_dict(ours.nn.Linear(1, 1), its)


def test_folders_and_files_of_torch_save(tmp_path: Path) -> None:
    ours.save(state(ours, 4), tmp_path / "one.pt")
    format_utils.torch_save_to_dcp(tmp_path / "one.pt", tmp_path / "folder")
    format_utils.dcp_to_torch_save(tmp_path / "folder", tmp_path / "two.pt")
    got = plain(ours.load(tmp_path / "two.pt", weights_only=False))
    want = plain(state(ours, 4))
    want.pop("empty")
    assert got == want


@pytest.mark.parametrize(
    ("wanted", "error", "text"),
    [({"b": 0}, RuntimeError, "Missing key.*: b"), ({"a": ours.zeros(3)}, ValueError, "Size mismatch.* a")],
)
def test_what_is_not_saved_so_is_an_error(tmp_path: Path, wanted: Any, error: Any, text: str) -> None:
    our_dcp.save({"a": ours.ones(2)}, checkpoint_id=tmp_path)
    with pytest.raises(error, match=text):
        our_dcp.load(wanted, checkpoint_id=tmp_path)
    our_dcp.load(
        {"b": 0}, checkpoint_id=tmp_path, planner=our_dcp.DefaultLoadPlanner(allow_partial_load=True)
    )
    with pytest.raises(RuntimeError, match="overwrite is False"):
        our_dcp.save({"a": 1}, storage_writer=our_dcp.FileSystemWriter(tmp_path, overwrite=False))
