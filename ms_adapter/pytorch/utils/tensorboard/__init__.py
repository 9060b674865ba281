"""torch.utils.tensorboard: event files for TensorBoard, written through the package ``tensorboard``."""

import importlib

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]


def __getattr__(name):
    if name not in __all__ and name not in ("writer", "summary"):
        raise AttributeError(f"module 'torch.utils.tensorboard' has no attribute '{name}'")
    try:
        import tensorboard  # noqa: F401 - asked for here, to say what is missing
    except ImportError as err:
        raise ImportError(
            f"torch.utils.tensorboard.{name} writes event files through the package tensorboard, which "
            f"cannot be imported ({err}): pip install tensorboard"
        ) from err
    if name == "summary":
        return importlib.import_module(f"{__name__}.summary")
    writer = importlib.import_module(f"{__name__}.writer")
    return writer if name == "writer" else getattr(writer, name)
