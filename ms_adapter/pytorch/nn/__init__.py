"""torch.nn: modules, their parameters and initialisation, and the functions they call."""

from . import functional, init, modules, parameter, utils
from .modules import *  # noqa: F403
from .modules.module import Module
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
