"""Writing what a training computes: by module or by operator, as statistics or as tensors."""

from .config import Settings
from .session import dump
