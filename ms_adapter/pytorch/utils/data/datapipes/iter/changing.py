"""Pipes that apply a function to each item."""

from ..._utils.collate import default_collate
from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import StreamWrapper, check_picklable, columns, length_of, validate_input_col


@functional_datapipe("map")
class MapperIterDataPipe(IterDataPipe):
    """``fn`` of each item.

    Args:
        input_col: the index or key, or several, of what ``fn`` gets; default: the item.
        output_col: where its result goes; default: to the place of the (first) input, the other inputs
            being removed; -1 appends it to a list or tuple.

    >>> from ms_adapter.pytorch.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper([(1, 2, 3)]).map(max, input_col=[0, 2]))
    [(3, 2)]
    """

    def __init__(self, datapipe, fn, input_col=None, output_col=None):
        check_picklable(fn)
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, (list, tuple)):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
        validate_input_col(fn, input_col)
        self.datapipe = datapipe
        self.fn = fn
        self.input_col = input_col
        self.output_col = output_col

    def _changed(self, data):
        result = self.fn(*columns(data, self.input_col))
        if self.input_col is None:
            return result
        was_tuple = isinstance(data, tuple)
        data = list(data) if was_tuple else data
        if self.output_col is None:
            several = isinstance(self.input_col, (list, tuple))
            data[self.input_col[0] if several else self.input_col] = result
            for column in sorted(self.input_col[1:], reverse=True) if several else ():
                del data[column]
        elif self.output_col == -1:
            data.append(result)
        else:
            data[self.output_col] = result
        return tuple(data) if was_tuple else data

    def __iter__(self):
        for data in self.datapipe:
            yield self._changed(data)

    def __len__(self):
        return length_of(self, self.datapipe)


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """A collated batch of each list of samples, by ``conversion`` or ``collate_fn``."""

    def __init__(self, datapipe, conversion=default_collate, collate_fn=None):
        fn = conversion if collate_fn is None else collate_fn
        if not callable(fn):
            raise NotImplementedError(
                "CollatorIterDataPipe: a conversion for each column of data frames is not supported; give a "
                "function of the batch."
            )
        super().__init__(datapipe, fn)


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe):
    """The items for which ``filter_fn`` is true; ``input_col`` as for ``map``."""

    def __init__(self, datapipe, filter_fn, input_col=None):
        check_picklable(filter_fn)
        validate_input_col(filter_fn, input_col)
        self.datapipe = datapipe
        self.filter_fn = filter_fn
        self.input_col = input_col

    def __iter__(self):
        for data in self.datapipe:
            wanted = self.filter_fn(*columns(data, self.input_col))
            if not isinstance(wanted, bool):
                raise ValueError(
                    f"Boolean output is required for `filter_fn` of FilterIterDataPipe, got {type(wanted)}"
                )
            if wanted:
                yield data
            else:
                StreamWrapper.close_streams(data)
