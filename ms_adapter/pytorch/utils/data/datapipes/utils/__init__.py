"""Helpers of datapipes."""

from . import common
