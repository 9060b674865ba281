"""torch.distributed.checkpoint.save: a nested state of one process into a folder of files."""

from ..._missing import attach
from ...futures import Future
from ._nesting import flatten
from .filesystem import FileSystemWriter
from .stateful import Stateful

__all__ = ["async_save", "save", "save_state_dict"]


def chosen(function, given, kind, place):
    """The reader or writer that was given, or that of a folder; a TypeError for one that is not ours."""
    if given is None:
        if place is None:
            raise RuntimeError(f"{function}: give checkpoint_id, the folder, or a {kind.__name__}")
        return kind(place)
    if not isinstance(given, kind):
        raise NotImplementedError(f"{function}: {type(given).__name__} is not supported; {kind.__name__} is")
    return given


def states_of(state):
    """The state with the own states of what has one in its place."""
    return {key: value.state_dict() if isinstance(value, Stateful) else value for key, value in state.items()}


def save(
    state_dict, *, checkpoint_id=None, storage_writer=None, planner=None, process_group=None, no_dist=False,
    use_collectives=True,
):  # fmt: skip
    """Save a state, nested as it may be, into the folder ``checkpoint_id``; gives its Metadata.

    What has ``state_dict()`` and ``load_state_dict()`` (modules, optimizers) is saved by its state. PyTorch
    reads these folders, and :func:`load` PyTorch's. NotImplementedError for other planners and writers.

    >>> import tempfile
    >>> import ms_adapter.pytorch as torch
    >>> import ms_adapter.pytorch.distributed.checkpoint as dcp
    >>> folder = tempfile.mkdtemp()
    >>> sorted(dcp.save({"model": {"w": torch.ones(2)}, "step": 3}, checkpoint_id=folder).state_dict_metadata)
    ['model.w', 'step']
    >>> state = {"model": {"w": torch.zeros(2)}, "step": 0}
    >>> dcp.load(state, checkpoint_id=folder)
    >>> state
    {'model': {'w': tensor([1., 1.])}, 'step': 3}
    """
    refuse_planner("save", planner, "DefaultSavePlanner")
    writer = chosen("save", storage_writer, FileSystemWriter, checkpoint_id)
    return writer._write(*flatten(states_of(state_dict)))


def refuse_planner(function, planner, *known):
    """NotImplementedError for a planner of a class other than the known ones."""
    if planner is not None and type(planner).__name__ not in known:
        raise NotImplementedError(f"{function}: planner {type(planner).__name__}; {' or '.join(known)} is")


def async_save(state_dict, *, checkpoint_id=None, storage_writer=None, planner=None, **options):
    """As :func:`save`, at once: gives a future that has the Metadata already."""
    done = Future()
    done.set_result(
        save(state_dict, checkpoint_id=checkpoint_id, storage_writer=storage_writer, planner=planner)
    )
    return done


def save_state_dict(
    state_dict, storage_writer, process_group=None, coordinator_rank=0, no_dist=False, planner=None
):
    """The older name of :func:`save`."""
    return save(state_dict, storage_writer=storage_writer, planner=planner)


attach(__name__)
