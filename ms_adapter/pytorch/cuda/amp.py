"""torch.cuda.amp: mixed precision on CUDA; not here yet."""


def _refuse(name):
    def refuse(*args, **kwargs):
        raise NotImplementedError(
            f"torch.cuda.amp.{name}: mixed precision is not supported yet: train in float32 or bfloat16."
        )

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Raises: mixed precision is not supported yet."
    return refuse


autocast = _refuse("autocast")
GradScaler = _refuse("GradScaler")
