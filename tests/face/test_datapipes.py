"""Datapipes give what PyTorch's give: each step, one iterator at a time, graphs, and through loaders."""

import importlib
import random
import warnings

import pytest


@pytest.fixture(autouse=True)
def _lambdas_are_fine():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def attempt(action):
    try:
        return action()
    except Exception as error:
        return type(error).__name__


def plain(value):
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(item) for item in value]
    return value


def pipes(t):
    return t.utils.data.datapipes.iter, t.utils.data.datapipes.map


STEPS = [
    lambda it: it.IterableWrapper(range(10)).map(lambda x: x * 2),
    lambda it: it.IterableWrapper([(1, 2), (3, 4)]).map(lambda x: x * 10, input_col=1),
    lambda it: it.IterableWrapper([(1, 2), (3, 4)]).map(lambda a, b: a + b, input_col=[1, 0]),
    lambda it: it.IterableWrapper([[1, 2, 3]]).map(lambda a, b: a + b, input_col=[0, 2], output_col=1),
    lambda it: it.IterableWrapper([(1, 2, 3)]).map(lambda a: -a, input_col=0, output_col=-1),
    lambda it: it.IterableWrapper([{"a": 1}]).map(lambda a: -a, input_col="a", output_col="b"),
    lambda it: it.IterableWrapper(range(7)).batch(3),
    lambda it: it.IterableWrapper(range(7)).batch(3, drop_last=True),
    lambda it: it.IterableWrapper(range(7)).batch(3).collate(),
    lambda it: it.IterableWrapper(range(7)).batch(2).batch(2).unbatch(unbatch_level=2),
    lambda it: it.IterableWrapper([[1, [2, [3]]], 4]).unbatch(unbatch_level=-1),
    lambda it: it.IterableWrapper([[1], 2]).unbatch(unbatch_level=2),
    lambda it: it.IterableWrapper([1]).unbatch(unbatch_level=-2),
    lambda it: it.IterableWrapper(range(9)).filter(lambda x: x % 3 == 0),
    lambda it: it.IterableWrapper([(1, 2), (3, 0)]).filter(bool, input_col=1),
    lambda it: it.IterableWrapper(range(3)).filter(lambda x: x),
    lambda it: it.IterableWrapper(range(9)).groupby(lambda x: x % 3),
    lambda it: it.IterableWrapper(range(9)).groupby(lambda x: x % 3, group_size=2, keep_key=True),
    lambda it: it.IterableWrapper([0, 1, 1, 2, 2, 2, 3]).groupby(lambda x: x, buffer_size=3, group_size=3),
    lambda it: it.IterableWrapper([0, 1, 1, 2, 2, 2, 3]).groupby(
        lambda x: x, buffer_size=3, group_size=3, guaranteed_group_size=2, drop_remaining=True
    ),
    lambda it: it.IterableWrapper(range(3)).concat(it.IterableWrapper("ab")),
    lambda it: it.IterableWrapper(range(3)).zip(it.IterableWrapper("ab")),
    lambda it: it.IterableWrapper(range(3)).mux(it.IterableWrapper("ab"), it.IterableWrapper([7, 8, 9])),
    lambda it: it.IterableWrapper(range(20)).shuffle(),
    lambda it: it.IterableWrapper(range(20)).shuffle(buffer_size=4),
    lambda it: it.IterableWrapper(range(20)).batch(2).shuffle(unbatch_level=1),
    lambda it: it.IterableWrapper(range(20)).shuffle().set_seed(7),
    lambda it: it.IterableWrapper(range(20)).shuffle().set_shuffle(False),
    lambda it: it.Sampler(it.IterableWrapper(range(5))),
    lambda it: it.IterableWrapper(range(10)).sharding_filter(),
    lambda it: it.IterableWrapper(range(5)).fork(1),
    lambda it: it.IterableWrapper(range(4)).map(lambda a, b: a),
    lambda it: it.IterableWrapper(range(4)).map(3),
    lambda it: it.IterableWrapper(range(4)).batch(0),
    lambda it: it.IterableWrapper(range(4)).no_such_step(),
    lambda it: it.Concater(),
    lambda it: it.IterableWrapper(range(4)).zip([1]),
]


@pytest.mark.parametrize("number", range(len(STEPS)))
def test_steps(both, number):
    def scenario(t):
        t.manual_seed(4)
        pipe = attempt(lambda: STEPS[number](pipes(t)[0]))
        if isinstance(pipe, str):
            return pipe
        passes = [plain(attempt(lambda: list(pipe))) for _ in range(2)]
        return passes, attempt(lambda: len(pipe)), repr(pipe), t.rand(1).item()

    both(scenario)


def test_pipes_by_key(both):
    def scenario(t):
        steps = pipes(t)[1]
        t.manual_seed(4)
        source = steps.SequenceWrapper(range(10))
        shuffled = source.shuffle()
        return [
            plain([source.map(lambda x: x + 1)[3], source.batch(4)[2], source.batch(4, drop_last=True)[1]]),
            attempt(lambda: source.batch(4, drop_last=True)[2]),
            [len(source.batch(3)), len(source.concat(source)), source.concat(source)[12]],
            [source.zip(source.map(str))[4], attempt(lambda: source.concat(source)[20])],
            [list(shuffled), list(shuffled), list(shuffled.set_seed(3)), list(shuffled.set_shuffle(False))],
            steps.SequenceWrapper({"a": 1})["a"],
            attempt(lambda: source.zip([1])),
        ]

    both(scenario)


def test_branches(both):
    def scenario(t):
        it = pipes(t)[0]
        first, second = it.IterableWrapper(range(5)).fork(2)
        found = [list(first), list(second), list(first), len(first)]
        near, far = it.IterableWrapper(range(9)).fork(2, buffer_size=3)
        found.append(attempt(lambda: list(near)))
        even, odd = it.IterableWrapper(range(7)).demux(2, lambda x: x % 2)
        found += [list(odd), list(even), list(even), attempt(lambda: len(even))]
        low, high = it.IterableWrapper(range(9)).demux(2, lambda x: int(x > 4), buffer_size=3)
        found.append(attempt(lambda: list(high)))
        some, _ = it.IterableWrapper(range(9)).demux(2, lambda x: None if x < 4 else 0, drop_none=True)
        found.append(list(some))
        bad, _ = it.IterableWrapper(range(9)).demux(2, lambda x: 5)
        found.append(attempt(lambda: list(bad)))
        copies = it.IterableWrapper([[1]]).fork(2, copy="deep")
        a, b = next(iter(copies[0])), next(iter(copies[1]))
        found.append((a == b, a is b))
        old, other = iter(first), iter(second)
        found += [next(old), next(other)]
        iter(first)
        found += [attempt(lambda: next(old)), attempt(lambda: next(other))]
        return [*found, attempt(lambda: it.IterableWrapper([]).fork(0))]

    both(scenario)


def test_one_iterator_at_a_time(both):
    def scenario(t):
        class Own(t.utils.data.IterDataPipe):
            resets = 0

            def __iter__(self):
                return iter(range(4))

            def reset(self):
                self.resets += 1

        class Failing(t.utils.data.IterDataPipe):
            def __iter__(self):
                yield 1
                raise ValueError("in the middle")

        found = []
        for pipe in (pipes(t)[0].IterableWrapper(range(4)), Own()):
            old = iter(pipe)
            found.append(next(old))
            new = iter(pipe)
            found += [next(new), attempt(lambda old=old: next(old)), list(new)]
            found.append(pipe._number_of_samples_yielded)
        try:
            list(Failing())
        except ValueError as error:
            found.append(str(error).splitlines()[0])
            found.append("thrown by __iter__ of Failing" in str(error))
        return [*found, pipe.resets]

    both(scenario)


def test_decorators(both):
    def scenario(t):
        data = t.utils.data
        name = f"step_{random.random()}"

        @data.functional_datapipe(name)
        class Step(data.IterDataPipe):
            def __init__(self, source):
                self.source = source

            def __iter__(self):
                yield from self.source

        source = pipes(t)[0].IterableWrapper([1, 2])
        found = [list(getattr(source, name)()), attempt(lambda: data.functional_datapipe(name)(Step))]

        @data.non_deterministic
        class Varying(data.IterDataPipe):
            def __iter__(self):
                return iter([3])

        found.append(list(Varying()))
        with data.guaranteed_datapipes_determinism():
            found.append(attempt(Varying))
        found.append(attempt(lambda: data.non_deterministic(3)))
        return found

    both(scenario)


def test_graphs(both):
    def scenario(t):
        it, settings = pipes(t)[0], t.utils.data.graph_settings
        source = it.IterableWrapper(range(10))
        pipe = source.shuffle().sharding_filter().map(str).zip(source.shuffle().batch(2))
        graph = t.utils.data.graph.traverse_dps(pipe)
        found = sorted(repr(each) for each in settings.get_all_graph_pipes(graph))
        twice = source.sharding_filter().map(str).sharding_filter()
        settings.apply_sharding(pipe, 3, 1)
        generator = t.Generator().manual_seed(5)
        settings.apply_random_seed(pipe, generator)
        settings.apply_shuffle_settings(pipe, True)
        return found, attempt(lambda: settings.apply_sharding(twice, 2, 0)), plain(list(source.shuffle()))

    both(scenario)


def test_files(both, tmp_path):
    for name in ("b.txt", "a.txt", "c.png", "deep/d.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(name * 2)

    def scenario(t):
        it = pipes(t)[0]
        root = str(tmp_path)
        listed = it.FileLister(root, "*.txt", recursive=True)
        return [
            list(listed),
            list(it.FileLister([root, root], ["*.png", "b*"])),
            list(listed.open_files("b").read_from_stream()),
            list(it.FileOpener(listed).read_from_stream(chunk=3)),
            attempt(lambda: it.FileOpener(listed, mode="w")),
            attempt(lambda: len(listed)),
            len(it.FileLister(root, length=4)),
        ]

    both(scenario)


@pytest.mark.parametrize("options", [{}, {"num_workers": 2}, {"num_workers": 2, "persistent_workers": True}])
def test_through_loaders(both, options):
    def scenario(t):
        it, by_key = pipes(t)
        t.manual_seed(12)
        pipe = it.IterableWrapper(range(23)).shuffle().sharding_filter().map(float)
        loader = t.utils.data.DataLoader(pipe, 4, **options)
        found = [plain(batch) for _ in range(2) for batch in loader]
        loader = t.utils.data.DataLoader(pipe, 4, shuffle=False, **options)
        found += [plain(batch) for batch in loader]
        loader = t.utils.data.DataLoader(
            by_key.SequenceWrapper(range(9)).map(float), 4, shuffle=True, **options
        )
        found += [plain(batch) for batch in loader]
        return found, t.rand(1).item()

    both(scenario)


def test_each_step_is_found_in_the_module_where_pytorch_defines_it():
    torch, ms = map(importlib.import_module, ("torch", "ms_adapter.pytorch"))
    for kind in ("iter", "map"):
        theirs = getattr(torch.utils.data.datapipes, kind)
        ours = getattr(ms.utils.data.datapipes, kind)
        for name in ours.__all__:
            path = getattr(theirs, name).__module__.removeprefix("torch.")
            module = importlib.import_module(f"ms_adapter.pytorch.{path}")
            found = getattr(module, getattr(theirs, name).__name__)
            assert found is getattr(ours, name), (kind, name)
    sharding = importlib.import_module("ms_adapter.pytorch.utils.data.datapipes.iter.sharding")
    assert sharding.SHARDING_PRIORITIES.DEFAULT == 1
