"""Operators under autocast: the dtypes of results and gradients are the oracle's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db

from .compare import Record, describe, error_text, tensors
from .face import Face, Missing
from .ops import category, full_name, invoke, pick, prepare

LOWER = ("bfloat16", "float16")
GIVEN = ("float32", "bfloat16", "float16")  # what the inputs are before


def listing(dtypes: list[str] | None) -> list[tuple[str, str]]:
    """Every operator that takes float32, with each dtype that inputs have; `dtypes` chooses among those."""
    ops = [op for op in op_db if torch.float32 in op.supported_dtypes("cpu")]
    return [(f"{full_name(op)}@{d}", category(op)) for op in ops for d in dtypes or GIVEN if d in GIVEN]


def outcome(face: Face, fn: Callable, process: Callable, sample: Any, lower: str, grad: bool) -> Any:
    """The dtypes of results and gradients; `None` where the call is refused."""
    region = face.need("autocast")("cpu", dtype=face.need(lower))
    try:
        with region:
            result, _, leaves = invoke(face, fn, sample, grad=grad)
            outs = list(tensors(result, face))
    except Missing:
        raise
    except Exception:
        return None
    dtypes = [face.dtype_name(t.dtype) for t in outs]
    if not grad:
        return dtypes, []
    try:
        roots = [t for t in tensors(process(result), face) if t.requires_grad and t.dtype.is_floating_point]
        sum(t.sum() for t in roots).backward()
    except Exception:
        return dtypes, None
    return dtypes, [leaf.grad is not None and face.dtype_name(leaf.grad.dtype) for leaf in leaves]


def converted(sample: Any, dtype: torch.dtype) -> Any:
    """The sample with its float32 tensors in another dtype."""

    def change(t: Any) -> Any:
        wide = isinstance(t, torch.Tensor) and t.dtype == torch.float32
        return t.detach().to(dtype).requires_grad_(t.requires_grad) if wide else t

    return sample if dtype == torch.float32 else sample.transform(change)


def run(name: str, oracle: Face, face: Face, rec: Record, opts: Any) -> None:
    ready = prepare(name, oracle, face, rec)
    if ready is None:
        return
    op, dtype, reference, fn = ready
    samples = pick(
        op.sample_inputs("cpu", torch.float32, requires_grad=op.supports_autograd), opts.max_samples
    )
    for index, sample in enumerate(converted(s, dtype) for s in samples):
        for lower in LOWER:
            rec.at(lower, index)
            process = sample.output_process_fn_grad
            want = outcome(oracle, reference, process, sample, lower, op.supports_autograd)
            if want is None:
                rec.add(lower, "skip")
                continue
            info = describe([sample.input, list(sample.args), sample.kwargs])
            try:
                got = outcome(face, fn, face.adopt(process), sample, lower, op.supports_autograd)
            except Exception as err:
                rec.add(lower, "fail", error_text(err), info)
                continue
            same = got is not None and got[0] == want[0] and want[1] in (None, got[1])
            rec.judge(lower, None if same else f"dtypes {got} instead of {want}", info)
