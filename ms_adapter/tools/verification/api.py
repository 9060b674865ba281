"""`verify(reference_module, our_module, inputs)`: two modules of one process, module by module."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

from ms_adapter.tools.comparison.naming import match
from ms_adapter.tools.formats import Entry

from .blame import find_culprit
from .child.perturb import Noise
from .child.recorder import Recorder
from .child.render import tensors_in
from .child.values import Store
from .chunks import read_chunk
from .finding import Finding, describe, describe_asked
from .pardon import Pardon
from .replays import here
from .reproducer import write_reproducer
from .walk import Walk

_EVERYTHING = 1 << 40
_PERTURBED = ("perturbed-1", "perturbed-2")  # runs of the reference


def verify(
    reference_module: Any,
    our_module: Any,
    inputs: Any,
    *,
    loss: Callable[[Any], Any] | None = None,
    steps: int = 1,
    optimizer: Callable[[Any, Any], Any] | None = None,
    copy_weights: bool = True,
    seed: int = 0,
    folder: str = "ms_adapter_verify",
) -> Finding | None:
    """Compare two modules on the same inputs: forward, loss, gradients, and optimizer steps.

    Args:
        reference_module: a module of PyTorch, or of ours.
        our_module: a module of ours.
        inputs: a NumPy array or a tuple or dictionary of them; passed as tensors of each side.
        loss: from the output to the loss; by default the mean of squares of all that comes out.
        steps: how many times.
        optimizer: ``(torch, parameters)`` to an optimizer of that torch; by default none.
        copy_weights: whether the reference's weights go to ours first, by name or by order and shape.
        seed: of both sides' random numbers.
        folder: where a reproducer is written.

    Returns None where nothing but rounding differs, else the first divergence (:class:`Finding`).

    Raises:
        ValueError: a weight has no counterpart.

    >>> import numpy as np
    >>> import ms_adapter.pytorch as torch
    >>> from ms_adapter.tools import verify
    >>> a = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LayerNorm(4))
    >>> b = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LayerNorm(4, eps=1e-3))
    >>> finding = verify(a, b, np.ones((2, 4), np.float32), folder="/tmp/verify-example")
    >>> finding.module, [d["name"] for d in finding.differences][-1]
    ('Sequential.1', 'eps')
    """
    if copy_weights:
        _copy_weights(reference_module, our_module)
    state = {name: _numpy(tensor).copy() for name, tensor in reference_module.state_dict().items()}
    with tempfile.TemporaryDirectory(prefix="ms-adapter-verify-") as work:
        folders = [os.path.join(work, name) for name in ("reference", "ours", *_PERTURBED)]
        runs = [(reference_module, 0), (our_module, 0)]
        runs += [(reference_module, i + 1) for i in range(len(_PERTURBED))]
        for where, (module, noise) in zip(folders, runs):
            os.mkdir(where)
            _record(module, inputs, loss, steps, optimizer, seed, where, noise)
            if module is reference_module:
                _restore(module, state)
        return _first_divergence(folders, folder, Pardon(here(_torch_of(reference_module))))


def _torch_of(module: Any) -> Any:
    """The framework that a module belongs to: ours says `torch` too, so the class itself is asked."""
    import ms_adapter.pytorch as ours

    if isinstance(module, ours.nn.Module):
        return ours
    return sys.modules["torch"]


def _numpy(tensor: Any) -> Any:
    return tensor.detach().cpu().numpy()


def _copy_weights(reference: Any, ours: Any) -> None:
    """The reference's parameters and buffers into ours.

    Raises:
        ValueError: some of ours has no counterpart.
    """
    torch = _torch_of(ours)
    sides = [module.state_dict() for module in (reference, ours)]
    theirs, mine = ([Entry(name, "float32", tuple(t.shape)) for name, t in side.items()] for side in sides)
    source = {}
    for pair in match(theirs, mine):
        if pair.a is not None and pair.b is not None and pair.a.shape == pair.b.shape:
            source[pair.b.name] = pair.a.name
    missing = [name for name in sides[1] if name not in source]
    if missing:
        raise ValueError(
            f"verify: these weights have no counterpart in the reference: {', '.join(missing[:5])}"
        )
    with torch.no_grad():
        for name, tensor in sides[1].items():
            tensor.copy_(torch.from_numpy(_numpy(sides[0][source[name]]).copy()))


def _restore(module: Any, state: Mapping[str, Any]) -> None:
    torch = _torch_of(module)
    with torch.no_grad():
        for name, tensor in module.state_dict().items():
            tensor.copy_(torch.from_numpy(state[name].copy()))
    module.zero_grad()


def _record(
    module: Any,
    inputs: Any,
    loss: Callable[[Any], Any] | None,
    steps: int,
    optimizer: Callable[[Any, Any], Any] | None,
    seed: int,
    folder: str,
    noise: int,
) -> None:
    torch = _torch_of(module)
    store = Store(torch, folder, _EVERYTHING)
    recorder = Recorder(torch, store, Noise(torch, noise) if noise else None)
    torch.manual_seed(seed)
    args, kwargs = _tensors(torch, inputs)
    if recorder.noise is not None:  # where little differences of inputs are amplified, rounding is too
        recorder.noise.apply("inputs", (), tensors_in((args, kwargs), recorder.is_tensor))
    stepper = optimizer(torch, module.parameters()) if optimizer else None
    with recorder:
        for _ in range(steps):
            module.zero_grad()
            output = module(*args, **kwargs)
            total = loss(output) if loss else _mean_square(torch, output)
            if total.requires_grad:
                total.backward()
            if stepper is not None:
                stepper.step()
    recorder.finish_chunk(last=True)


def _tensors(torch: Any, inputs: Any) -> tuple[tuple, dict]:
    def of(value: Any) -> Any:
        return torch.from_numpy(value.copy()) if type(value).__module__ == "numpy" else value

    if isinstance(inputs, dict):
        return (), {name: of(value) for name, value in inputs.items()}
    return tuple(of(value) for value in (inputs if isinstance(inputs, (tuple, list)) else (inputs,))), {}


def _mean_square(torch: Any, output: Any) -> Any:
    found = [t for t in tensors_in(output, lambda v: isinstance(v, torch.Tensor)) if t.is_floating_point()]
    if not found:
        raise ValueError("verify: the module returns no floating-point tensor: give a loss")
    return sum((t * t).mean() for t in found)


def _first_divergence(folders: list[str], out: str, pardon: Pardon) -> Finding | None:
    walk = Walk(pardon=pardon)
    index = 0
    while True:
        chunks = [read_chunk(folder, index) for folder in folders]
        if any(chunk is None for chunk in chunks):
            return describe_asked(walk)
        reference, ours, *perturbed = (chunk for chunk in chunks if chunk is not None)
        parting = walk.chunk(reference, ours, perturbed)
        if parting is not None:
            culprit = find_culprit(walk, parting)
            finding = describe(walk, parting, culprit)
            finding.reproducer = write_reproducer(out, walk, parting, culprit)
            return finding
        index += 1
