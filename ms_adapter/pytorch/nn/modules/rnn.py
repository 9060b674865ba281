"""Recurrent networks: RNN, LSTM, GRU in layers and directions, and their single cells."""

import math
import warnings

import ms_adapter.pytorch as torch

from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]


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
        if mode not in _GATES:
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

    def __getstate__(self):
        return {**super().__getstate__(), "_flat_weights": self._flat_weights}  # PyTorch's pickles have it

    def __setstate__(self, state):
        super().__setstate__({name: value for name, value in state.items() if name != "_flat_weights"})

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

    def _start_states(self, data, batch, given):
        """(layers times directions, N, size) for each part of the state: as given, or zeros."""
        count = self.num_layers * (1 + self.bidirectional)
        sizes = [self.proj_size or self.hidden_size] + [self.hidden_size] * (self.mode == "LSTM")
        if given is None:
            return [data.new_zeros(count, batch, size) for size in sizes]
        for part, size in zip(given, sizes, strict=False):  # the operator refuses another number
            if tuple(part.shape) != (count, batch, size):
                raise RuntimeError(f"Expected hidden size {(count, batch, size)}, got {list(part.shape)}")
        return list(given)

    def _run(self, input, given):
        """Output and final states; ``given`` is a tuple of start states or None."""
        packed = isinstance(input, PackedSequence)
        data = input.data if packed else input
        dtype = self.weight_ih_l0.dtype
        if data.dtype != dtype and not torch.is_autocast_enabled("cpu"):
            raise ValueError(
                f"{self._get_name()}: the input's dtype {data.dtype} is not that of the weights, {dtype}; "
                "convert one of them with .to()."
            )
        if not packed and data.dim() not in (2, 3):
            raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {data.dim()}D instead")
        if data.size(-1) != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {data.size(-1)}"
            )
        return (self._run_packed if packed else self._run_padded)(input, given)

    def _run_padded(self, input, given):
        batched, batch_first = input.dim() == 3, self.batch_first
        if not batched:
            input, batch_first = input.unsqueeze(1), False
            given = None if given is None else tuple(part.unsqueeze(1) for part in given)
        starts = self._start_states(input, input.size(0 if batch_first else 1), given)
        output, *states = self._network((input,), starts, batch_first)
        if not batched:
            return output.squeeze(1), tuple(part.squeeze(1) for part in states)
        return output, tuple(states)

    def _run_packed(self, input, given):
        order, back = input.sorted_indices, input.unsorted_indices
        if given is not None and order is not None:
            given = tuple(part.index_select(1, order) for part in given)
        starts = self._start_states(input.data, int(input.batch_sizes[0]), given)
        output, *states = self._network((input.data, input.batch_sizes), starts)
        if back is not None:
            states = [part.index_select(1, back) for part in states]
        return PackedSequence(output, *input[1:]), tuple(states)

    def _network(self, data, starts, *batch_first):
        """The operator of this kind on data and start states."""
        run = getattr(torch, self.mode.lower())
        options = (self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        hx = starts if self.mode == "LSTM" else starts[0]
        return run(*data, hx, self._flat_weights, *options, *batch_first)


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


class RNNCellBase(Module):
    """What the cells share: the weights of ``num_chunks`` gates and the running of one step."""

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        gates = num_chunks * hidden_size
        shapes = {"weight_ih": (gates, input_size), "weight_hh": (gates, hidden_size)}
        shapes.update(bias_ih=(gates,) if bias else None, bias_hh=(gates,) if bias else None)
        for name, shape in shapes.items():
            made = None if shape is None else Parameter(torch.empty(shape, device=device, dtype=dtype))
            self.register_parameter(name, made)
        self.reset_parameters()

    reset_parameters = RNNBase.reset_parameters

    def extra_repr(self):
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias is True else f", bias={self.bias}")

    def _run(self, mode, input, state, parts):
        if input.dim() not in (1, 2):
            raise ValueError(f"{self._get_name()}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        if state is None:
            state = tuple(input.new_zeros(*input.shape[:-1], self.hidden_size) for _ in range(parts))
        step = getattr(torch, f"{mode}_cell")
        hx = state if parts == 2 else state[0]
        return step(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)


class RNNCell(RNNCellBase):
    """One step of RNN: (N, input_size) and the state to the new state."""

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._run(f"rnn_{self.nonlinearity}", input, None if hx is None else (hx,), 1)

    def extra_repr(self):
        kind = "" if self.nonlinearity == "tanh" else f", nonlinearity={self.nonlinearity}"
        return super().extra_repr() + kind


class GRUCell(RNNCellBase):
    """One step of GRU: (N, input_size) and the state to the new state."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None):
        return self._run("gru", input, None if hx is None else (hx,), 1)


class LSTMCell(RNNCellBase):
    """One step of LSTM: (N, input_size) and the pair of states to the new pair."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        return self._run("lstm", input, hx, 2)
