"""torch.export: programs in PyTorch's exported form are not made or read here; the names say so."""

import dataclasses

__all__ = [
    "Dim",
    "ExportGraphSignature",
    "ExportedProgram",
    "dims",
    "export",
    "export_for_training",
    "load",
    "register_dataclass",
    "save",
    "unflatten",
]


class _DimHint:
    """How a size may vary: Dim.AUTO and the like."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"Dim.{self.name}"


class Dim:
    """A named size, for ``dynamic_shapes``.

    >>> Dim("batch", min=1, max=8)
    Dim('batch', min=1, max=8)
    """

    AUTO, DYNAMIC, STATIC = map(_DimHint, ("AUTO", "DYNAMIC", "STATIC"))

    def __init__(self, name, *, min=None, max=None):
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__, self.min, self.max = name, min, max

    def __repr__(self):
        return f"Dim({self.__name__!r}, min={self.min}, max={self.max})"


def dims(*names, min=None, max=None):
    """Several Dim at once."""
    return tuple(Dim(name, min=min, max=max) for name in names)


class ExportedProgram:
    """No program is one."""


class ExportGraphSignature:
    """No program has one."""


def register_dataclass(cls, *, serialized_type_name=None):
    """Lets trees go through a dataclass's fields."""
    from ms_adapter.pytorch.utils import _pytree

    names = [field.name for field in dataclasses.fields(cls)]
    _pytree.register_pytree_node(
        cls,
        lambda value: ([getattr(value, name) for name in names], None),
        lambda values, _: cls(**dict(zip(names, values))),
    )


def _refuse(name):
    def refuse(*args, **kwargs):
        raise NotImplementedError(
            f"torch.export.{name}: ms_adapter does not make or run exported programs. "
            "torch.fx.symbolic_trace gives a "
            "graph of a module; to keep a model, save its state_dict with torch.save."
        )

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Raises NotImplementedError: exported programs are not supported."
    return refuse


export, export_for_training, load, save, unflatten, draft_export = map(
    _refuse, ("export", "export_for_training", "load", "save", "unflatten", "draft_export")
)
