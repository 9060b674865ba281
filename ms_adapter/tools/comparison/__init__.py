"""Comparing tensors, files and folders of them: what differs, by how much, worst first."""

from .api import compare
from .report import Report, Row
