"""What mask functions are called in, so that they may index with the elements that vmap gives them."""

import contextlib

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex(contextlib.nullcontext):
    """Inside, ``x[i]`` with tensors ``i`` gathers also under vmap. It does so everywhere here."""
