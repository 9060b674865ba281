"""assert_close: equal up to a tolerance, or an AssertionError that says where and by how much not."""

import numbers
import warnings
from collections.abc import Mapping, Sequence

import ms_adapter.pytorch as torch

_DEFAULT = {  # relative and absolute tolerance by dtype
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


def _tolerances(*dtypes):
    known = [_DEFAULT.get(str(dtype).removeprefix("torch."), (0.0, 0.0)) for dtype in dtypes]
    return max(rtol for rtol, _ in known), max(atol for _, atol in known)


def assert_close(
    actual,
    expected,
    *,
    allow_subclasses=True,
    rtol=None,
    atol=None,
    equal_nan=False,
    check_device=True,
    check_dtype=True,
    check_layout=True,
    check_stride=False,
    msg=None,
):
    """Raise AssertionError unless ``|actual - expected| <= atol + rtol * |expected|`` everywhere.

    Takes tensors, numbers, and mappings and sequences of them. The tolerances default by dtype; give both or
    none.

    >>> import ms_adapter.pytorch as torch
    >>> torch.testing.assert_close(torch.tensor([1.0]), torch.tensor([1.0 + 1e-7]))
    """
    if (rtol is None) != (atol is None):
        raise ValueError("rtol and atol must both be specified or both be unspecified")
    options = {
        "rtol": rtol,
        "atol": atol,
        "equal_nan": equal_nan,
        "check_device": check_device,
        "check_dtype": check_dtype,
        "check_layout": check_layout,
        "check_stride": check_stride,
        "allow_subclasses": allow_subclasses,
    }
    fault = _difference(actual, expected, "", options)
    if fault is None:
        return
    raise AssertionError(msg(fault) if callable(msg) else msg or fault)


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """:func:`assert_close` whatever the dtypes, devices and strides. Deprecated."""
    warnings.warn("torch.testing.assert_allclose is deprecated: use assert_close.", stacklevel=2)
    assert_close(
        torch.as_tensor(actual),
        torch.as_tensor(expected),
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=False,
        check_dtype=False,
        msg=msg or None,
    )


def _difference(actual, expected, where, options):
    """What is wrong, as a text; None where nothing is."""
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if set(actual) != set(expected):
            odd = sorted(map(repr, set(actual) ^ set(expected)))
            return f"The keys of the mappings do not match: {odd}{where}"
        pairs = [(key, actual[key], expected[key]) for key in actual]
    elif _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            return f"The length of the sequences mismatch: {len(actual)} != {len(expected)}{where}"
        pairs = list(zip(range(len(actual)), actual, expected, strict=True))
    else:
        return _leaf_difference(actual, expected, where, options)
    for key, a, b in pairs:
        fault = _difference(a, b, f"\n\nThe failure occurred for item [{key!r}]{where.strip()}", options)
        if fault:
            return fault
    return None


def _is_sequence(value):
    return isinstance(value, Sequence) and not isinstance(value, str)


def _leaf_difference(actual, expected, where, options):
    if actual is None or expected is None:
        return None if actual is expected else f"None mismatch: {actual} is not {expected}{where}"
    is_number = [isinstance(value, numbers.Number) for value in (actual, expected)]
    if all(is_number):
        return _number_difference(actual, expected, where, options)
    if any(is_number):
        raise TypeError(f"assert_close: cannot compare a {type(actual)} with a {type(expected)}")
    actual, expected = _as_tensor(actual), _as_tensor(expected)
    if not options["allow_subclasses"] and type(actual) is not type(expected):
        raise TypeError(f"assert_close: {type(actual)} is not {type(expected)} and allow_subclasses=False")
    return _attribute_difference(actual, expected, where, options) or _value_difference(
        actual, expected, where, options
    )


def _as_tensor(value):
    if isinstance(value, torch.Tensor):
        return value.detach()
    try:
        return torch.as_tensor(value)
    except Exception as err:
        raise TypeError(f"assert_close: no comparison for objects of type {type(value)}") from err


def _attribute_difference(actual, expected, where, options):
    if actual.shape != expected.shape:
        return f"The values for attribute 'shape' do not match: {actual.shape} != {expected.shape}.{where}"
    checks = [
        (options["check_layout"], "layout"),
        (options["check_device"], "device"),
        (options["check_dtype"], "dtype"),
    ]
    for wanted, name in checks:
        a, b = getattr(actual, name), getattr(expected, name)
        if wanted and a != b:
            return f"The values for attribute '{name}' do not match: {a} != {b}.{where}"
    if options["check_stride"] and actual.stride() != expected.stride():
        a, b = actual.stride(), expected.stride()
        return f"The values for attribute 'stride()' do not match: {a} != {b}.{where}"
    return None


def _limits(options, *dtypes):
    if options["rtol"] is None:
        return _tolerances(*dtypes)
    return options["rtol"], options["atol"]


def _value_difference(actual, expected, where, options):
    if actual.is_meta or actual.numel() == 0:
        return None
    rtol, atol = _limits(options, actual.dtype, expected.dtype)
    if actual.layout != torch.strided:
        actual, expected = actual.to_dense(), expected.to_dense()
    if actual.dtype != expected.dtype:
        common = torch.promote_types(actual.dtype, expected.dtype)
        actual, expected = actual.to(common), expected.to(common)
    expected = expected.to(actual.device)
    matches = _close(actual, expected, rtol, atol, options["equal_nan"])
    if bool(matches.all()):
        return None
    return _describe(actual, expected, matches, rtol, atol) + where


def _close(actual, expected, rtol, atol, equal_nan):
    """Where the elements are equal, infinities too, or within the tolerance."""
    matches = actual == expected
    if equal_nan:
        matches = matches | ((actual != actual) & (expected != expected))
    if rtol == atol == 0:
        return matches
    if not (actual.is_floating_point() or actual.is_complex()):
        actual, expected = actual.to(torch.int64), expected.to(torch.int64)  # uint8's 1 - 2 is 255
    within = (actual - expected).abs() <= atol + rtol * expected.abs()
    return matches | (within & (expected.abs() != float("inf")))


def _describe(actual, expected, matches, rtol, atol):
    total, wrong = matches.numel(), int((~matches).sum())
    kind = "Tensor-likes are not equal!" if rtol == atol == 0 else "Tensor-likes are not close!"
    if matches.dim() == 0:
        kind = kind.replace("Tensor-likes", "Scalars")
    exact = actual.dtype == torch.bool or not (actual.is_floating_point() or actual.is_complex())
    a, b = (t.to(torch.int64 if exact else t.dtype) for t in (actual, expected))
    gap = (a - b).abs()
    relative = gap / b.abs()
    gap = torch.where(matches, torch.zeros_like(gap), gap)
    relative = torch.where(matches, torch.zeros_like(relative), relative)
    lines = [f"Mismatched elements: {wrong} / {total} ({wrong / total:.1%})"]
    for name, values, limit in (("absolute", gap, atol), ("relative", relative, rtol)):
        place = int(values.reshape(-1).argmax())
        allowed = f" (up to {limit} allowed)" if (rtol, atol) != (0, 0) else ""
        index = _unravel(place, matches.shape)
        lines.append(
            f"Greatest {name} difference: {values.reshape(-1)[place].item()} at index {index}{allowed}"
        )
    return f"{kind}\n\n" + "\n".join(lines)


def _unravel(place, shape):
    index = []
    for size in reversed(shape):
        index.append(place % size)
        place //= size
    return tuple(reversed(index))


def _number_difference(actual, expected, where, options):
    if options["check_dtype"] and type(actual) is not type(expected):
        return f"The (d)types do not match: {type(actual)} != {type(expected)}.{where}"
    dtypes = {complex: torch.complex128, float: torch.float64, int: torch.int64, bool: torch.bool}
    rtol, atol = _limits(options, *(dtypes.get(type(value), torch.float64) for value in (actual, expected)))
    if options["equal_nan"] and actual != actual and expected != expected:
        return None
    gap = abs(actual - expected)
    if actual == expected or gap <= atol + rtol * abs(expected):
        return None
    verb, extra = ("equal", "") if rtol == atol == 0 else ("close", f" (up to {atol} allowed)")
    relative = gap / abs(expected) if expected else float("inf")
    if verb == "close":
        text = f"Absolute difference: {gap}{extra}\nRelative difference: {relative} (up to {rtol} allowed)"
    else:
        text = f"Absolute difference: {gap}\nRelative difference: {relative}"
    return f"Scalars are not {verb}!\n\nExpected {expected} but got {actual}.\n{text}{where}"
