"""Taking the samples of one batch from a dataset, by index or off a stream."""

__all__ = ["create_fetcher"]


class _MapDatasetFetcher:
    """By index: one sample, or with ``auto_collation`` those of a list of indices."""

    def __init__(self, dataset, auto_collation, collate_fn, drop_last):
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn

    def fetch(self, index):
        """The collated samples of ``index``."""
        dataset = self.dataset
        if not self.auto_collation:
            return self.collate_fn(dataset[index])
        at_once = getattr(dataset, "__getitems__", None)
        return self.collate_fn(at_once(index) if at_once else [dataset[i] for i in index])


class _IterableDatasetFetcher:
    """Off a stream: one sample, or as many as there are indices; StopIteration at the end."""

    def __init__(self, dataset, auto_collation, collate_fn, drop_last):
        self.dataset_iter = iter(dataset)
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.ended = False

    def fetch(self, index):
        """The next samples, collated."""
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.dataset_iter))
        samples = []
        for _ in index:
            try:
                samples.append(next(self.dataset_iter))
            except StopIteration:
                self.ended = True
                break
        if not samples or (self.drop_last and self.ended):
            raise StopIteration
        return self.collate_fn(samples)


def create_fetcher(is_stream, dataset, auto_collation, collate_fn, drop_last):
    """The fetcher for a dataset; starts the iteration over a stream."""
    cls = _IterableDatasetFetcher if is_stream else _MapDatasetFetcher
    return cls(dataset, auto_collation, collate_fn, drop_last)
