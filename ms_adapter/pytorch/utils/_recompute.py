"""The checkpoint that keeps to the graph: what was saved is computed again when backward asks."""

import contextlib
import weakref

import ms_adapter.pytorch as torch
from ms_adapter import _C
from ms_adapter.pytorch.overrides import TorchFunctionMode

from ._surroundings import Surroundings

_native = _C.autograd
_early_stop = None  # None: as each checkpoint says
_debug = None


class CheckpointError(RuntimeError):
    """The second run of a checkpointed function did not do what the first one did."""


class _Enough(Exception):
    """Ends a second run: all that was saved is there again."""


@contextlib.contextmanager
def set_checkpoint_early_stop(enable):
    """Whether second runs end early, for every checkpoint made in the block."""
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled):
    """Whether mismatches list the operators of both runs, for every checkpoint made in the block."""
    global _debug
    before, _debug = _debug, enabled
    try:
        yield
    finally:
        _debug = before


def check_determinism(name):
    """Raise for what is no determinism_check."""
    if name not in ("default", "none"):
        raise ValueError(f"checkpoint: determinism_check is 'default' or 'none', not {name!r}.")


class _Listing(TorchFunctionMode):
    """Writes down the operators that run."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(getattr(func, "__name__", repr(func)))
        return func(*args, **(kwargs or {}))


def debug_contexts(context_fn, debug):
    """(contexts, listings): those of ``context_fn``, or in debug mode two that write down operators."""
    if not (debug if _debug is None else _debug):
        return context_fn(), None
    listings = _Listing(), _Listing()
    return listings, listings


class _Holder:
    """Stands in the graph for a saved tensor."""

    __slots__ = ("__weakref__", "place")

    def __init__(self, place):
        self.place = place


def _looks(tensor):
    return tuple(tensor.shape), tensor.dtype, tensor.device


class _Inputs(torch.autograd.Function):
    """Saves a checkpoint's inputs: in the graph, so that an outer checkpoint can give them back."""

    @staticmethod
    def forward(ctx, show, dummy, *tensors):
        ctx.save_for_backward(*tensors)
        show(ctx)
        return dummy.view_as(dummy)

    @staticmethod
    def backward(ctx, *grads):
        raise AssertionError("checkpoint: nothing flows back to the place that keeps the inputs.")


class Recompute:
    """One call of a checkpointed function."""

    def __init__(self, function, preserve_rng_state, contexts, determinism_check, early_stop, args, kwargs):
        self.function, self.compares = function, determinism_check == "default"
        (self.first_context, self.second_context), self.listings = contexts
        self.early_stop = early_stop if _early_stop is None else _early_stop
        self.surroundings = Surroundings(preserve_rng_state, *args)
        self.names, self.values = list(kwargs), [*args, *kwargs.values()]
        self.holders, self.looks = [], []  # of the first run, in order
        self.made = {}  # number of a backward pass -> place -> tensor
        self.keeper = self._keep_inputs()

    def _keep_inputs(self):
        """The context, and its node, that hold the tensors among the inputs, which are then dropped here."""
        self.tensor_places = [i for i, v in enumerate(self.values) if isinstance(v, torch.Tensor)]
        dummy, seen = torch.empty(0, requires_grad=True), []
        kept = _Inputs.apply(seen.append, dummy, *(self.values[i] for i in self.tensor_places))
        self.first_values = list(self.values)
        for i in self.tensor_places:
            self.values[i] = None
        return seen[0], kept.grad_fn

    def _call(self, values):
        n = len(values) - len(self.names)
        return self.function(*values[:n], **dict(zip(self.names, values[n:], strict=True)))

    def _call_in(self, context, values):
        with context:
            return self._call(values)

    def first_run(self):
        """The function's result; what its graph saves are holders."""
        values, self.first_values = self.first_values, None
        with torch.autograd.graph.saved_tensors_hooks(self._pack, self._unpack):
            return self._call_in(self.first_context, values)

    def _pack(self, tensor):
        holder = _Holder(len(self.holders))
        self.holders.append(weakref.ref(holder))
        self.looks.append(_looks(tensor) if self.compares else None)
        return holder

    def _unpack(self, holder):
        number = _native.current_pass()[0]
        if number == 0:  # asked outside of backward: nothing is kept for a second question
            return self._run_again()[holder.place]
        if number not in self.made:
            self.made[number] = self._run_again()
        made = self.made[number]
        if holder.place not in made:
            raise CheckpointError(
                "checkpoint: a saved tensor was asked for twice in one backward; read ctx.saved_tensors once."
            )
        tensor = made.pop(holder.place)
        if not made:
            del self.made[number]
        return tensor

    def _run_again(self):
        """place -> tensor, for every holder that is still in use."""
        values = list(self.values)
        for i, tensor in zip(self.tensor_places, self.keeper[0].saved_tensors, strict=True):
            values[i] = tensor
        again = _Again(self)
        hooks = torch.autograd.graph.saved_tensors_hooks(again.pack, lambda kept: kept)
        with contextlib.suppress(_Enough), self.surroundings.again(), torch.enable_grad(), hooks:
            self._call_in(self.second_context, values)
        again.check()
        return again.made


class _Again:
    """What a second run saves, beside what the first run saved."""

    def __init__(self, first):
        self.first, self.count, self.made, self.faults = first, 0, {}, []

    def pack(self, tensor):
        """Keep what the first run saved at the same place."""
        first, place = self.first, self.count
        self.count += 1
        if place < len(first.holders) and first.holders[place]() is not None:
            self.made[place] = tensor.detach()
        if first.compares and place < len(first.looks) and first.looks[place] != _looks(tensor):
            self.faults.append((place, first.looks[place], _looks(tensor)))
        if first.early_stop and self.count == len(first.holders):
            raise _Enough
        return tensor.detach()

    def check(self):
        """Raise where the runs differ."""
        expected = len(self.first.holders)
        if self.count < expected or (self.count != expected and self.first.compares):
            raise CheckpointError(
                f"checkpoint: the first run saved {expected} tensors for backward, the second {self.count}: "
                f"the function must do the same each time. {self._hint()}"
            )
        if self.faults:
            lines = "".join(
                f"\n  tensor {place}: {_text(*before)} at first, then {_text(*now)}"
                for place, before, now in self.faults
            )
            raise CheckpointError(
                "checkpoint: the second run saved other tensors than the first one (different metadata):"
                f"{lines}\n{self._hint()}"
            )

    def _hint(self):
        if self.first.listings is None:
            return "checkpoint(..., debug=True) lists the operators of both runs."
        first, second = (", ".join(listing.names) for listing in self.first.listings)
        return f"Operators of the first run: {first}. Of the second: {second}."


def _text(shape, dtype, device):
    return f"{dtype} {shape} on {device}"
