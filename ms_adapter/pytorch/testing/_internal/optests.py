"""Tests of operators made of a test case's own: each runs once more with every operator it calls checked."""

import functools

import ms_adapter.pytorch as torch

from ...library import opcheck
from ...overrides import TorchFunctionMode

__all__ = ["generate_opcheck_tests", "is_inside_opcheck_mode", "opcheck"]

_TESTS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
_inside = False


def is_inside_opcheck_mode():
    """Whether one of the tests made here runs."""
    return _inside


class _Checked(TorchFunctionMode):
    """Checks each call of an operator of some namespaces with torch.library.opcheck as well."""

    def __init__(self, namespaces, check):
        super().__init__()
        self._namespaces, self._check = namespaces, check

    def __enter__(self):
        global _inside
        _inside = True
        return super().__enter__()

    def __exit__(self, *exc_info):
        global _inside
        _inside = False
        return super().__exit__(*exc_info)

    def _operator(self, func):
        """The operator of these namespaces that a function is, if it is one."""
        for namespace in self._namespaces:
            if getattr(func, "namespace", getattr(func, "_namespace", None)) == namespace:
                return func
            packet = getattr(getattr(torch.ops, namespace), getattr(func, "__name__", ""), None)
            if packet is not None and packet._function is func:
                return packet.default
        return None

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))  # first: a test may want the error of a wrong call
        operator = self._operator(func)
        if operator is not None:
            opcheck(operator, args, kwargs, test_utils=self._check)
        return result


def generate_opcheck_tests(
    testcase, namespaces, failures_dict_path=None, additional_decorators=None, test_utils=_TESTS
):
    """Give a class of tests further ones: of each ``test_x`` and each check, ``{check}__test_x``.

    They fail where torch.library.opcheck finds fault with a call of an operator of ``namespaces``. What
    the file of known failures names is not left out. ``additional_decorators`` has lists by test name.
    """
    decorators = additional_decorators or {}
    names = [name for name in dir(testcase) if name.startswith("test_") and callable(getattr(testcase, name))]
    for name in names:
        method = getattr(testcase, name)
        if getattr(method, "_torch_dont_generate_opcheck_tests", False):
            continue
        for check in test_utils:
            made = _with_check(method, namespaces, check)
            for decorate in decorators.get(f"{check}__{name}", ()):
                made = decorate(made)
            setattr(testcase, f"{check}__{name}", made)


def _with_check(method, namespaces, check):
    @functools.wraps(method)
    def made(*args, **kwargs):
        with _Checked(namespaces, check):
            return method(*args, **kwargs)

    marks = getattr(method, "pytestmark", ())
    if any(mark.name == "opcheck_only_one" for mark in marks):
        made.pytestmark = [_first_of(mark) if mark.name == "parametrize" else mark for mark in marks]
    return made


def _first_of(mark):
    """The mark with the first of its values alone, unless they are devices."""
    names, values = mark.args
    if names == "device":
        return mark
    return type(mark)(mark.name, (names, (next(iter(values)),)), mark.kwargs, _ispytest=True)


def dontGenerateOpCheckTests(reason):  # noqa: N802 - PyTorch's name
    """A decorator for a test of which none is to be made, with the reason."""

    def mark(method):
        method._torch_dont_generate_opcheck_tests = True
        return method

    return mark
