"""Recurrent networks as functions of their weights: what layers of ``torch.nn`` do, under torch's names."""

import ms_adapter.pytorch as torch

from .nn.modules.module import Module
from .nn.modules.rnn import _GATES, _STEPS, RNNBase
from .nn.utils.rnn import PackedSequence

__all__ = [
    "gru",
    "gru_cell",
    "lstm",
    "lstm_cell",
    "rnn_relu",
    "rnn_relu_cell",
    "rnn_tanh",
    "rnn_tanh_cell",
]


def lstm(input, *args, **kwargs):
    """The long short-term memory over (L, N, size).

    The arguments are ``input, hx, params, has_biases, num_layers, dropout, train, bidirectional`` and
    ``batch_first``, or, for packed data, ``data, batch_sizes, hx, params`` and so on without ``batch_first``.
    ``hx`` holds the hidden and the cell state; ``params`` the weights of each layer and direction in the
    order of ``nn.LSTM``. Returns the outputs and both final states.

    >>> import ms_adapter.pytorch as torch
    >>> net = torch.nn.LSTM(3, 4)
    >>> state = [torch.zeros(1, 2, 4), torch.zeros(1, 2, 4)]
    >>> arguments = (list(net.parameters()), True, 1, 0.0, False, False, False)
    >>> torch.lstm(torch.ones(5, 2, 3), state, *arguments)[0].shape
    torch.Size([5, 2, 4])
    """
    output, states = _run("LSTM", input, args, kwargs)
    return (output, *states)


def gru(input, *args, **kwargs):
    """The gated recurrent unit; as :func:`lstm` with one state."""
    output, states = _run("GRU", input, args, kwargs)
    return output, states[0]


def rnn_tanh(input, *args, **kwargs):
    """The network of :class:`torch.nn.RNN` with tanh; as :func:`lstm` with one state."""
    output, states = _run("RNN_TANH", input, args, kwargs)
    return output, states[0]


def rnn_relu(input, *args, **kwargs):
    """The network of :class:`torch.nn.RNN` with relu; as :func:`lstm` with one state."""
    output, states = _run("RNN_RELU", input, args, kwargs)
    return output, states[0]


def lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of the long short-term memory from (N, size): the new hidden and cell state."""
    return _cell("LSTM", input, tuple(hx), w_ih, w_hh, b_ih, b_hh)


def gru_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of the gated recurrent unit from (N, size): the new state."""
    return _cell("GRU", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def rnn_tanh_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """``tanh(w_ih x + b_ih + w_hh h + b_hh)``."""
    return _cell("RNN_TANH", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def rnn_relu_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """``relu(w_ih x + b_ih + w_hh h + b_hh)``."""
    return _cell("RNN_RELU", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def _cell(mode, input, state, w_ih, w_hh, b_ih, b_hh):
    linear = torch.nn.functional.linear
    return _STEPS[mode](linear(input, w_ih, b_ih), linear(state[0], w_hh, b_hh), state)


class _Weightless(RNNBase):
    """A layer that runs on weights given from outside, which stay the caller's tensors."""

    def __init__(
        self, mode, params, has_biases, num_layers, dropout, train, bidirectional, batch_first=False
    ):
        Module.__init__(self)
        names = ["weight_ih", "weight_hh"] + ["bias_ih", "bias_hh"] * has_biases
        runs = num_layers * (1 + bidirectional)
        if len(params) == runs * (len(names) + 1):
            names.append("weight_hr")
        if len(params) != runs * len(names):
            raise RuntimeError(f"{mode.lower()}: expected {runs * len(names)} params, but got {len(params)}.")
        self._all_weights = [[f"{name}_l{run}" for name in names] for run in range(runs)]
        for name, value in zip(sum(self._all_weights, []), params, strict=True):
            setattr(self, name, value)
        self.mode, self.num_layers, self.dropout, self.training = mode, num_layers, dropout, train
        self.bidirectional, self.batch_first = bidirectional, batch_first
        self.input_size, self.hidden_size = params[0].size(1), params[0].size(0) // _GATES[mode]
        self.proj_size = self.weight_hr_l0.size(0) if "weight_hr" in names else 0


def _run(mode, input, args, kwargs):
    """Outputs and final states; the third argument tells padded from packed data."""
    names = ["hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional"]
    packed = "batch_sizes" in kwargs or (len(args) > 2 and isinstance(args[2], (list, tuple)))
    names = ["batch_sizes", *names] if packed else [*names, "batch_first"]
    given = dict(zip(names, args, strict=False), **kwargs)
    if len(args) > len(names) or set(given) != set(names):
        raise TypeError(f"{mode.lower()}: expected the arguments {', '.join(names)}.")
    states = given.pop("hx")
    states = tuple(states) if mode == "LSTM" else (states,)
    batch_sizes = given.pop("batch_sizes", None)
    net = _Weightless(mode, **given)
    if not packed:
        return net._run(input, states)
    output, states = net._run(PackedSequence(input, batch_sizes), states)
    return output.data, states
