"""`ms.dataset` without MindSpore: rows of a Python source, shuffled, mapped, batched and repeated, with the
names of MindSpore's pipelines."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ms_adapter import pytorch as torch

Row = tuple[np.ndarray, ...]


class Dataset:
    """A source of rows, each with the same named columns; what changes rows gives a new one."""

    def __init__(self, columns: list[str], rows: Callable[[], Iterator[Row]], size: Callable[[], int]):
        self._columns, self._rows, self._size = columns, rows, size

    def get_dataset_size(self) -> int:
        """How many rows, or batches, an epoch has."""
        return self._size()

    __len__ = get_dataset_size

    def get_col_names(self) -> list[str]:
        """The names of the columns."""
        return list(self._columns)

    def batch(
        self, batch_size: int, drop_remainder: bool = False, num_parallel_workers: Any = None
    ) -> Dataset:
        """Rows put together, `batch_size` at a time."""

        def rows() -> Iterator[Row]:
            source = self._rows()
            while some := list(itertools.islice(source, batch_size)):
                if len(some) == batch_size or not drop_remainder:
                    yield tuple(map(np.stack, zip(*some)))

        def size() -> int:
            return self._size() // batch_size if drop_remainder else -(-self._size() // batch_size)

        return Dataset(self._columns, rows, size)

    def map(
        self,
        operations: Any,
        input_columns: Any = None,
        output_columns: Any = None,
        num_parallel_workers: Any = None,
        **options: Any,
    ) -> Dataset:
        """Callables on some columns, one after the other; without names on the first column."""
        if options or output_columns not in (None, input_columns):
            raise NotImplementedError(
                "dataset.map: other output_columns and further options need MindSpore, which is missing."
            )
        each = operations if isinstance(operations, (list, tuple)) else [operations]
        names = [input_columns] if isinstance(input_columns, str) else input_columns or self._columns[:1]
        places = [self._columns.index(name) for name in names]

        def changed(row: Row) -> Row:
            values: Any = tuple(row[i] for i in places)
            for operation in each:
                found = operation(*values)
                values = found if isinstance(found, tuple) else (found,)
            new = list(row)
            for i, value in zip(places, values, strict=True):
                new[i] = _array(value)
            return tuple(new)

        return Dataset(self._columns, lambda: map(changed, self._rows()), self._size)

    def shuffle(self, buffer_size: int) -> Dataset:
        """Rows drawn at random from the `buffer_size` that come next; by our generator, in an order of our
        own."""

        def rows() -> Iterator[Row]:
            source = self._rows()
            pool = list(itertools.islice(source, buffer_size))
            for row in source:
                place = int(torch.randint(len(pool), ()))
                pool[place], drawn = row, pool[place]
                yield drawn
            yield from (pool[i] for i in torch.randperm(len(pool)).tolist())

        return Dataset(self._columns, rows, self._size)

    def repeat(self, count: int = 1) -> Dataset:
        """All rows `count` times."""
        return Dataset(
            self._columns,
            lambda: itertools.chain.from_iterable(self._rows() for _ in range(count)),
            lambda: self._size() * count,
        )

    def take(self, count: int) -> Dataset:
        """The first rows."""
        return Dataset(
            self._columns,
            lambda: itertools.islice(self._rows(), count),
            lambda: min(count, self._size()),
        )

    def skip(self, count: int) -> Dataset:
        """The rows after the first."""
        return Dataset(
            self._columns,
            lambda: itertools.islice(self._rows(), count, None),
            lambda: max(self._size() - count, 0),
        )

    def create_tuple_iterator(
        self, columns: list[str] | None = None, num_epochs: int = -1, output_numpy: bool = False
    ) -> Iterable[tuple[Any, ...]]:
        """The rows of an epoch, each time that it is iterated over: tensors, or NumPy arrays."""
        names = columns or self._columns
        return _Epochs(lambda: (tuple(r[n] for n in names) for r in self._dicts(output_numpy)))

    def create_dict_iterator(
        self, num_epochs: int = -1, output_numpy: bool = False
    ) -> Iterable[dict[str, Any]]:
        """As create_tuple_iterator, by the columns' names."""
        return _Epochs(lambda: self._dicts(output_numpy))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.create_tuple_iterator())

    def _dicts(self, as_numpy: bool) -> Iterator[dict[str, Any]]:
        for row in self._rows():
            yield {n: v if as_numpy else torch.from_numpy(v.copy()) for n, v in zip(self._columns, row)}


class _Epochs:
    """Each iteration is an epoch."""

    def __init__(self, begin: Callable[[], Iterator[Any]]) -> None:
        self._begin = begin

    def __iter__(self) -> Iterator[Any]:
        return self._begin()


def _array(value: Any) -> np.ndarray:
    return np.asarray(value.asnumpy() if isinstance(value, torch.Tensor) else value)


def _row(item: Any) -> Row:
    return tuple(map(_array, item)) if isinstance(item, (tuple, list)) else (_array(item),)


class GeneratorDataset(Dataset):
    """The rows of a Python source: something with `__getitem__` and `__len__`, which is shuffled unless
    `shuffle=False`; an iterable; or a function that gives one."""

    def __init__(
        self,
        source: Any,
        column_names: Any = None,
        num_parallel_workers: Any = None,
        shuffle: bool | None = None,
        num_samples: int | None = None,
        **options: Any,
    ) -> None:
        if options:
            raise NotImplementedError(
                f"GeneratorDataset: {', '.join(options)} need MindSpore, which is not installed."
            )
        names = [column_names] if isinstance(column_names, str) else column_names
        listed = hasattr(source, "__getitem__") and hasattr(source, "__len__")
        if shuffle and not listed:
            raise RuntimeError(
                "GeneratorDataset: only a source with __getitem__ and __len__ can be shuffled."
            )

        def rows() -> Iterator[Row]:
            if listed:
                n = len(source)
                order = range(n) if shuffle is False else torch.randperm(n).tolist()
                items: Any = (source[i] for i in order)
            else:
                items = source() if callable(source) else source
            return map(_row, itertools.islice(items, num_samples))

        def size() -> int:
            n = len(source) if hasattr(source, "__len__") else sum(1 for _ in rows())
            return n if num_samples is None else min(n, num_samples)

        super().__init__(list(names or ()), rows, size)
        if not self._columns:
            raise ValueError("GeneratorDataset: column_names is wanted, one name for each column.")


class NumpySlicesDataset(GeneratorDataset):
    """The rows of arrays: `NumpySlicesDataset((x, y), ["data", "label"])`, also of one array or a
    dictionary."""

    def __init__(self, data: Any, column_names: Any = None, **options: Any) -> None:
        if isinstance(data, dict):
            column_names, data = column_names or list(data), tuple(data.values())
        columns = tuple(map(np.asarray, data)) if isinstance(data, tuple) else (np.asarray(data),)
        names = column_names or [f"column_{i}" for i in range(len(columns))]
        super().__init__(_Slices(columns), names, **options)


class _Slices:
    def __init__(self, columns: tuple[np.ndarray, ...]) -> None:
        self._columns = columns

    def __len__(self) -> int:
        return len(self._columns[0])

    def __getitem__(self, i: int) -> Row:
        return tuple(column[i] for column in self._columns)
