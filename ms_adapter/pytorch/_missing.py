"""What a name that PyTorch has and we lack answers: an AttributeError that says so and what to do next."""

import sys

_OURS = __name__.rpartition(".")[0]


def attach(module_name):
    """Give a module of the face the ``__getattr__`` that explains a missing name."""
    public = "torch" + module_name[len(_OURS) :]

    def __getattr__(name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"module '{public}' has no attribute '{name}'")
        raise AttributeError(
            f"module '{public}' has no attribute '{name}' in ms_adapter. If PyTorch 2.13 has "
            f"{public}.{name}, it is not supported yet: docs/support.md lists what is, "
            "docs/adding-an-operator.md shows how an operator is added."
        )

    vars(sys.modules[module_name]).setdefault("__getattr__", __getattr__)


def attach_everywhere():
    """Do so for every module of the face that is loaded and public."""
    for name in list(sys.modules):
        if (name == _OURS or name.startswith(_OURS + ".")) and "._" not in name[len(_OURS) :]:
            attach(name)
