"""Files of tensors as names, dtypes, shapes and places of bytes, without reading these."""

from .entry import Entry
from .read import read_path
