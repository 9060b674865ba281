"""Tensors in shared memory: who sees which bytes, what is freed when, and that nothing is overwritten."""

from __future__ import annotations

import contextlib
import os
import pathlib
import resource
import signal
import time

import numpy
import pytest

import ms_adapter.pytorch as torch
from ms_adapter import _C
from ms_adapter.pytorch.multiprocessing.pool import Pool

data = torch.utils.data


def mappings():
    with open("/proc/self/maps") as file:
        return sum("memfd:ms_adapter" in line for line in file)


def in_child(action):
    """Run in a forked child; the result must be true there."""
    pid = os.fork()
    if pid == 0:
        os._exit(0 if action() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_moving_a_storage_keeps_its_views_and_what_numpy_holds():
    base = torch.arange(1000.0)
    view, array = base[10:20], base.numpy()
    base.share_memory_()
    view.zero_()
    assert base[9:21].sum().item() == 29.0
    assert array[10] == 10.0  # its memory is still there, though it is the old one
    with pytest.raises(RuntimeError, match="not resizable"):
        base.untyped_storage().resize_(8000)
    foreign = torch.from_numpy(numpy.arange(5)).share_memory_()
    assert foreign.is_shared() and foreign.tolist() == [0, 1, 2, 3, 4]


def test_a_child_writes_what_the_parent_reads():
    shared, own = torch.zeros(3).share_memory_(), torch.zeros(3)

    def write():
        shared.add_(1)
        own.add_(1)
        return True

    assert in_child(write)
    assert shared.tolist() == [1, 1, 1] and own.tolist() == [0, 0, 0]


def test_memory_and_descriptors_end_with_the_tensors():
    before, descriptors = mappings(), len(os.listdir("/proc/self/fd"))
    kept = [torch.zeros(5000).share_memory_() for _ in range(20)]
    assert mappings() == before + 20
    del kept
    assert mappings() == before
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_a_storage_that_comes_back_is_the_same_one():
    first, second = torch.multiprocessing.Pipe()
    tensor = torch.arange(4)
    parts = [tensor, tensor[1:]]
    for part in parts:
        first.send(part)
    found = [second.recv() for _ in parts]
    assert all(t.untyped_storage() is tensor.untyped_storage() for t in found)
    assert found[1].tolist() == [1, 2, 3]


def test_the_end_of_a_sender_is_explained():
    context = torch.multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=queue.put, args=(torch.ones(3),))
    process.start()
    process.join()
    with pytest.raises((ConnectionError, FileNotFoundError), match="whose sender has ended"):
        queue.get()


def send_and_end(queue, tensors, how):
    torch.multiprocessing.set_sharing_strategy("file_system")
    for tensor in tensors:
        queue.put(tensor)
    if how is not None:
        os.kill(os.getpid(), how)


def keepers():
    """Process ids of the processes that keep what other processes sent."""
    found = []
    for entry in os.scandir("/proc"):
        with contextlib.suppress(OSError):
            if (
                entry.name.isdigit()
                and b"multiprocessing/keeper.py" in pathlib.Path(entry, "cmdline").read_bytes()
            ):
                found.append(int(entry.name))
    return found


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("how", [None, signal.SIGKILL])
def test_what_a_sender_left_arrives_with_the_strategy_for_it(method, how):
    before = set(keepers())
    context = torch.multiprocessing.get_context(method)
    queue = context.SimpleQueue()
    base = torch.arange(1000.0)
    parameter = torch.nn.Parameter(torch.ones(3))
    process = context.Process(target=send_and_end, args=(queue, [base, base[5:9], parameter], how))
    process.start()
    process.join()
    assert process.exitcode == (0 if how is None else -how)
    whole, part, got = queue.get(), queue.get(), queue.get()
    assert torch.equal(whole, base) and part.tolist() == [5, 6, 7, 8]
    assert isinstance(got, torch.nn.Parameter) and got.tolist() == [1, 1, 1]
    deadline = time.monotonic() + 20
    while set(keepers()) - before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not set(keepers()) - before  # nothing left to keep


class Views(data.Dataset):
    """Views of a large tensor: whole, small and overlapping ones."""

    def __init__(self):
        self.source = torch.arange(3_000_000.0)

    def __len__(self):
        return 6

    def __getitem__(self, index):
        row = self.source[index * 5000 : (index + 1) * 5000]
        return row, row[:10], self.source[::300][:5000], row.view(50, 100).t()


def test_views_travel_alone_or_with_what_they_overlap():
    for index, (row, head, steps, turned) in enumerate(data.DataLoader(Views(), None, num_workers=2)):
        assert row.tolist() == list(range(index * 5000, (index + 1) * 5000))
        assert steps[:3].tolist() == [0.0, 300.0, 600.0]
        row[0] = -1
        assert head[0].item() == -1 and turned[0, 0].item() == -1  # they share memory, as in the worker
    for sample in data.DataLoader(torch.arange(3_000_000.0).view(600, 5000), None, num_workers=1):
        assert sample.untyped_storage().nbytes() == 20_000
        break


def test_shared_tensors_of_a_dataset_stay_shared():
    shared = torch.zeros(4, 3000).share_memory_()
    for i, row in enumerate(data.DataLoader(shared, None, num_workers=2)):
        row.fill_(i + 1)
    assert shared[:, 0].tolist() == [1, 2, 3, 4]


def test_kept_batches_are_never_written_again():
    source = torch.arange(200.0)[:, None].expand(200, 3000)
    kept = list(data.DataLoader(source, 2, num_workers=2))
    assert [batch[:, -1].tolist() for batch in kept] == [[2.0 * i, 2.0 * i + 1] for i in range(100)]


def test_a_forked_child_keeps_the_batch_that_its_parent_lets_go():
    source = torch.arange(400.0)[:, None].expand(400, 5000)
    iterator = iter(data.DataLoader(source, 2, num_workers=1))
    batch = next(iterator)
    region = _C.SharedMemory.of(batch.untyped_storage())
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.read(read, 1)  # until the parent has seen the rest
        os._exit(0 if batch[1, 4999].item() == 1.0 else 1)
    assert region.retired
    del batch
    for _ in iterator:
        pass
    os.write(write, b"x")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    os.close(read)
    os.close(write)


def test_memory_is_used_again_and_given_back():
    source = torch.zeros(400, 5000)
    addresses = [batch.data_ptr() for batch in data.DataLoader(source, 2, num_workers=1)]
    assert len(set(addresses)) < 12
    before = mappings()
    assert len(list(data.DataLoader(source, 2, num_workers=2))) == 200
    assert mappings() == before


def test_kept_batches_need_no_descriptors():
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 20, limits[1]))
    try:
        kept = list(data.DataLoader(torch.zeros(300, 3000), 1, num_workers=2))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert len({batch.data_ptr() for batch in kept}) == 300


def test_too_few_descriptors_are_an_error():
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    loader = data.DataLoader(torch.zeros(3, 3000), 1, num_workers=1)
    iterator = iter(loader)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
    try:
        for _ in range(2):
            with pytest.raises(RuntimeError, match="Too many open files"):
                next(iterator)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_hogwild():
    """Four processes train one model at once."""
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1).share_memory()
    target = torch.tensor([[1.0, -2.0, 3.0, 0.5]])

    def loss_of(x):
        return ((model(x) - x @ target.t()) ** 2).mean()

    probe = torch.randn(64, 4)
    before = loss_of(probe).item()

    def train():
        torch.manual_seed(os.getpid())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
        for _ in range(200):
            optimizer.zero_grad()
            loss_of(torch.randn(16, 4)).backward()
            optimizer.step()

    context = torch.multiprocessing.get_context("fork")
    processes = [context.Process(target=train) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    assert loss_of(probe).item() < before / 1000


def total(tensor):
    return tensor.sum()


def test_the_pool_that_cleans_up():
    context = torch.multiprocessing.get_context("fork")
    with Pool(2, context=context) as pool:
        assert [t.item() for t in pool.map(total, [torch.ones(3), torch.arange(4)])] == [3.0, 6]


def test_strategies():
    torch.multiprocessing.set_sharing_strategy("file_system")
    assert torch.multiprocessing.get_sharing_strategy() == "file_system"
    torch.multiprocessing.set_sharing_strategy("file_descriptor")
    with pytest.raises(AssertionError, match="invalid sharing strategy 'disk'"):
        torch.multiprocessing.set_sharing_strategy("disk")
