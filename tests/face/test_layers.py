"""Layers and helpers that are not in PyTorch's table of modules."""

import warnings

import pytest


def error_of(action):
    try:
        action()
    except Exception as err:
        return type(err).__name__


def seeded(t, module):
    for i, param in enumerate(module.parameters()):
        param.data = (t.arange(param.numel(), dtype=t.float64).reshape(param.shape) + i).sin()
    return module.double()


def test_adaptive_softmax(nearly):
    def scenario(t):
        module = seeded(t, t.nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 6, 9], div_value=2.0, head_bias=True))
        x = (t.arange(5 * 8.0, dtype=t.float64).reshape(5, 8) * 0.3).cos().requires_grad_()
        target = t.tensor([0, 11, 4, 7, 4])
        output, loss = module(x, target)
        loss.backward()
        return [
            repr(module),
            list(module.state_dict()),
            output.tolist(),
            loss.item(),
            x.grad.tolist(),
            [p.grad.tolist() for p in module.parameters()],
            module.log_prob(x).tolist(),
            module.predict(x * 5).tolist(),
            module(x[1], target[1]).output.item(),
        ]

    nearly(scenario)


def test_adaptive_softmax_errors(both):
    def scenario(t):
        module = t.nn.AdaptiveLogSoftmaxWithLoss(4, 10, [2, 5])
        x, make = t.ones(2, 4), t.nn.AdaptiveLogSoftmaxWithLoss
        calls = [
            lambda: make(4, 10, []),
            lambda: make(4, 10, [5, 2]),
            lambda: make(4, 10, [2, 2]),
            lambda: make(4, 10, [0, 2]),
            lambda: make(4, 10, [2, 10]),
            lambda: module(x, t.tensor([1, 10])),
            lambda: module(x, t.tensor([1])),
            lambda: module(x, t.tensor([[1, 1]])),
            lambda: module(x, t.tensor(1)),
        ]
        return [error_of(call) for call in calls]

    both(scenario)


def test_linear_cross_entropy(nearly):
    def scenario(t):
        module = seeded(t, t.nn.LinearCrossEntropyLoss(3, 4, out_features=(2,), bias=True, reduction="sum"))
        x = t.arange(6.0, dtype=t.float64).reshape(2, 3).requires_grad_()
        loss = module(x, t.tensor([[0, 3], [2, 1]]))
        loss.backward()
        options = t.nn.LinearCrossEntropyOptions(batch_chunk_size=2)
        flat = t.nn.functional.linear_cross_entropy(
            x, module.linear.weight, t.tensor([1, 5]), label_smoothing=0.1, options=options
        )
        refused = [{"acc_policy": "x"}, {"chunking_method": "x"}, {"batch_chunk_size": 0}, {"acc_dtype": 3}]
        for kwargs in refused:
            with pytest.raises(ValueError):
                t.nn.LinearCrossEntropyOptions(**kwargs)
        return loss.item(), x.grad.tolist(), flat.item(), repr(module), repr(options)

    nearly(scenario)


def test_cross_map_normalisation(nearly):
    def scenario(t):
        x = (t.arange(2 * 7 * 4.0, dtype=t.float64)).sin().reshape(2, 7, 2, 2)
        results = [t.nn.CrossMapLRN2d(size, 0.3, 0.6, 2)(x) for size in (3, 4, 5)]
        with pytest.raises(ValueError):
            t.nn.CrossMapLRN2d(3)(x[0])
        return [r.tolist() for r in results], repr(t.nn.CrossMapLRN2d(3))

    nearly(scenario)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_gradients_of_convolutions(nearly, dims):
    def scenario(t):
        x = t.arange(2 * 4 * 5.0**dims, dtype=t.float64).sin().reshape(2, 4, *[5] * dims)
        w = t.arange(4 * 2 * 3.0**dims, dtype=t.float64).cos().reshape(4, 2, *[3] * dims)
        options = {"stride": 2, "padding": 1, "groups": 2}
        g = getattr(t.nn.functional, f"conv{dims}d")(x, w, None, **options).sin()
        for_input = getattr(t.nn.grad, f"conv{dims}d_input")(x.shape, w, g, **options)
        for_weight = getattr(t.nn.grad, f"conv{dims}d_weight")(x, w.shape, g, **options)
        return for_input.tolist(), for_weight.tolist()

    nearly(scenario)


def test_old_names(both):
    def scenario(t):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            made = [t.nn.NLLLoss2d(reduction="sum"), t.nn.Container(a=t.nn.Linear(1, 1))]
        wrapped = t.nn.DataParallel(t.nn.Sequential(t.nn.Linear(1, 1), t.nn.BatchNorm1d(1)))
        state = wrapped.state_dict()
        t.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
        return (
            [repr(module) for module in made],
            [w.category.__name__ for w in seen],
            list(wrapped.state_dict()),
            list(state),
            list(state._metadata),
            t.nn.factory_kwargs({"device": "cpu", "factory_kwargs": {"dtype": None}}),
        )

    both(scenario)


def test_classes_are_where_pickles_look(both):
    def scenario(t):
        names = [
            "InstanceNorm1d",
            "LPPool2d",
            "MaxUnpool1d",
            "FractionalMaxPool3d",
            "LazyConv1d",
            "RNNCellBase",
        ]
        names += ["AdaptiveLogSoftmaxWithLoss", "CrossMapLRN2d", "LinearCrossEntropyOptions"]
        return [getattr(t.nn, name).__module__.partition(".nn.")[2] for name in names]

    both(scenario)


def test_cells_have_pytorchs_attributes(both):
    """So that a pickled cell of PyTorch's works here."""

    def scenario(t):
        cells = [t.nn.RNNCell(1, 2, nonlinearity="relu"), t.nn.LSTMCell(1, 2), t.nn.GRUCell(1, 2, bias=False)]
        return [sorted(key for key in vars(cell) if not key.startswith("_")) for cell in cells]

    both(scenario)
