"""Under the runner our classes say ``torch...`` as their module, so that names and pickles read as
PyTorch's.
"""

import sys
from types import FunctionType

_OURS = __name__.rpartition(".")[0]


def speak_as_torch():
    """Rename the modules that our classes and functions name, in every part of the face loaded so far."""
    for module_name, module in list(sys.modules.items()):
        if module is not None and (module_name == _OURS or module_name.startswith(_OURS + ".")):
            for value in list(vars(module).values()):
                if isinstance(value, (type, FunctionType)):
                    _rename(value)


def _rename(value):
    module = value.__module__ or ""
    if module == _OURS or module.startswith(_OURS + "."):
        try:
            value.__module__ = "torch" + module[len(_OURS) :]
        except (AttributeError, TypeError):
            pass  # a type of the core: it says torch by itself
