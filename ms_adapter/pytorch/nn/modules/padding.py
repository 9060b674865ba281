"""Padding as modules: by a constant, by reflection, by the edge, around."""

from .. import functional as F
from .module import Module
from .utils import _ntuple


class _Pad(Module):
    """Pads the last dimensions; ``padding`` is one number, or a pair for each dimension, the last first."""

    __constants__ = ["padding"]

    def __init__(self, padding):
        super().__init__()
        self.padding = _ntuple(2 * self._dims)(padding)

    def forward(self, input):
        self._check_input_dim(input)
        return F.pad(input, self.padding, self._mode)

    def _check_input_dim(self, input):
        """Complain of an input that is neither a batch nor a sample."""

    def extra_repr(self):
        return f"{self.padding}"


class _CircularPad(_Pad):
    def _check_input_dim(self, input):
        wanted = self._dims + 1, self._dims + 2
        if input.dim() not in wanted:
            raise ValueError(f"expected {wanted[0]}D or {wanted[1]}D input (got {input.dim()}D input)")


class _ConstantPad(_Pad):
    __constants__ = ["padding", "value"]

    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_ConstantPad):
    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


_KINDS = {
    "CircularPad": (
        _CircularPad,
        "circular",
        "Pads the last {n} dimensions with the values from the other end.",
    ),
    "ConstantPad": (_ConstantPad, "constant", "Pads the last {n} dimensions with a value."),
    "ReflectionPad": (_Pad, "reflect", "Pads the last {n} dimensions with their reflection at the edge."),
    "ReplicationPad": (_Pad, "replicate", "Pads the last {n} dimensions with their edge's values."),
    "ZeroPad": (_ZeroPad, "constant", "Pads the last {n} dimensions with zeros."),
}
__all__ = [f"{kind}{n}d" for kind in _KINDS for n in (1, 2, 3)]

for _kind, (_base, _mode, _doc) in _KINDS.items():
    for _n in (1, 2, 3):
        _name = f"{_kind}{_n}d"
        _body = {"_dims": _n, "_mode": _mode, "__doc__": _doc.format(n=_n), "__module__": __name__}
        globals()[_name] = type(_name, (_base,), _body)
