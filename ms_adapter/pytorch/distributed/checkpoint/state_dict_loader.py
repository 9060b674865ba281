"""torch.distributed.checkpoint.load: a saved state into the tensors and mappings that wait for it."""

import ms_adapter.pytorch as torch

from ..._missing import attach
from ._nesting import flatten, put
from .filesystem import FileSystemReader
from .metadata import TensorStorageMetadata
from .state_dict_saver import chosen, refuse_planner, states_of
from .stateful import Stateful

__all__ = ["load", "load_state_dict"]


def load(
    state_dict, *, checkpoint_id=None, storage_reader=None, planner=None, process_group=None, no_dist=False
):
    """Load a saved state into ``state_dict``: its tensors are filled, its other values replaced.

    What has ``load_state_dict()`` is given its part. Of the saved state only what ``state_dict`` has a place
    for is read. RuntimeError for a name that is not saved, ValueError for another shape. What is no tensor
    is a pickle, which runs what it says: load only trusted folders.
    """
    refuse_planner("load", planner, "DefaultLoadPlanner")
    reader = chosen("load", storage_reader, FileSystemReader, checkpoint_id)
    states = states_of(state_dict)
    _fill(states, reader, getattr(planner, "allow_partial_load", False))
    for key, value in state_dict.items():
        if isinstance(value, Stateful):
            value.load_state_dict(states[key])
        else:
            state_dict[key] = states[key]


def _fill(states, reader, allow_partial):
    metadata = reader.read_metadata()
    blocks = reader._blocks(metadata)
    flat, paths = flatten(states)
    missing = [name for name in flat if name not in metadata.state_dict_metadata]
    if missing and not allow_partial:
        raise RuntimeError(f"Missing key in checkpoint state_dict: {missing[0]}. ({len(missing)} in all)")
    for name in flat.keys() - set(missing):
        saved, value = metadata.state_dict_metadata[name], flat[name]
        if isinstance(saved, TensorStorageMetadata) and isinstance(value, torch.Tensor):
            if value.size() != saved.size:
                raise ValueError(
                    f"Size mismatch between saved {saved.size} and current: {value.size()} for {name}"
                )
            _copy_blocks(value, blocks(name))
        else:
            put(states, paths[name], _whole(saved, blocks(name)))


def _copy_blocks(tensor, blocks):
    with torch.no_grad():
        for offset, block in blocks:
            place = tuple(slice(start, start + n) for start, n in zip(offset, block.shape, strict=True))
            tensor[place].copy_(block)


def _whole(saved, blocks):
    """A value from its blocks: a tensor of its own, or what was pickled."""
    if not isinstance(saved, TensorStorageMetadata):
        return blocks[0][1]
    tensor = torch.empty(saved.size, dtype=saved.properties.dtype, device="cpu")
    _copy_blocks(tensor, blocks)
    return tensor


def _load_state_dict(
    state_dict, storage_reader, process_group=None, coordinator_rank=0, no_dist=False, planner=None
):
    """As :func:`load`; with an _EmptyStateDictLoadPlanner everything saved goes into the empty state."""
    if type(planner).__name__ != "_EmptyStateDictLoadPlanner":
        load(state_dict, storage_reader=storage_reader, planner=planner)
        return
    reader = chosen("load", storage_reader, FileSystemReader, None)
    metadata = reader.read_metadata()
    blocks = reader._blocks(metadata)
    for name, saved in metadata.state_dict_metadata.items():
        path = (metadata.planner_data or {}).get(name, (name,))
        if planner.keys is None or any(name == key or name.startswith(f"{key}.") for key in planner.keys):
            put(state_dict, path, _whole(saved, blocks(name)))


def load_state_dict(
    state_dict, storage_reader, process_group=None, coordinator_rank=0, no_dist=False, planner=None
):
    """The older name of :func:`load`."""
    load(state_dict, storage_reader=storage_reader, planner=planner)


attach(__name__)
