"""torch.utils.benchmark: measurements and tables read as PyTorch's."""

import importlib

import pytest
import torch

import ms_adapter.pytorch as face


def module_of(t):
    return importlib.import_module(f"{t.__name__}.utils.benchmark")


def measurement(b, number, times, **task):
    given = {
        "stmt": "x + y",
        "setup": "pass",
        "label": "Add",
        "sub_label": "small",
        "description": "d1",
        **task,
    }
    return b.Measurement(number, times, b.TaskSpec(**given))


def samples(b):
    """Measurements of all kinds: one, few, many, spread, of several lines."""
    return [
        measurement(b, 100, [1.23e-4, 1.25e-4, 1.30e-4, 1.22e-4]),
        measurement(b, 1, [0.5]),
        measurement(b, 10, [3e-7, 5e-7, 9e-7, 2e-6, 3e-7, 3.1e-7, 3.2e-7]),
        measurement(b, 1000, [2.0] * 25 + [2.5] * 3, label=None, sub_label=None, description=None),
        measurement(
            b, 5, [1.0, 1.1, 1.2], stmt="f(a)\ng(b)", setup="a=1\nb=2", label=None, num_threads=4, env="E"
        ),
        measurement(b, 1, [100.0, 130.0], setup="z = 1"),
        measurement(b, 2, [1e-3] * 100, sub_label=None),
    ]


def test_measurements(nearly):
    def scenario(t):
        out = []
        for m in samples(module_of(t)):
            out.append([repr(m).partition("\n")[2], m.title, m.as_row_name, m.significant_figures])
            out.append([m.median, m.mean, m.iqr, m.times])
            out.append([m.has_warnings, m.meets_confidence(), m.env, m.stmt, m.num_threads])
            out.append(m.task_spec.summarize())
        return out

    nearly(scenario, 1e-12)


def test_merge_and_helpers(nearly):
    def scenario(t):
        b = module_of(t)
        merged = b.Measurement.merge([*samples(b)[:2], samples(b)[4]])
        return (
            [(m.number_per_run, m.raw_times) for m in merged],
            [b.select_unit(s) for s in (3e-10, 3e-7, 5e-5, 0.1, 2.0, 1e5)],
            [b.trim_sigfig(x, n) for x, n in ((1.23456, 3), (123456, 2), (-0.00123, 1))],
            [b.unit_to_english(u) for u in ("ns", "us", "ms", "s")],
            b.ordered_unique([3, 1, 3]),
        )

    nearly(scenario, 1e-6)


@pytest.mark.parametrize("trims", [False, True])
@pytest.mark.parametrize("colours", [None, False, True])
@pytest.mark.parametrize("warns", [False, True])
def test_tables(both, trims, colours, warns):
    def scenario(t):
        b = module_of(t)
        rows = [
            measurement(
                b,
                100,
                [1e-4 * (1 + i + 9 * j) * f for f in (1.01, 0.99, 1.0)],
                label="table",
                sub_label=f"row {i}",
                description=f"column {j}",
                num_threads=threads,
                env=env,
            )
            for env in ("one", "two")
            for i in range(3)
            for j in range(3)
            for threads in (1, 4)
        ]
        rows.append(measurement(b, 1, [5e-6, 9e-6, 3e-5], label="table", description="column 0", env="one"))
        rows += [measurement(b, 1, [5e-9 * n for n in range(1, 9)], label="other")]
        table = b.Compare(rows[:-4])
        table.extend_results(rows[-2:])
        if trims:
            table.trim_significant_figures()
        if colours is not None:
            table.colorize(rowwise=colours)
        if warns:
            table.highlight_warnings()
        return str(table)

    both(scenario)


def test_timer():
    for t in (torch, face):
        b = module_of(t)
        timer = b.Timer(
            "  y = x + 1\n  y.sum()", setup="x = make(100)", globals={"make": t.ones}, label="sum"
        )
        once = timer.timeit(50)
        assert (once.number_per_run, len(once.raw_times), once.title) == (50, 1, "sum")
        assert 1e-8 < once.median < 0.1 and once.stmt == "y = x + 1\ny.sum()"
        seen = []
        blocks = timer.blocked_autorange(
            callback=lambda number, seconds, seen=seen: seen.append(number), min_run_time=0.05
        )
        assert sum(blocks.raw_times) >= 0.05 and set(seen) == {blocks.number_per_run}
        adaptive = timer.adaptive_autorange(max_run_time=0.5)
        assert len(adaptive.raw_times) > 3 or sum(adaptive.raw_times) >= 0.5
        threads = []
        b.Timer("look()", globals={"look": lambda t=t, s=threads: s.append(t.get_num_threads())}).timeit(1)
        assert set(threads) == {1}
        with pytest.raises(NameError):
            b.Timer("not_there").timeit(1)
        with pytest.raises(ValueError):
            b.Timer(5)
    with pytest.raises(NotImplementedError):
        module_of(face).Timer("x", language="c++")
