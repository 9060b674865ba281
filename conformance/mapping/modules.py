"""Modules of both sides, with the same arguments, the same parameters and the same input."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.testing._internal.common_modules import FunctionInput, ModuleInput, module_db

from ..compare import NEAR, Comparer, Record, describe
from ..face import Face, Missing
from ..modules import path_of
from ..ops import SEED, pick
from . import samples, traps
from .names import details


@functools.cache
def _table() -> dict[str, Any]:
    return {f"torch.{path_of(info)}": info for info in module_db}


def case(path: str) -> Any:
    """The entry of PyTorch's table of modules for a name, or ours, or None."""
    return _table().get(path) or samples.MODULES.get(path)


def run(path: str, target: str, face: Any, outcomes: dict[str, Any], rec: Record, opts: Any) -> None:
    """All inputs of the table in float32, in training and in evaluation."""
    oracle, outcome = Face("torch"), outcomes.setdefault("float32", {})
    for training in (True, False):
        torch.manual_seed(SEED)
        inputs = list(
            case(path).module_inputs_func(
                case(path), device="cpu", dtype=torch.float32, requires_grad=False, training=training
            )
        )
        bases = pick(inputs, traps.BASES) if opts.traps else []
        for index, given in enumerate(pick(inputs, opts.max_samples)):
            rec.at("float32", index)
            trapped = given.forward_input and any(given is base for base in bases)
            for trap, each in (("", given), *([(traps.EDGE, _special(given))] if trapped else [])):
                judged = _judge(path, target, each, training, oracle, face)
                if judged is None:
                    continue
                kind, text = judged
                kind = traps.OUTCOMES.get(trap, {}).get(kind, kind)
                outcome[kind] = outcome.get(kind, 0) + 1
                if text and kind != "ok":
                    outcome.setdefault(f"{kind}:", [_shown(path, each, training), text])
    rec.partial()


def _special(given: Any) -> Any:
    """The same module, its floating-point inputs with NaN, infinities and -0."""
    call = given.forward_input
    args = [traps.special(a) if isinstance(a, torch.Tensor) else a for a in call.args]
    return ModuleInput(given.constructor_input, FunctionInput(*args, **call.kwargs))


def _shown(path: str, given: Any, training: bool) -> str:
    ctor, call = given.constructor_input, given.forward_input
    made = [str(describe(a)) for a in ctor.args] + [f"{k}={describe(v)}" for k, v in ctor.kwargs.items()]
    called = [str(describe(a)) for a in call.args] if call else []
    mode = "" if training else ".eval()"
    return f"{path.rpartition('.')[2]}({', '.join(made)}){mode}({', '.join(called)})"[:300]


def _judge(
    path: str, target: str, given: Any, training: bool, oracle: Face, face: Any
) -> tuple[str, str] | None:
    from .run import Arguments, plain, verdict_of

    ctor, call = given.constructor_input, given.forward_input
    if call is None:
        return None
    kwargs = {k: v for k, v in ctor.kwargs.items() if k not in ("device", "dtype")}
    try:
        torch.manual_seed(SEED)
        want = case(path).module_cls(*ctor.args, **kwargs).train(training)
        args, options = oracle.put((call.args, call.kwargs))
        state = torch.manual_seed(SEED).get_state()
        with torch.no_grad():
            result = want(*args, **options)
        draws = not torch.equal(state, torch.get_rng_state())
    except Exception:
        return None
    try:
        made_args, made_kwargs = face.put((ctor.args, kwargs))
        inputs, options = face.put((call.args, call.kwargs))
    except (Missing, TypeError):
        return None
    try:
        theirs = face.resolve(target)
        arguments = Arguments(path, target, case(path).module_cls, theirs)
        got = theirs(*made_args, **arguments.named(made_kwargs))
        got.set_train(training)
        if fault := _load(
            want, got, face, details(path, target).get("state", {}), [*ctor.args, *kwargs.values()]
        ):
            return "state", fault
        answer = got(*inputs, **options)
    except Exception as err:
        return verdict_of(err)
    compare = Comparer(face)
    fault = compare.mismatch(plain(result), plain(answer), values=not draws)
    if fault is None:
        return ("random", "") if draws else ("ok", "")
    near = compare.mismatch(plain(result), plain(answer), factor=NEAR, values=not draws) is None
    return ("near" if near else "values"), fault[:160]


def _load(want: torch.nn.Module, got: Any, face: Any, names: dict[str, str], given: list[Any]) -> str:
    """Copies parameters and buffers by name; says what has no counterpart and was not `given` either."""
    buffers, have = dict(want.named_buffers()), dict(got.parameters_and_names())
    have |= dict(got.named_buffers())
    for name, value in want.state_dict().items():
        other = have.get(names.get(name, name))
        if other is None:
            if name == "num_batches_tracked" or any(g is buffers.get(name) for g in given):
                continue
            return f"no parameter `{name}` (it has {', '.join(have) or 'none'})"
        if tuple(other.shape) != tuple(value.shape):
            return f"`{name}` has shape {tuple(other.shape)}, PyTorch's {tuple(value.shape)}"
        data = face.tensor(value)
        other.set_data(data) if hasattr(other, "set_data") else other.assign_value(data)
    return ""
