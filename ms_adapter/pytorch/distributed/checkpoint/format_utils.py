"""From a folder that torch.distributed.checkpoint wrote to one file of torch.save, and back."""

import ms_adapter.pytorch as torch

from ..._missing import attach
from .default_planner import _EmptyStateDictLoadPlanner
from .filesystem import FileSystemReader
from .state_dict_loader import _load_state_dict
from .state_dict_saver import save

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(dcp_checkpoint_dir, torch_save_path):
    """Write the state that a folder has into one file, for torch.load."""
    state = {}
    _load_state_dict(state, FileSystemReader(dcp_checkpoint_dir), planner=_EmptyStateDictLoadPlanner())
    torch.save(state, torch_save_path)


def torch_save_to_dcp(torch_save_path, dcp_checkpoint_dir):
    """Write the state of a file of torch.save into a folder. It runs what the file says."""
    save(torch.load(torch_save_path, weights_only=False), checkpoint_id=dcp_checkpoint_dir)


attach(__name__)
