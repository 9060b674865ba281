"""Loaders and samplers draw as PyTorch's do from the same seed."""

import collections

import numpy
import pytest


def listed(value):
    """Tensors as (dtype, list), within containers."""
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        return str(value.dtype), value.tolist()
    if isinstance(value, dict):
        return {key: listed(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [listed(item) for item in value]
    return value


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 4},
        {"batch_size": 4, "shuffle": True},
        {"batch_size": 4, "shuffle": True, "drop_last": True},
        {"batch_size": None, "shuffle": True},
    ],
)
def test_batches_and_what_is_drawn_after(both, options):
    def scenario(t):
        t.manual_seed(5)
        x = t.arange(22).reshape(11, 2)
        loader = t.utils.data.DataLoader(t.utils.data.TensorDataset(x, x[:, 0]), **options)
        passes = [[listed(batch) for batch in loader] for _ in range(2)]
        return passes, len(loader), t.rand(3).tolist()

    both(scenario)


def test_own_generator(both):
    def scenario(t):
        generator = t.Generator().manual_seed(9)
        loader = t.utils.data.DataLoader(range(10), batch_size=3, shuffle=True, generator=generator)
        return [listed(batch) for _ in range(2) for batch in loader], t.rand(2, generator=generator).tolist()

    both(scenario)


def test_samplers(both):
    def scenario(t):
        data = t.utils.data
        t.manual_seed(1)
        samplers = [
            data.SequentialSampler(range(4)),
            data.RandomSampler(range(10)),
            data.RandomSampler(range(5), num_samples=12),
            data.RandomSampler(range(5), replacement=True, num_samples=70),
            data.SubsetRandomSampler([5, 7, 9, 11]),
            data.WeightedRandomSampler([0.1, 0.5, 0.4], 8),
            data.BatchSampler(data.SequentialSampler(range(7)), 3, False),
            data.BatchSampler(data.SequentialSampler(range(7)), 3, True),
        ]
        return [(list(sampler), len(sampler)) for sampler in samplers]

    both(scenario)


def test_random_split_and_datasets(both):
    def scenario(t):
        data = t.utils.data
        t.manual_seed(2)
        parts = data.random_split(range(10), [3, 7]) + data.random_split(range(11), [0.5, 0.25, 0.25])
        subset = data.Subset(range(100, 110), [1, 3])
        joined = data.TensorDataset(t.arange(3)) + data.TensorDataset(t.arange(2))
        return (
            [list(part) for part in parts],
            list(subset),
            len(joined),
            listed(joined[4]),
            listed(joined[-1]),
        )

    both(scenario)


Point = collections.namedtuple("Point", ["x", "y"])


@pytest.mark.parametrize(
    "batch",
    [
        [1, 2],
        [1.5, 2.5],
        ["a", "b"],
        [(1, 2.0), (3, 4.0)],
        [[1, 2], [3, 4]],
        [{"a": 1, "b": (2, "x")}, {"a": 3, "b": (4, "y")}],
        [numpy.ones(2, dtype=numpy.float32), numpy.zeros(2, dtype=numpy.float32)],
        [numpy.float32(1), numpy.float32(2)],
        [Point(1, 2), Point(3, 4)],
        [True, False],
    ],
)
def test_collate(both, batch):
    both(lambda t: listed(t.utils.data.default_collate(batch)))
    both(lambda t: listed(t.utils.data.default_convert(batch)))


def attempt(action):
    try:
        return action()
    except Exception as err:
        return type(err).__name__


def test_errors(both):
    def scenario(t):
        loader = t.utils.data.DataLoader
        made = loader(range(3))
        calls = [
            lambda: loader(range(3), batch_size=0),
            lambda: loader(range(3), batch_size=None, drop_last=True),
            lambda: loader(range(3), shuffle=True, sampler=range(3)),
            lambda: loader(range(3), batch_sampler=[[0]], shuffle=True),
            lambda: loader(range(3), num_workers=-1),
            lambda: loader(range(3), prefetch_factor=2),
            lambda: loader(range(3), num_workers=1, prefetch_factor=-1),
            lambda: loader(range(3), persistent_workers=True),
            lambda: iter(loader(range(3), timeout=1)),
            lambda: loader(range(3), timeout=-1),
            lambda: loader(range(3), multiprocessing_context="fork"),
            lambda: loader(range(3), num_workers=1, multiprocessing_context="thread"),
            lambda: loader(range(3), num_workers=1, multiprocessing_context=3),
            lambda: setattr(made, "batch_size", 3),
            lambda: t.utils.data.default_collate([[1, 2], [3]]),
            lambda: t.utils.data.default_collate([object()]),
            lambda: t.utils.data.RandomSampler([]),
            lambda: t.utils.data.random_split(range(3), [1, 1]),
        ]
        return [attempt(call) for call in calls]

    both(scenario)


def test_stream(both):
    def scenario(t):
        class Stream(t.utils.data.IterableDataset):
            def __iter__(self):
                return iter(range(5))

        loader = t.utils.data.DataLoader
        kinds = [
            loader(Stream(), batch_size=2),
            loader(Stream(), batch_size=2, drop_last=True),
            loader(Stream(), None),
        ]
        return [[listed(batch) for batch in kind] for kind in kinds]

    both(scenario)


def test_collate_with_own_types(both):
    class Box:
        def __init__(self, value):
            self.value = value

    class Marked(str):
        pass

    def join(batch, *, collate_fn_map=None):
        return "+".join(str(getattr(item, "value", item)) for item in batch)

    def scenario(t):
        collate = t.utils.data._utils.collate
        functions = {Box: join, **collate.default_collate_fn_map}
        batch = [{"box": Box(1), "x": (1, [2.0])}, {"box": Box(2), "x": (3, [4.0])}]
        collate.default_collate_fn_map[Marked] = join
        try:
            registered = listed(t.utils.data.default_collate([Marked("a"), Marked("b")]))
        finally:
            del collate.default_collate_fn_map[Marked]
        return (
            listed(collate.collate(batch, collate_fn_map=functions)),
            registered,
            attempt(lambda: t.utils.data.default_collate(batch)),
            attempt(lambda: collate.collate([Box(1)])),
        )

    both(scenario)


def test_stacked_datasets(both):
    class Counting:
        calls = 0

        def __len__(self):
            return 5

        def __getitem__(self, index):
            return -index

        def __getitems__(self, indices):
            Counting.calls += 1
            return [index * 10 for index in indices]

    class Short(Counting):
        def __getitems__(self, indices):
            return [0]

    def scenario(t):
        stack, load = t.utils.data.StackDataset, t.utils.data.DataLoader
        Counting.calls = 0
        x = t.arange(5)
        return (
            [listed(batch) for batch in load(stack(x, Counting()), 3)],
            [listed(batch) for batch in load(stack(a=Counting(), b=x), 3)],
            stack(Counting(), x)[2][0],
            Counting.calls,
            attempt(lambda: list(load(stack(Short()), 3))),
            [attempt(lambda: stack()), attempt(lambda: stack(x, a=x)), attempt(lambda: stack(x, x[:2]))],
        )

    both(scenario)
