"""torch.npu: the calls that scripts for Ascend make, for the accelerator or the CPU in its place."""

from .._standin import *  # noqa: F403 - the same answers as torch.cuda's
from ..cuda import Event, Stream, StreamContext, current_stream, default_stream
from . import amp


def set_compile_mode(jit_compile=False):
    """Accepted: operators are not compiled on the way."""


def set_option(option):
    """Accepted: there is no compiler of Ascend to set."""
