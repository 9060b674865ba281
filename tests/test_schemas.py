"""The rows' parameters against PyTorch's own schemas: names, defaults, what is keyword-only."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from conformance.face import dotted  # noqa: E402 - needs PyTorch
from opgen.emit_tables import public_names  # noqa: E402
from opgen.load import Row, load  # noqa: E402

ROWS = load(Path(__file__).parent.parent / "ops")
FUNCTIONS, METHODS = public_names(ROWS)
PREFIX = {"linalg.": "linalg_", "fft.": "fft_", "special.": "special_", "": ""}
FACTORY = {"dtype", "layout", "device", "pin_memory", "requires_grad", "generator", "memory_format", "names"}
# Words in overloads that only other devices, quantized or named tensors have, or that a row spells otherwise.
OTHER = {"out_dtype", "Dimname", "QScheme", "test_element", "element"}
LEFT_OUT = {"eq.Tensor_list", "ne.Tensor_list", "sort.Tensor"}  # of TorchScript's lists


def aten_name(path: str) -> str:
    space = next(prefix for prefix in PREFIX if path.startswith(prefix))
    return PREFIX[space] + path.removeprefix(space)


def schemas() -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = defaultdict(list)
    for schema in torch._C._jit_get_all_schemas():
        if schema.name.startswith("aten::"):
            found[schema.name[6:]].append(schema)
    return found


SCHEMAS = schemas()


def plain(default: Any) -> Any:
    """A default as a number, a word or a list of numbers."""
    if isinstance(default, str):
        text = default.strip("\"'")
        if text in ("True", "False", "None"):
            return {"True": True, "False": False, "None": None}[text]
        if text.startswith("["):
            return [float(part) for part in text[1:-1].split(",") if part.strip()]
        try:
            return float(text)
        except ValueError:
            return text
    if isinstance(default, list):
        return [float(item) for item in default]
    return default


def same_default(ours: Any, theirs: Any) -> bool:
    ours, theirs = plain(ours), plain(theirs)
    if isinstance(theirs, list) and not isinstance(ours, list):  # int[2] stride=1
        return all(item == ours for item in theirs)
    return ours == theirs


def wanted(schema: Any) -> dict[str, Any]:
    """Name -> argument, as the Python binding calls them."""
    arguments = {("input" if a.name == "self" else a.name): a for a in schema.arguments if not a.is_out}
    return {name: a for name, a in arguments.items() if name not in FACTORY}


def default_of(name: str, argument: Any) -> Any:
    """What PyTorch's Python binding takes: it reads the schema's mean as 0, none (`torch.kl_div`)."""
    return 0 if name == "reduction" else argument.default_value


def fits(row: Row, arguments: dict[str, Any]) -> bool:
    params = {p.name: p for p in row.schema.params if p.name not in FACTORY}
    if not set(params) >= set(arguments) or any(
        params[n].default is None for n in set(params) - set(arguments)
    ):
        return False
    for name, theirs in arguments.items():
        ours = params[name]
        if theirs.has_default_value() and (
            ours.default is None or not same_default(ours.default, default_of(name, theirs))
        ):
            return False
        if theirs.kwarg_only and not ours.keyword_only and theirs.has_default_value():
            return False
    positional = [name for name, a in arguments.items() if not a.kwarg_only]
    return [p for p in params if p in positional] == positional


def cases() -> list[tuple[str, Any]]:
    found = []
    for path in FUNCTIONS:
        builtin = type(dotted(torch, path)).__name__ == "builtin_function_or_method"
        if not builtin or path.endswith("_") or path.rpartition(".")[2].startswith("_"):
            continue
        for schema in SCHEMAS.get(aten_name(path), []):
            text = str(schema)
            of_tensors = "(Tensor" in text or " Tensor" in text.partition("->")[0] or "layout" in text
            left_out = f"{path}.{schema.overload_name}" in LEFT_OUT or any(word in text for word in OTHER)
            if of_tensors and not left_out and not any(a.is_out for a in schema.arguments):
                found.append((path, schema))
    return found


@pytest.mark.parametrize(
    ("path", "schema"), [pytest.param(p, s, id=f"{p}.{s.overload_name}") for p, s in cases()]
)
def test_a_row_takes_what_the_schema_says(path: str, schema: Any) -> None:
    rows = [row for row, _ in FUNCTIONS[path]]
    assert any(fits(row, wanted(schema)) for row in rows), f"{schema}\n" + "\n".join(
        r.schema.text for r in rows
    )
