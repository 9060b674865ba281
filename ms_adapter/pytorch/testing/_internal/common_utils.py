"""The test case that libraries' own tests compare tensors with."""

import unittest

import ms_adapter.pytorch as torch

from .. import assert_close

__all__ = ["TestCase", "run_tests"]

run_tests = unittest.main


def _plain(value):
    """A tensor of one element as its number: it may be compared with one."""
    return value.item() if isinstance(value, torch.Tensor) and value.numel() == 1 else value


class TestCase(unittest.TestCase):
    """unittest's test case, whose ``assertEqual`` takes tensors, and containers too, up to a tolerance."""

    def assertEqual(
        self,
        x,
        y,
        msg=None,
        *,
        atol=None,
        rtol=None,
        equal_nan=True,
        exact_dtype=True,
        exact_device=False,
        exact_layout=False,
        exact_stride=False,
    ):
        """AssertionError unless ``x`` and ``y`` are equal; what is no number or tensor, by ``==``.

        >>> import ms_adapter.pytorch as torch
        >>> from ms_adapter.pytorch.testing._internal.common_utils import TestCase
        >>> TestCase().assertEqual([torch.ones(2), "a"], [torch.ones(2), "a"])
        """
        self._compare(
            x,
            y,
            {
                "msg": msg,
                "atol": atol,
                "rtol": rtol,
                "equal_nan": equal_nan,
                "check_dtype": exact_dtype,
                "check_device": exact_device,
                "check_layout": exact_layout,
                "check_stride": exact_stride,
            },
        )

    def _compare(self, x, y, options):
        if isinstance(x, dict) and isinstance(y, dict):
            super().assertEqual(x.keys(), y.keys(), options["msg"])
            for key in x:
                self._compare(x[key], y[key], options)
        elif isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
            super().assertEqual(len(x), len(y), options["msg"])
            for a, b in zip(x, y, strict=True):
                self._compare(a, b, options)
        elif all(isinstance(value, (torch.Tensor, int, float, complex)) for value in (x, y)):
            if isinstance(x, torch.Tensor) != isinstance(y, torch.Tensor):
                x, y = _plain(x), _plain(y)
            assert_close(x, y, **options)
        else:
            super().assertEqual(x, y, options["msg"])
