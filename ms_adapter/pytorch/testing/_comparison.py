"""Comparison by kinds of values: what other libraries' own test helpers build on, as torchvision's do.

``assert_close`` itself needs none of this; it is in _differences.py.
"""

import numbers
from collections.abc import Mapping, Sequence

import ms_adapter.pytorch as torch

from . import _differences
from ._differences import assert_allclose, assert_close

__all__ = ["assert_allclose", "assert_close"]


class UnsupportedInputs(Exception):  # noqa: N818 - PyTorch's name
    """Raised by a pair for values that are not of its kind."""


class ErrorMeta(Exception):  # noqa: N818 - PyTorch's name
    """What differs: the type of the error, its text, and where in the containers."""

    def __init__(self, type, msg, *, id=()):
        super().__init__(msg)
        self.type, self.msg, self.id = type, msg, id

    def to_error(self, msg=None):
        """The error to raise; ``msg`` replaces the text, or makes another one of it."""
        where = f"\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in self.id)}"
        text = self.msg + (where if self.id else "")
        return self.type(msg(text) if callable(msg) else msg or text)


class Pair:
    """Two values of one kind; ``compare`` raises ErrorMeta where they differ."""

    def __init__(self, actual, expected, *, id=(), **unknown_parameters):
        self.actual, self.expected, self.id = actual, expected, id
        self._unknown_parameters = unknown_parameters

    def compare(self):
        """Raises an ErrorMeta unless the two are close."""
        raise NotImplementedError

    def _fail(self, type, msg, *, id=()):
        raise ErrorMeta(type, msg, id=self.id or id)

    def _require(self, fault):
        if fault:
            self._fail(AssertionError, fault)


class ObjectPair(Pair):
    """Anything, by ``==``."""

    def compare(self):
        if self.actual != self.expected:
            self._fail(AssertionError, f"{self.actual} != {self.expected}")


class NonePair(Pair):
    """None, and what should be."""

    def __init__(self, actual, expected, **other_parameters):
        if actual is not None and expected is not None:
            raise UnsupportedInputs
        super().__init__(actual, expected, **other_parameters)

    def compare(self):
        if self.actual is not self.expected:
            self._fail(AssertionError, f"None mismatch: {self.actual} is not {self.expected}")


class _TolerantPair(Pair):
    """Two values that may differ by a tolerance, by default that of their dtypes."""

    def __init__(self, actual, expected, *, rtol=None, atol=None, equal_nan=False, **other):
        checks = {name: other.pop(f"check_{name}", True) for name in ("device", "dtype", "layout")}
        self.check_stride = other.pop("check_stride", False)
        self.allow_subclasses = other.pop("allow_subclasses", True)
        self.check_device, self.check_dtype, self.check_layout = checks.values()
        super().__init__(actual, expected, **other)
        self.rtol, self.atol, self.equal_nan = rtol, atol, equal_nan

    def _options(self):
        names = ("rtol", "atol", "equal_nan", "check_device", "check_dtype", "check_layout", "check_stride")
        return {name: getattr(self, name) for name in (*names, "allow_subclasses")}


class NumberPair(_TolerantPair):
    """Python's numbers."""

    def __init__(self, actual, expected, *, check_dtype=False, **other_parameters):
        if not all(isinstance(value, numbers.Number) for value in (actual, expected)):
            raise UnsupportedInputs
        super().__init__(actual, expected, check_dtype=check_dtype, **other_parameters)

    def compare(self):
        self._require(_differences._number_difference(self.actual, self.expected, "", self._options()))


class BooleanPair(Pair):
    """True and False."""

    def __init__(self, actual, expected, **other_parameters):
        if not all(isinstance(value, bool) for value in (actual, expected)):
            raise UnsupportedInputs
        super().__init__(actual, expected, **other_parameters)

    def compare(self):
        if self.actual is not self.expected:
            self._fail(AssertionError, f"Booleans mismatch: {self.actual} is not {self.expected}")


class TensorLikePair(_TolerantPair):
    """Tensors, and what makes one."""

    def __init__(self, actual, expected, **other_parameters):
        super().__init__(actual, expected, **other_parameters)
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        if not related or not self.allow_subclasses and type(actual) is not type(expected):
            raise UnsupportedInputs
        try:
            self.actual, self.expected = (_differences._as_tensor(value) for value in (actual, expected))
        except TypeError:
            raise UnsupportedInputs from None
        self.rtol, self.atol = _differences._limits(
            {"rtol": self.rtol, "atol": self.atol}, self.actual.dtype, self.expected.dtype
        )

    def compare(self):
        actual, expected = self.actual, self.expected
        self._compare_attributes(actual, expected)
        actual, expected = self._equalize_attributes(actual, expected)
        self._compare_values(actual, expected)

    def _compare_attributes(self, actual, expected):
        self._require(_differences._attribute_difference(actual, expected, "", self._options()))

    def _equalize_attributes(self, actual, expected):
        """One device, dtype and layout for both."""
        common = torch.promote_types(actual.dtype, expected.dtype)
        return tuple(
            (t.to_dense() if t.layout != torch.strided else t).to(actual.device, common)
            for t in (actual, expected)
        )

    def _compare_values(self, actual, expected):
        self._require(_differences._value_difference(actual, expected, "", self._options()))


def originate_pairs(actual, expected, *, pair_types, sequence_types=(Sequence,), id=(), **options):
    """The pairs of all values in two (nested) containers, each of the first kind that takes it."""
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if set(actual) != set(expected):
            raise ErrorMeta(AssertionError, "The keys of the mappings do not match.", id=id)
        keys = list(actual)
    elif all(isinstance(v, sequence_types) and not isinstance(v, str) for v in (actual, expected)):
        if len(actual) != len(expected):
            lengths = f"{len(actual)} != {len(expected)}"
            raise ErrorMeta(AssertionError, f"The length of the sequences mismatch: {lengths}", id=id)
        keys = range(len(actual))
    else:
        return [_originate_pair(actual, expected, pair_types, id, options)]
    kinds = {"pair_types": pair_types, "sequence_types": sequence_types}
    return [
        pair
        for key in keys
        for pair in originate_pairs(actual[key], expected[key], id=(*id, key), **kinds, **options)
    ]


def _originate_pair(actual, expected, pair_types, id, options):
    for kind in pair_types:
        try:
            return kind(actual, expected, id=id, **options)
        except UnsupportedInputs:
            continue
    kinds = f"{type(actual)} and {type(expected)}"
    raise ErrorMeta(TypeError, f"No comparison pair was able to handle inputs of type {kinds}.", id=id)


def not_close_error_metas(
    actual, expected, *, pair_types=(ObjectPair,), sequence_types=(Sequence,), **options
):
    """The ErrorMeta of every value that is not close; an empty list where all are.

    >>> import ms_adapter.pytorch as torch
    >>> from ms_adapter.pytorch.testing._comparison import NumberPair, not_close_error_metas
    >>> not_close_error_metas([1.0, 2.0], [1.0, 2.0], pair_types=(NumberPair,))
    []
    """
    kinds = {"pair_types": pair_types, "sequence_types": sequence_types}
    try:
        pairs = originate_pairs(actual, expected, **kinds, **options)
    except ErrorMeta as err:
        return [err]
    found = []
    for pair in pairs:
        try:
            pair.compare()
        except ErrorMeta as err:
            found.append(err)
    return found
