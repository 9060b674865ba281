"""torch.nn: modules, their parameters and initialisation, and the functions they call."""
from . import functional, init
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
from .modules import *  # noqa: F403
from .modules.module import Module
from . import modules, parameter, utils
