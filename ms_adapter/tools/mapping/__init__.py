"""What MindSpore calls PyTorch's names, and where the two differ: the data behind `ms-adapter map`."""

from .table import Counterpart, Difference, Record, lookup, near, reverse

__all__ = ["Counterpart", "Difference", "Record", "lookup", "near", "reverse"]
