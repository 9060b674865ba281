"""The text of a tensor: numbers aligned, long dimensions summarised, suffixes for what else it is."""

import contextlib
import dataclasses
import math

import ms_adapter.pytorch as torch
from ms_adapter import _C


@dataclasses.dataclass
class _PrinterOptions:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PRINT_OPTS = _PrinterOptions()
_PROFILES = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}
_GAP = object()  # stands for the elements that a summary leaves out


def set_printoptions(
    precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None
):
    """Set how tensors are printed.

    Args:
        precision: digits after the point (4).
        threshold: number of elements above which a tensor is summarised (1000).
        edgeitems: elements shown at each end of a summarised dimension (3).
        linewidth: characters in a line (80).
        profile: "default", "short" or "full", before the other arguments.
        sci_mode: scientific notation always (True), never (False), or as needed (None).

    >>> import ms_adapter.pytorch as torch
    >>> torch.set_printoptions(precision=2)
    >>> torch.tensor([1.12345])
    tensor([1.12])
    >>> torch.set_printoptions(profile="default")
    """
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    settings = {**_PROFILES.get(profile, {}), **{k: v for k, v in given.items() if v is not None}}
    for name, value in settings.items():
        setattr(PRINT_OPTS, name, value)
    PRINT_OPTS.sci_mode = sci_mode


def get_printoptions():
    """The settings of :func:`set_printoptions`, as a dictionary."""
    return dataclasses.asdict(PRINT_OPTS)


@contextlib.contextmanager
def printoptions(**kwargs):
    """The settings of :func:`set_printoptions` for a block."""
    before = get_printoptions()
    set_printoptions(**kwargs)
    try:
        yield
    finally:
        set_printoptions(**before)


class _Formatter:
    """Chooses one notation and one width for all the values of a tensor."""

    def __init__(self, values, floating, zeros=(0,)):
        self.floating = floating
        self.int_mode, self.sci_mode, self.width = True, False, 1
        if not floating:
            self.width = max([1, *(len(str(value)) for value in values)])
            return
        finite = [value for value in values if math.isfinite(value) and value not in zeros]
        if not finite:
            return
        self.int_mode = all(value == math.ceil(value) for value in finite)
        sizes = [abs(value) for value in finite]
        smallest, largest = min(sizes), max(sizes)
        wide = largest / smallest > 1000.0 or largest > 1.0e8 or smallest < 1.0e-4
        self.sci_mode = wide if PRINT_OPTS.sci_mode is None else PRINT_OPTS.sci_mode
        self.width = max([1, *(len(self._number(value)) for value in finite)])

    def _number(self, value):
        if self.sci_mode:
            return f"{value:.{PRINT_OPTS.precision}e}"
        if not self.int_mode:
            return f"{value:.{PRINT_OPTS.precision}f}"
        return f"{value:.0f}" + ("." if math.isfinite(value) else "")

    def format(self, value):
        """``value`` padded to the common width."""
        return (self._number(value) if self.floating else str(value)).rjust(self.width)


class _ComplexFormatter:
    """A formatter each for the real and the imaginary parts."""

    def __init__(self, values):
        self.real = _Formatter([value.real for value in values], True)
        self.imag = _Formatter([value.imag for value in values], True)
        self.width = self.real.width + self.imag.width + 1

    def format(self, value):
        """The two parts joined by their sign."""
        imag = (self.imag.format(value.imag) + "j").lstrip()
        return self.real.format(value.real) + ("" if imag[0] in "+-" else "+") + imag


def _nested(tensor, summarize):
    """The elements as nested lists, with gaps where a summary leaves elements out."""
    edge = PRINT_OPTS.edgeitems
    if not summarize or tensor.dim() == 0:
        return tensor.tolist()
    if tensor.dim() == 1 and edge == 0:
        return [_GAP]
    size = tensor.size(0)
    if size <= 2 * edge:
        return tensor.tolist() if tensor.dim() == 1 else [_nested(part, True) for part in tensor]
    if tensor.dim() == 1:
        return [*tensor[:edge].tolist(), _GAP, *tensor[-edge:].tolist()]
    first = [_nested(tensor[i], True) for i in range(edge)]
    last = [_nested(tensor[i], True) for i in range(size - edge, size)]
    return [*first, _GAP, *last]


def _leaves(nested):
    if not isinstance(nested, list):
        return [] if nested is _GAP else [nested]
    return [leaf for item in nested for leaf in _leaves(item)]


def _vector_text(values, indent, formatter):
    per_line = max(1, (PRINT_OPTS.linewidth - indent) // (formatter.width + 2))
    only_gap = values == [_GAP]
    texts = [
        ("..." if only_gap else " ...") if value is _GAP else formatter.format(value) for value in values
    ]
    lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _nested_text(nested, dim, indent, formatter):
    if dim == 0:
        return formatter.format(nested)
    if dim == 1:
        return _vector_text(nested, indent, formatter)
    parts = ["..." if item is _GAP else _nested_text(item, dim - 1, indent + 1, formatter) for item in nested]
    return "[" + ("," + "\n" * (dim - 1) + " " * (indent + 1)).join(parts) + "]"


def _tensor_str(tensor, indent):
    """The elements of a dense tensor, starting in column ``indent``."""
    if tensor.numel() == 0:
        return "[]"
    if tensor.dtype == torch.float4_e2m1fn_x2:  # pairs of numbers: PyTorch, too, shows their bytes
        tensor = tensor.view(torch.uint8).float()
    nested = _nested(tensor, tensor.numel() > PRINT_OPTS.threshold)
    values = _leaves(nested)
    if tensor.dtype.is_complex:
        formatter = _ComplexFormatter(values)
    else:
        # The smallest power of two is what a zero becomes in this dtype, and does not set the notation.
        zeros = (2.0**-127,) if tensor.dtype == torch.float8_e8m0fnu else (0,)
        formatter = _Formatter(values, tensor.dtype.is_floating_point, zeros)
    return _nested_text(nested, tensor.dim(), indent, formatter)


def _add_suffixes(text, suffixes, indent, force_newline):
    pieces = [text]
    line_length = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if force_newline or line_length + len(suffix) + 2 > PRINT_OPTS.linewidth:
            pieces.append(",\n" + " " * indent + suffix)
            line_length = indent + len(suffix)
            force_newline = False
        else:
            pieces.append(", " + suffix)
            line_length += len(suffix) + 2
    return "".join(pieces) + ")"


def _dense(tensor, indent, has_default_dtype):
    """The text and suffixes of a strided tensor."""
    suffixes = []
    is_default_float = tensor.dtype == torch.get_default_dtype()
    if tensor.is_meta:
        suffixes.append(f"size={tuple(tensor.shape)}")
        if not is_default_float:
            suffixes.append(f"dtype={tensor.dtype}")
        return "...", suffixes
    if tensor.numel() == 0:
        if tensor.dim() != 1:
            suffixes.append(f"size={tuple(tensor.shape)}")
        if not is_default_float:
            suffixes.append(f"dtype={tensor.dtype}")
        return "[]", suffixes
    if not PRINT_OPTS.edgeitems:
        suffixes.append(f"size={tuple(tensor.shape)}")
    if not has_default_dtype:
        suffixes.append(f"dtype={tensor.dtype}")
    return _tensor_str(tensor, indent), suffixes


_PART_NAMES = {
    torch.sparse_coo: ("indices", "values"),
    torch.sparse_csr: ("crow_indices", "col_indices", "values"),
    torch.sparse_csc: ("ccol_indices", "row_indices", "values"),
    torch.sparse_bsr: ("crow_indices", "col_indices", "values"),
    torch.sparse_bsc: ("ccol_indices", "row_indices", "values"),
}


def _sparse(tensor, indent, has_default_dtype):
    """The text and suffixes of a sparse tensor: its parts one below the other."""
    suffixes = [f"size={tuple(tensor.shape)}", f"nnz={tensor._nnz()}"]
    if not has_default_dtype:
        suffixes.append(f"dtype={tensor.dtype}")
    parts = []
    for name, part in zip(_PART_NAMES[tensor.layout], torch._utils._sparse_parts(tensor), strict=False):
        prefix = f"{name}=tensor("
        text = _tensor_str(part, indent + len(prefix))
        if part.numel() == 0:
            text += f", size={tuple(part.shape)}"
        parts.append(prefix + text + ")")
    return (",\n" + " " * indent).join(parts), suffixes


def _str(self, *, tensor_contents=None):
    """The representation of a tensor, as ``repr`` gives it."""
    with torch.no_grad():
        return _str_intern(self, tensor_contents)


def _batched(tensor, level):
    """A tensor of a vmap, as PyTorch shows one: the values of all examples."""
    value, dim = _C.transforms.unbatch(tensor, level)
    return f"BatchedTensor(lvl={level}, bdim={dim}, value=\n    {_str(value)}\n)"


def _str_intern(tensor, tensor_contents):
    if level := _C.transforms.vmap_level(tensor):
        return _batched(tensor, level)
    plain = type(tensor) is torch.Tensor or type(tensor) is torch.nn.Parameter
    prefix = "tensor(" if plain else f"{type(tensor).__name__}("
    indent = len(prefix)
    suffixes = []
    if tensor.device.type != str(torch.get_default_device()):
        suffixes.append(f"device='{tensor.device}'")
    default = torch.get_default_dtype()
    default_complex = torch.complex128 if default == torch.float64 else torch.complex64
    has_default_dtype = tensor.dtype in (default, default_complex, torch.int64, torch.bool)
    data = tensor.detach()
    text, more = (_dense if tensor.layout == torch.strided else _sparse)(data, indent, has_default_dtype)
    suffixes += more
    if tensor_contents is not None:
        text = tensor_contents
    if tensor.layout != torch.strided:
        suffixes.append(f"layout={tensor.layout}")
    if tensor.grad_fn is not None:
        suffixes.append(f"grad_fn=<{type(tensor.grad_fn).__name__}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    result = _add_suffixes(prefix + text, suffixes, indent, force_newline=tensor.is_sparse)
    if isinstance(tensor, torch.nn.Parameter) and not plain:
        result = f"Parameter({result})"
    return result
