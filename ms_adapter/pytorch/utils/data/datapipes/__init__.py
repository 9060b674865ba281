"""Datapipes: data sets built by chaining small steps."""

from . import datapipe, iter, map, utils
