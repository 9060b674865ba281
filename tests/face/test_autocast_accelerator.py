"""Autocast's column for accelerators against PyTorch's for CUDA: fake tensors there, a fake device here."""

import random
import re

import numpy as np
import pytest
import torch
from reference_build import asks_no_driver
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing._internal.common_methods_invocations import op_db

import ms_adapter.pytorch as face
from conformance.autocast import converted
from conformance.compare import tensors
from conformance.face import Face, Missing, record_constructors
from conformance.ops import exists, full_name, pick
from ms_adapter import _C

record_constructors()
ORACLE, FACE = Face("torch"), Face("ms_adapter.pytorch")
DEVICE = "npu"

# Where the dtypes differ, and why: patterns of names.
KNOWN = {
    "complex|polar|view_as_complex|stft|fft.*": "half types have no complex numbers and no transforms here",
    "masked.*": "composed here of operators that autocast, not there",
    "native_.*|_native_.*": "statistics of an internal operator",
    "nn.functional.linear_cross_entropy.*": "computed in one piece here",
    "nn.functional.pad/(reflect|replicate).*": "a list of tensors with gaps does not travel to backends yet",
    # Numbers lose on the way to a backend that they are numbers, and widen results of one element.
    "mvlgamma.*|trapz|trapezoid": "numbers",
    "nn.functional.(smooth_l1|cosine_embedding|hinge_embedding|huber|poisson_nll)_loss": "numbers",
    "nn.functional.alpha_dropout": "numbers",
}


def placed(value, device):
    """The same memory as tensors of another device."""
    if isinstance(value, _C.TensorBase):
        return _C.on_device(value, device)
    if isinstance(value, (tuple, list)):
        return tuple(placed(item, device) for item in value)
    return "cpu" if device == "cpu" and getattr(value, "type", None) == DEVICE else value


def run_on_cpu(name, overload, form, args, n_given, callables):
    """A backend that computes on the CPU."""
    if name == "_to_copy":
        tensor, dtype, device, memory_format = args
        copy = _C.call_operator(name, overload, form, placed(tensor, "cpu"), dtype, None, memory_format)
        return placed(copy, DEVICE) if (device or tensor.device).type == DEVICE else copy
    result = _C.call_operator(name, overload, form, *placed(tuple(args), "cpu"))
    return args[0] if form == "inplace" else placed(result, DEVICE)


def tree(value, change):
    """Nested values, each changed."""
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(tree(item, change) for item in value)
    if isinstance(value, dict):
        return {key: tree(item, change) for key, item in value.items()}
    return change(value)


def wanted(op, sample):
    """The dtypes of PyTorch's results; None where it refuses."""
    mode = FakeTensorMode()

    def change(value):
        if isinstance(value, torch.Tensor):
            with mode:
                return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="cuda")
        is_device = isinstance(value, torch.device) or (isinstance(value, str) and value == "cpu")
        return "cuda" if is_device else value

    args, kwargs = tree(((sample.input, *sample.args), sample.kwargs), change)
    torch.set_autocast_enabled("cuda", True)
    try:
        with mode:
            return [str(t.dtype)[6:] for t in tensors(op.op(*args, **kwargs), ORACLE)]
    except Exception:
        return None
    finally:
        torch.set_autocast_enabled("cuda", False)
        torch.clear_autocast_cache()


def ours(fn, sample):
    """The dtypes of our results; None where an operator does not know half types, the error for others."""

    def change(value):
        if isinstance(value, face.Tensor):
            return _C.on_device(value.detach(), DEVICE)
        return face.device(DEVICE) if isinstance(value, face.device) else value

    args, kwargs = tree(FACE.put(((sample.input, *sample.args), sample.kwargs)), change)
    try:
        with face.autocast(DEVICE, dtype=face.float16):
            return [FACE.dtype_name(t.dtype) for t in tensors(fn(*args, **kwargs), FACE)]
    except Exception as err:
        if "ow precision dtypes" in str(err):
            return None
        return f"{type(err).__name__}: {str(err)[:100]}"


def dense(sample):
    return all(t.layout == torch.strided for t in tensors([sample.input, sample.args, sample.kwargs]))


@pytest.fixture(autouse=True)
def accelerator():
    _C.set_backend(DEVICE, run_on_cpu, True)
    yield
    _C.set_backend(DEVICE, None, False)


@asks_no_driver
@pytest.mark.slow
def test_dtypes_of_results():
    wrong, tried = [], 0
    for op in op_db:
        if torch.float32 not in op.supported_dtypes("cpu") or not exists(op, FACE):
            continue
        for seed in (torch.manual_seed, random.seed, np.random.seed):
            seed(0)
        try:
            fn = FACE.adopt(op.op)
        except Missing:
            continue
        for sample in filter(dense, pick(op.sample_inputs("cpu", torch.float32), 1)):
            for given in ("float32", "float16"):
                here = converted(sample, getattr(torch, given))
                want = wanted(op, here)
                if want is None:
                    continue
                tried += 1
                got = ours(fn, here)
                if got is not None and got != want:
                    wrong.append((full_name(op), given, got, want))
    assert tried > 800
    assert not [item for item in wrong if not re.fullmatch("|".join(KNOWN), item[0])], wrong


def test_what_is_refused():
    x = _C.on_device(face.full((2,), 0.5), DEVICE)
    with face.autocast(DEVICE), pytest.raises(RuntimeError, match="binary_cross_entropy_with_logits"):
        face.nn.functional.binary_cross_entropy(x, x)
