"""What loaders and processes give, as JSON: run once with PyTorch and once with ms_adapter, then compared.

    python tests/data_cases.py ours|torch

A script, since processes started by spawn import what they run.
"""

import collections
import json
import random
import sys
import time

import numpy

if sys.argv[1:2] == ["ours"]:
    import ms_adapter.pytorch as torch
else:
    import torch

data = torch.utils.data
METHODS = ("fork", "spawn", "forkserver")
Pair = collections.namedtuple("Pair", ["left", "right"])


def plain(value):
    """Tensors as lists, within containers."""
    if hasattr(value, "tolist"):
        return [str(value.dtype), list(value.shape), value.tolist()]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(plain, value)]
    return value


class Drawing(data.Dataset):
    """Samples that show the state of every generator."""

    def __len__(self):
        return 13

    def __getitem__(self, index):
        return index, torch.rand(2), torch.randn(1), random.random(), numpy.random.rand()


class Uneven(data.IterableDataset):
    """A stream that is short in one worker and long in the other."""

    def __init__(self, lengths=(3, 8, 5)):
        self.lengths = lengths

    def __iter__(self):
        info = data.get_worker_info()
        mine = info.id if info else 2
        for k in range(self.lengths[mine]):
            yield torch.tensor([mine, k])


class Kinds(data.Dataset):
    """Samples of many types."""

    def __len__(self):
        return 6

    def __getitem__(self, index):
        return {
            "pair": Pair(index, float(index)),
            "text": str(index),
            "array": numpy.full((2, 2), index, dtype=numpy.int16),
            "scalar": numpy.float32(index),
            "nested": [torch.tensor(index), (torch.ones(3) * index, b"x")],
            "big": torch.full((50, 100), index, dtype=torch.float16),
            "bool": index % 2 == 0,
            "complex": torch.tensor(complex(index, 1)),
        }


class Raising(data.Dataset):
    """Fails for one index."""

    def __init__(self, error):
        self.error = error

    def __len__(self):
        return 6

    def __getitem__(self, index):
        if index == 3:
            raise self.error
        return index


class Odd(Exception):
    """An exception that cannot be made of a text alone."""

    def __init__(self, text, code):
        super().__init__(text, code)


def announce(worker_id):
    """A worker_init_fn that changes what the samples draw."""
    info = data.get_worker_info()
    random.seed(info.seed % 1000 + worker_id + info.num_workers)


def fail_to_begin(worker_id):
    """A worker_init_fn that fails in one worker."""
    if worker_id == 1:
        raise LookupError("no such worker")


def keep_list(samples):
    """A collate_fn that makes no batch."""
    return samples


class TensorIndices(data.Sampler):
    """Indices as tensors, which have to travel too."""

    def __iter__(self):
        return iter(torch.arange(5))

    def __len__(self):
        return 5


def streams(method):
    """Two passes of a shuffled loader, and what is drawn afterwards."""
    torch.manual_seed(3)
    loader = data.DataLoader(
        Drawing(), batch_size=3, shuffle=True, num_workers=2, multiprocessing_context=method
    )
    passes = 2 if method == "fork" else 1
    return [plain(batch) for _ in range(passes) for batch in loader], torch.rand(1).item()


def own_generator():
    """A loader's generator gives its shuffles and its workers' seeds."""
    generator = torch.Generator().manual_seed(11)
    loader = data.DataLoader(Drawing(), batch_size=4, shuffle=True, num_workers=2, generator=generator)
    return [plain(batch) for batch in loader], torch.rand(2, generator=generator).tolist()


def persistent():
    """Workers go on with their generators; what was fetched of a pass that was left is dropped."""
    torch.manual_seed(5)
    loader = data.DataLoader(Drawing(), 3, shuffle=True, num_workers=2, persistent_workers=True)
    found = []
    for number in range(3):
        for batch in loader:
            found.append(plain(batch))
            if number == 1:
                break
    return found


def uneven_streams():
    """The order over workers whose streams end at different times."""
    found = []
    for options in ({}, {"drop_last": True}, {"batch_size": None}, {"persistent_workers": True}):
        loader = data.DataLoader(Uneven(), **{"batch_size": 2, "num_workers": 2, **options})
        found.append([[plain(batch) for batch in loader] for _ in range(2)])
    return found


def three_workers_and_depths():
    """More workers, other depths of prefetching."""
    torch.manual_seed(6)
    found = []
    for workers, depth in ((1, 1), (3, 1), (3, 4)):
        loader = data.DataLoader(Drawing(), 2, shuffle=True, num_workers=workers, prefetch_factor=depth)
        found.append([plain(batch) for batch in loader])
        found.append([plain(batch) for batch in data.DataLoader(Uneven(), 1, num_workers=workers)])
    return found, torch.rand(1).item()


def kinds():
    """Batches of many types, by the default collate and by one that makes none."""
    return [
        [plain(batch) for batch in data.DataLoader(Kinds(), 4, num_workers=2, collate_fn=collate)]
        for collate in (None, keep_list)
    ] + [[plain(sample) for sample in data.DataLoader(Kinds(), None, num_workers=2)]]


def out_of_order():
    """The same batches, in whatever order."""
    loader = data.DataLoader(range(20), 3, num_workers=2, in_order=False)
    return sorted(str(plain(batch)) for batch in loader)


def worker_init():
    """worker_init_fn runs after the seeding and before the first sample."""
    torch.manual_seed(8)
    loader = data.DataLoader(Drawing(), 3, num_workers=2, worker_init_fn=announce)
    return [plain(batch) for batch in loader]


def tensor_indices():
    """Samplers may give tensors."""
    source = torch.arange(10.0)
    return [plain(batch) for batch in data.DataLoader(source, 2, sampler=TensorIndices(), num_workers=2)]


def samplers_of_workers():
    """Each sampler through workers, from one seed."""
    torch.manual_seed(9)
    samplers = [
        data.RandomSampler(range(10), replacement=True, num_samples=45),
        data.RandomSampler(range(10), num_samples=25),
        data.WeightedRandomSampler([0.1, 0.9, 0.4, 0.0], 12),
        data.WeightedRandomSampler([0.1, 0.9, 0.4], 3, replacement=False),
        data.SubsetRandomSampler([9, 7, 5, 3, 1]),
        data.DistributedSampler(range(10), num_replicas=3, rank=1),
        data.DistributedSampler(range(10), num_replicas=3, rank=2, drop_last=True, seed=4),
        data.DistributedSampler(range(2), num_replicas=5, rank=4, shuffle=False),
    ]
    samplers[5].set_epoch(2)
    found = [(len(sampler), list(sampler)) for sampler in samplers]
    grouped = data.BatchSampler(data.RandomSampler(range(7)), 3, drop_last=True)
    loader = data.DataLoader(range(10), batch_sampler=grouped, num_workers=2)
    return found, [plain(batch) for batch in loader], torch.rand(1).item()


def attempt(action):
    """The type of the exception and the last line of its text, or the result."""
    try:
        return action()
    except Exception as error:
        return type(error).__name__, str(error).strip().splitlines()[-1:], "Traceback" in str(error)


def errors_of_workers():
    """Types and texts of what workers raise; the loader goes on after it."""
    found = []
    for error in (ValueError("bad value"), KeyError("key"), Odd("odd", 3), ZeroDivisionError("zero")):
        iterator = iter(data.DataLoader(Raising(error), 1, num_workers=2))
        found.append([plain(attempt(lambda it=iterator: next(it))) for _ in range(7)])
    iterator = iter(data.DataLoader(range(4), 1, num_workers=2, worker_init_fn=fail_to_begin))
    return [*found, [plain(attempt(lambda: next(iterator))) for _ in range(2)]]


def give_tensors(method):
    """Tensors through queues are the same memory on both sides; what autograd allows."""
    context = torch.multiprocessing.get_context(method)
    tasks, answers = context.Queue(), context.SimpleQueue()
    model = torch.nn.Linear(2, 2, bias=False)
    with torch.no_grad():
        model.weight.zero_()
    model.share_memory()
    counter = torch.zeros(3).share_memory_()
    process = context.Process(target=answer_tensors, args=(tasks, answers, model, counter))
    process.start()
    base = torch.arange(6.0)
    parameter = torch.nn.Parameter(torch.ones(2))
    sparse = torch.eye(2).to_sparse()
    leaf = torch.ones(2, requires_grad=True)
    tasks.put((base, base[2:], base.view(2, 3).t(), parameter, leaf, sparse, torch.empty(0), "text"))
    returned, facts = answers.get()
    tasks.put(None)
    process.join()
    same = returned.untyped_storage().data_ptr() == base.untyped_storage().data_ptr()
    return plain([base, returned, facts, counter, model.weight.detach()]), same, process.exitcode


def answer_tensors(tasks, answers, model, counter):
    """The other side of ``give_tensors``."""
    counter += 1
    with torch.no_grad():
        model.weight += 1
    base, view, turned, parameter, leaf, sparse, empty, text = tasks.get()
    base.add_(10)
    shared = view.data_ptr() - base.data_ptr(), turned.data_ptr() - base.data_ptr()
    facts = [shared, view.tolist(), turned.tolist(), type(parameter).__name__, parameter.requires_grad]
    facts += [leaf.requires_grad, leaf.is_leaf, sparse.to_dense().tolist(), list(empty.shape), text]
    answers.put((base, facts))
    tasks.get()


def refused_tensors():
    """A tensor with a history cannot be sent."""
    made = torch.ones(2, requires_grad=True) * 2
    first, second = torch.multiprocessing.Pipe()
    first.send(made.detach())
    sent = second.recv().tolist()
    try:
        first.send(made)
    except RuntimeError:
        return sent, "RuntimeError"
    return sent, "no error"


def sharing_in_place():
    """share_memory_ keeps views, values and versions together."""
    base = torch.arange(6)
    view = base[1:3]
    before = base.is_shared(), view.is_shared()
    base.share_memory_()
    view += 10
    storage = base.untyped_storage()
    facts = [base.is_shared(), view.is_shared(), storage.is_shared()]
    facts.append(torch.nn.Linear(2, 2).share_memory().weight.is_shared())
    return before, plain(base), facts


def total(tensor):
    """A function that pools find."""
    return tensor.sum()


def pool():
    """A pool maps tensors."""
    with torch.multiprocessing.get_context("fork").Pool(2) as workers:
        return [plain(t) for t in workers.map(total, [torch.ones(3), torch.arange(4)])]


def started_processes():
    """start_processes and spawn raise what their processes raised, or how they ended."""
    start = torch.multiprocessing.start_processes
    found = [plain(attempt(lambda: torch.multiprocessing.spawn(fail_second, ("text",), 2)))]
    for function in (leave, end_by_signal):
        try:
            start(function, nprocs=2, start_method="fork")
        except torch.multiprocessing.ProcessExitedException as error:
            found.append([str(error), error.error_index, error.exit_code, error.signal_name])
    return [*found, start(time.sleep, nprocs=1, start_method="fork")]


def fail_second(i, text):
    """Raises in one of two processes."""
    if i == 1:
        raise ValueError(text)
    time.sleep(30)


def leave(i):
    """Leaves with a code."""
    if i == 0:
        sys.exit(7)
    time.sleep(30)


def end_by_signal(i):
    """Ends by a signal."""
    if i == 1:
        import os
        import signal

        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(30)


CASES = {
    **{f"streams_{method}": lambda method=method: streams(method) for method in METHODS},
    **{f"give_tensors_{method}": lambda method=method: give_tensors(method) for method in METHODS},
}
for _case in (
    own_generator,
    persistent,
    uneven_streams,
    three_workers_and_depths,
    kinds,
    out_of_order,
    worker_init,
    tensor_indices,
    samplers_of_workers,
    errors_of_workers,
    refused_tensors,
    sharing_in_place,
    pool,
    started_processes,
):
    CASES[_case.__name__] = _case


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    for case_name, run_case in CASES.items():
        print(json.dumps([case_name, run_case()], default=repr), flush=True)
