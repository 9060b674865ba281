"""Recurrent networks: RNN, LSTM, GRU in layers and directions, and their single cells."""

import math
import warnings

import ms_adapter.pytorch as torch

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell"]


# ---- one step of each kind: the input's and the hidden state's contributions to the gates, and the state
# -------
def _lstm_step(from_input, from_hidden, state):
    i, f, g, o = (from_input + from_hidden).chunk(4, -1)
    cell = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * cell.tanh(), cell


def _gru_step(from_input, from_hidden, state):
    reset_x, update_x, new_x = from_input.chunk(3, -1)
    reset_h, update_h, new_h = from_hidden.chunk(3, -1)
    update = (update_x + update_h).sigmoid()
    new = (new_x + (reset_x + reset_h).sigmoid() * new_h).tanh()
    return ((state[0] - new) * update + new,)


def _tanh_step(from_input, from_hidden, state):
    return ((from_input + from_hidden).tanh(),)


def _relu_step(from_input, from_hidden, state):
    return ((from_input + from_hidden).relu(),)


_STEPS = {"LSTM": _lstm_step, "GRU": _gru_step, "RNN_TANH": _tanh_step, "RNN_RELU": _relu_step}
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """What RNN, LSTM and GRU share: parameters by layer and direction, and the walk over time."""

    __constants__ = [
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    ]

    def __init__(
        self,
        mode,
        input_size,
        hidden_size,
        num_layers=1,
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        proj_size=0,
        device=None,
        dtype=None,
    ):
        super().__init__()
        if mode not in _STEPS:
            raise ValueError(f"Unrecognized RNN mode: {mode}")
        _check(input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        gates = _GATES[mode] * hidden_size
        state_size = proj_size or hidden_size
        self._flat_weights_names = []
        self._all_weights = []
        for layer in range(num_layers):
            size = input_size if layer == 0 else state_size * (1 + bidirectional)
            shapes = {"weight_ih": (gates, size), "weight_hh": (gates, state_size)}
            if bias:
                shapes.update(bias_ih=(gates,), bias_hh=(gates,))
            if proj_size:
                shapes["weight_hr"] = (proj_size, hidden_size)
            for suffix in ("", "_reverse")[: 1 + bidirectional]:
                names = [f"{name}_l{layer}{suffix}" for name in shapes]
                for name, shape in zip(names, shapes.values(), strict=True):
                    setattr(self, name, Parameter(torch.empty(shape, device=device, dtype=dtype)))
                self._flat_weights_names += names
                self._all_weights.append(names)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw all parameters uniformly from ``+-1 / sqrt(hidden_size)``."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    @property
    def all_weights(self):
        """The parameters, one list for each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights(self):
        return [getattr(self, name) for name in self._flat_weights_names]

    def flatten_parameters(self):
        """Nothing to do: the parameters need not lie in one piece of memory."""

    def extra_repr(self):
        parts = [f"{self.input_size}, {self.hidden_size}"]
        usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0}
        usual["bidirectional"] = False
        parts += [
            f"{name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value
        ]
        return ", ".join(parts)

    def _start_states(self, input, given):
        """(layers times directions, N, size) for each part of the state: as given, or zeros."""
        count = self.num_layers * (1 + self.bidirectional)
        sizes = [self.proj_size or self.hidden_size] + [self.hidden_size] * (self.mode == "LSTM")
        if given is None:
            return [input.new_zeros(count, input.size(1), size) for size in sizes]
        for part, size in zip(given, sizes, strict=True):
            if tuple(part.shape) != (count, input.size(1), size):
                raise RuntimeError(
                    f"Expected hidden size {(count, input.size(1), size)}, got {list(part.shape)}"
                )
        return list(given)

    def _run(self, input, given):
        """Output and final states; ``given`` is a tuple of start states or None."""
        if not isinstance(input, torch.Tensor):
            raise NotImplementedError(
                f"{self._get_name()}: packed sequences are not supported yet: pass a padded tensor."
            )
        if input.dim() not in (2, 3):
            raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                f"{input.size(-1)}"
            )
        batched = input.dim() == 3
        if not batched:
            input = input.unsqueeze(1)
            given = None if given is None else tuple(part.unsqueeze(1) for part in given)
        elif self.batch_first:
            input = input.transpose(0, 1)
        output, states = self._run_layers(input, self._start_states(input, given))
        if not batched:
            return output.squeeze(1), tuple(part.squeeze(1) for part in states)
        return (output.transpose(0, 1) if self.batch_first else output), states

    def _run_layers(self, input, starts):
        directions, ends, number = 1 + self.bidirectional, [], 0
        for layer in range(self.num_layers):
            outputs = []
            for backwards in range(directions):
                state = tuple(part[number] for part in starts)
                output, state = self._run_direction(input, state, self._all_weights[number], bool(backwards))
                outputs.append(output)
                ends.append(state)
                number += 1
            input = outputs[0] if directions == 1 else torch.cat(outputs, -1)
            if self.dropout and self.training and layer < self.num_layers - 1:
                input = F.dropout(input, self.dropout, True)
        return input, tuple(torch.stack(part) for part in zip(*ends, strict=True))

    def _run_direction(self, input, state, names, backwards):
        weights = {name.split("_l")[0]: getattr(self, name) for name in names}
        from_inputs = F.linear(input, weights["weight_ih"], weights.get("bias_ih")).unbind(0)
        step, outputs = _STEPS[self.mode], []
        for from_input in reversed(from_inputs) if backwards else from_inputs:
            from_hidden = F.linear(state[0], weights["weight_hh"], weights.get("bias_hh"))
            state = step(from_input, from_hidden, state)
            if self.proj_size:
                state = (F.linear(state[0], weights["weight_hr"]), *state[1:])
            outputs.append(state[0])
        return torch.stack(outputs[::-1] if backwards else outputs), state


def _check(input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size):
    if isinstance(dropout, bool) or not 0 <= dropout <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being "
            "zeroed"
        )
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
            f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
            stacklevel=4,
        )
    kinds = {"bias": (bias, bool), "batch_first": (batch_first, bool)}
    kinds.update(input_size=(input_size, int), hidden_size=(hidden_size, int))
    for name, (value, kind) in kinds.items():
        if not isinstance(value, kind):
            raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
    for name, value in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
        if value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


class RNN(RNNBase):
    """``h = tanh(W_ih x + b_ih + W_hh h + b_hh)`` at each step of (L, N, input_size), or with ``relu``."""

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", *args, **kwargs):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        mode = f"RNN_{nonlinearity.upper()}"
        super().__init__(mode, input_size, hidden_size, num_layers, *args, **kwargs)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        output, (hidden,) = self._run(input, None if hx is None else (hx,))
        return output, hidden


class GRU(RNNBase):
    """The gated recurrent unit at each step of (L, N, input_size); returns the outputs and the final
    state.
    """

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input, hx=None):
        output, (hidden,) = self._run(input, None if hx is None else (hx,))
        return output, hidden


class LSTM(RNNBase):
    """The long short-term memory at each step of (L, N, input_size); the state is a pair of hidden and cell.

    >>> import ms_adapter.pytorch as torch
    >>> output, (hidden, cell) = torch.nn.LSTM(10, 20, 2)(torch.randn(5, 3, 10))
    >>> output.shape, hidden.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)

    def forward(self, input, hx=None):
        return self._run(input, hx)


class _Cell(Module):
    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(self, mode, input_size, hidden_size, bias, device, dtype):
        super().__init__()
        self._step = _STEPS[mode]
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        gates = _GATES[mode] * hidden_size
        shapes = {"weight_ih": (gates, input_size), "weight_hh": (gates, hidden_size)}
        shapes.update(bias_ih=(gates,) if bias else None, bias_hh=(gates,) if bias else None)
        for name, shape in shapes.items():
            made = None if shape is None else Parameter(torch.empty(shape, device=device, dtype=dtype))
            self.register_parameter(name, made)
        self.reset_parameters()

    reset_parameters = RNNBase.reset_parameters

    def extra_repr(self):
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias is True else f", bias={self.bias}")

    def _run(self, input, state, parts):
        if input.dim() not in (1, 2):
            raise ValueError(f"{self._get_name()}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        if state is None:
            state = tuple(input.new_zeros(*input.shape[:-1], self.hidden_size) for _ in range(parts))
        from_input = F.linear(input, self.weight_ih, self.bias_ih)
        return self._step(from_input, F.linear(state[0], self.weight_hh, self.bias_hh), state)


class RNNCell(_Cell):
    """One step of RNN: (N, input_size) and the state to the new state."""

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        if nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {nonlinearity}")
        super().__init__(f"RNN_{nonlinearity.upper()}", input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        return self._run(input, None if hx is None else (hx,), 1)[0]

    def extra_repr(self):
        kind = "" if self.nonlinearity == "tanh" else f", nonlinearity={self.nonlinearity}"
        return super().extra_repr() + kind


class GRUCell(_Cell):
    """One step of GRU: (N, input_size) and the state to the new state."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__("GRU", input_size, hidden_size, bias, device, dtype)

    def forward(self, input, hx=None):
        return self._run(input, None if hx is None else (hx,), 1)[0]


class LSTMCell(_Cell):
    """One step of LSTM: (N, input_size) and the pair of states to the new pair."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__("LSTM", input_size, hidden_size, bias, device, dtype)

    def forward(self, input, hx=None):
        return self._run(input, hx, 2)
