"""Sequences of different lengths: packing, padding, and recurrent layers over packed sequences."""

import itertools

import pytest

LENGTHS = [3, 5, 1]


def error_of(action):
    try:
        action()
    except Exception as err:
        return type(err).__name__


def sequences(t, lengths=LENGTHS, size=2):
    count = itertools.count()
    return [
        t.tensor([[next(count) * 0.1 for _ in range(size)] for _ in range(n)], dtype=t.float64)
        for n in lengths
    ]


def plain(packed):
    return [None if field is None else field.tolist() for field in packed]


def test_packing(both):
    def scenario(t):
        rnn, trace = t.nn.utils.rnn, []
        packed = rnn.pack_sequence(sequences(t), enforce_sorted=False)
        trace.append(plain(packed))
        trace.append(plain(rnn.pack_sequence(sequences(t, [4, 4, 2]))))
        padded = rnn.pad_sequence(sequences(t), batch_first=True, padding_value=-1.0)
        trace.append(padded.tolist())
        trace.append(rnn.pad_sequence(sequences(t), padding_side="left").tolist())
        trace.append(plain(rnn.pack_padded_sequence(padded, LENGTHS, batch_first=True, enforce_sorted=False)))
        for options in ({}, {"batch_first": True}, {"padding_value": 7.0, "total_length": 6}):
            values, lengths = rnn.pad_packed_sequence(packed, **options)
            trace.append((values.tolist(), lengths.tolist(), str(lengths.dtype)))
        trace.append([s.tolist() for s in rnn.unpack_sequence(packed)])
        trace.append([s.tolist() for s in rnn.unpad_sequence(padded, t.tensor(LENGTHS), batch_first=True)])
        trace.append(rnn.invert_permutation(t.tensor([2, 0, 1])).tolist())
        trace.append([str(packed.float().data.dtype), packed.double() is packed, packed.is_cuda])
        return trace

    both(scenario)


def test_packing_errors(both):
    def scenario(t):
        rnn = t.nn.utils.rnn
        packed = rnn.pack_sequence(sequences(t, [2, 1]))
        calls = [
            lambda: rnn.pack_sequence(sequences(t)),
            lambda: rnn.pack_padded_sequence(t.ones(3, 2), [3, 0]),
            lambda: rnn.pack_padded_sequence(t.ones(3, 2), [3]),
            lambda: rnn.pad_packed_sequence(packed, total_length=1),
            lambda: rnn.pad_sequence([t.ones(2, 2), t.ones(2, 3)]),
            lambda: rnn.pad_sequence([t.ones(2)], padding_side="up"),
        ]
        return [error_of(call) for call in calls]

    both(scenario)


def set_weights(t, module):
    for i, param in enumerate(module.parameters()):
        values = t.arange(param.numel(), dtype=t.float64).reshape(param.shape)
        param.data = (values * 0.7 + i).sin() * 0.5


def gradients(module):
    return [param.grad.tolist() for param in module.parameters()]


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_layers_over_packed_sequences(nearly, name, bidirectional):
    def scenario(t):
        rnn, trace = t.nn.utils.rnn, []
        layer = getattr(t.nn, name)(2, 3, num_layers=2, bidirectional=bidirectional).double()
        set_weights(t, layer)
        parts = 2 if name == "LSTM" else 1
        start = [
            (t.arange(4 * 3 * 3.0, dtype=t.float64) * (p + 1)).cos().reshape(4, 3, 3)[: 2 + 2 * bidirectional]
            for p in range(parts)
        ]
        for given in (None, tuple(start) if parts == 2 else start[0]):
            layer.zero_grad()
            inputs = [s.requires_grad_() for s in sequences(t)]
            packed = rnn.pack_sequence(inputs, enforce_sorted=False)
            output, state = layer(packed, given)
            states = state if parts == 2 else (state,)
            padded, lengths = rnn.pad_packed_sequence(output)
            (padded.cos().sum() + sum(s.sin().sum() for s in states)).backward()
            trace.append([padded.tolist(), lengths.tolist(), [s.tolist() for s in states]])
            trace.append([gradients(layer), [s.grad.tolist() for s in inputs]])
        return trace

    nearly(scenario)


def test_packed_equals_one_by_one(nearly):
    """A packed batch gives each sequence what it gets alone."""

    def scenario(t):
        layer = t.nn.LSTM(2, 4, proj_size=3, bidirectional=True).double()
        set_weights(t, layer)
        together = layer(t.nn.utils.rnn.pack_sequence(sequences(t), enforce_sorted=False))[0]
        alone = [layer(s)[0].tolist() for s in sequences(t)]
        return [s.tolist() for s in t.nn.utils.rnn.unpack_sequence(together)], alone

    nearly(scenario)


OPTIONS = [
    {"bias": False},
    {"batch_first": True, "bidirectional": True},
    {"num_layers": 3, "dropout": 0.4},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_options_of_layers(nearly, name, options):
    """Sizes that fill no vector, one and two threads' worth of sequences, dropout's stream."""

    def scenario(t):
        layer, trace = getattr(t.nn, name)(7, 19, **options).double(), []
        set_weights(t, layer)
        for steps, batch in ((1, 1), (4, 3), (6, 21)):
            layer.zero_grad()
            t.manual_seed(1)
            shape = (batch, steps, 7) if layer.batch_first else (steps, batch, 7)
            x = (t.arange(steps * batch * 7, dtype=t.float64) * 0.37).sin().reshape(shape).requires_grad_()
            output, state = layer(x)
            states = state if name == "LSTM" else (state,)
            (output.cos().sum() + sum(s.sin().sum() for s in states)).backward()
            trace += [output.tolist(), [s.tolist() for s in states], gradients(layer), x.grad.tolist()]
        return trace

    nearly(scenario)


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_second_derivatives(nearly, name):
    def scenario(t):
        layer = getattr(t.nn, name)(2, 3, num_layers=2, bidirectional=True).double()
        set_weights(t, layer)
        inputs = [s.requires_grad_() for s in sequences(t)]
        output = layer(t.nn.utils.rnn.pack_sequence(inputs, enforce_sorted=False))[0].data
        first = t.autograd.grad(output.sin().sum(), [*layer.parameters(), *inputs], create_graph=True)
        second = t.autograd.grad(sum(g.cos().sum() for g in first), [*layer.parameters(), *inputs])
        return [[g.tolist() for g in first], [g.tolist() for g in second]]

    nearly(scenario)


@pytest.mark.parametrize("name", ["RNNCell", "LSTMCell", "GRUCell"])
def test_cells(nearly, name):
    def scenario(t):
        cell, trace = getattr(t.nn, name)(5, 18).double(), []
        set_weights(t, cell)
        for shape in ((5,), (3, 5)):
            x = t.linspace(-1, 1, 5 * (3 if len(shape) == 2 else 1), dtype=t.float64).reshape(shape)
            state = None
            for _ in range(3):
                state = cell(x, state)
            states = state if name == "LSTMCell" else (state,)
            cell.zero_grad()
            sum(s.sin().sum() for s in states).backward()
            trace += [[s.tolist() for s in states], gradients(cell)]
        return trace

    nearly(scenario)


def test_wrong_calls(both):
    def scenario(t):
        x, state, weights = t.ones(2, 2, 3), t.ones(1, 2, 4), [t.ones(16, 3), t.ones(16, 4)]
        rest = (False, 1, 0.0, False, False)
        sizes = t.tensor([2, 1])
        calls = [
            lambda: t.lstm(x, [state], weights, *rest, False),
            lambda: t.lstm(x, [state, state], weights[:1], *rest, False),
            lambda: t.lstm(x[0], sizes.double(), [state, state], weights, *rest),
            lambda: t.nn.LSTM(3, 4)(x[:0]),
            lambda: t.nn.GRU(3, 4)(x.double()),
            lambda: t.lstm_cell(x[0], [state[0]], *weights),
        ]
        return [error_of(call) for call in calls]

    both(scenario)
