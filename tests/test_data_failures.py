"""Loaders when things go wrong: workers that die, hang or cannot start, interrupts, a killed main process."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

import ms_adapter.pytorch as torch

ROOT = Path(__file__).resolve().parent.parent
ENV = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
data = torch.utils.data


class Doing(data.Dataset):
    """Four samples; ``action`` is called for the third."""

    def __init__(self, action):
        self.action = action

    def __len__(self):
        return 4

    def __getitem__(self, index):
        if index == 2:
            return self.action()
        return torch.full((5000,), float(index))


def given_until_error(loader):
    """The batches' first elements, and the exception."""
    found = []
    with pytest.raises(Exception) as caught:  # noqa: PT011 - its type is the caller's question
        for batch in loader:
            found.append(batch.flatten()[0].item())
    return found, caught.value


@pytest.mark.slow
def test_kills_of_random_workers():
    """The short form of `python tests/kill_workers.py`, which kills 100."""
    command = [sys.executable, str(ROOT / "tests" / "kill_workers.py"), "--kills", "8", "--methods", "fork"]
    done = subprocess.run(command, capture_output=True, text=True, env=ENV, timeout=200)
    assert done.returncode == 0, done.stderr
    assert "nothing hung, leaked or was lost" in done.stdout


@pytest.mark.parametrize(
    ("end", "how"),
    [
        (lambda: os._exit(3), "exit code 3"),
        (lambda: sys.exit(4), "exit code 4"),
        (lambda: os.kill(os.getpid(), signal.SIGTERM), "killed by SIGTERM"),
    ],
)
@pytest.mark.parametrize("persistent", [False, True])
def test_a_dead_worker_is_an_error_that_stays(end, how, persistent):
    loader = data.DataLoader(Doing(end), None, num_workers=1, persistent_workers=persistent)
    iterator = iter(loader)
    assert [next(iterator)[0].item() for _ in range(2)] == [0.0, 1.0]  # finished before the end
    for _ in range(2):
        with pytest.raises(RuntimeError, match=rf"worker \(pid\(s\) \d+\) exited unexpectedly: {how}"):
            next(iterator)
    assert given_until_error(loader)[0] == [0.0, 1.0]  # a new pass has new workers


def test_a_worker_that_takes_too_long():
    loader = data.DataLoader(Doing(lambda: time.sleep(60)), None, num_workers=1, timeout=0.3)
    begin = time.monotonic()
    found, error = given_until_error(loader)
    assert found == [0.0, 1.0]
    assert type(error) is RuntimeError
    assert str(error) == "DataLoader timed out after 0.3 seconds"
    del loader, error
    assert time.monotonic() - begin < 30


def test_what_cannot_be_pickled_is_an_error():
    found, error = given_until_error(data.DataLoader(Doing(lambda: lambda: 0), None, num_workers=1))
    assert found == [0.0, 1.0]
    assert "in DataLoader worker process 0" in str(error)

    class Local(Exception):
        pass

    def fail():
        raise Local("of this function")

    _, error = given_until_error(data.DataLoader(Doing(fail), None, num_workers=1))
    assert type(error) is RuntimeError
    assert "Caught" in str(error) and "Local: of this function" in str(error)


def test_a_dataset_that_spawn_cannot_pickle():
    loader = data.DataLoader(Doing(lambda: 0), num_workers=2, multiprocessing_context="spawn")
    with pytest.warns(UserWarning, match="pickles the dataset"), pytest.raises(Exception, match="pickle"):
        iter(loader)


def test_no_depth_of_prefetching_is_an_error_not_an_empty_pass():
    with pytest.raises(AssertionError, match="prefetch_factor must be greater than 0"):
        iter(data.DataLoader(range(3), num_workers=1, prefetch_factor=0))


def test_a_loader_in_a_thread():
    found = []
    loader = data.DataLoader(torch.arange(6), 2, num_workers=2)
    thread = threading.Thread(target=lambda: found.extend(batch.tolist() for batch in loader))
    thread.start()
    thread.join(60)
    assert found == [[0, 1], [2, 3], [4, 5]]


def test_a_result_with_history_is_refused():
    loader = data.DataLoader(Doing(lambda: torch.ones(5000, requires_grad=True) * 2), None, num_workers=1)
    _, error = given_until_error(loader)
    assert type(error) is RuntimeError
    assert "autograd does not cross processes" in str(error)


@pytest.fixture
def start(tmp_path):
    """Start a script in a process group of its own; ends the group afterwards."""
    started = []

    def begin(text, *options):
        path = tmp_path / "script.py"
        path.write_text(textwrap.dedent(text))
        process = subprocess.Popen(
            [sys.executable, *options, str(path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=ENV,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        for stream in (process.stdout, process.stderr):
            stream.close()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


SLOW = """
    import sys, time
    import ms_adapter.pytorch as torch

    class Slow(torch.utils.data.Dataset):
        def __len__(self):
            return 1000

        def __getitem__(self, index):
            time.sleep({seconds})
            return torch.full((5000,), float(index))

    if __name__ == "__main__":
        loader = torch.utils.data.DataLoader(
            Slow(), 2, num_workers=2, multiprocessing_context="{method}", persistent_workers={persistent}
        )
        iterator = iter(loader)
        for _ in range({first}):
            next(iterator)
        print(*[worker.process.pid for worker in iterator._workers], flush=True)
        for batch in iterator:
            pass
"""


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def all_gone(pids, seconds):
    give_up = time.monotonic() + seconds
    while any(map(is_running, pids)):
        if time.monotonic() > give_up:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.slow
@pytest.mark.parametrize(("method", "persistent"), [("fork", False), ("fork", True), ("spawn", False)])
def test_an_interrupt_ends_everything(start, method, persistent):
    # Both workers have answered once: an interrupt while spawned ones still import is Python's to report.
    process = start(SLOW.format(seconds=0.01, method=method, persistent=persistent, first=2))
    pids = list(map(int, process.stdout.readline().split()))
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert err.count("Traceback") == 1, err
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert all_gone(pids, 5)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_killed_main_process_leaves_no_worker(start, method):
    seconds = 0.01 if method == "forkserver" else 60  # busy workers die at once where the kernel tells them
    process = start(SLOW.format(seconds=seconds, method=method, persistent=False, first=0))
    pids = list(map(int, process.stdout.readline().split()))
    assert len(pids) == 2
    os.kill(process.pid, signal.SIGKILL)
    assert all_gone(pids, 20)


def test_leaving_a_pass_early_and_the_end_of_the_program(start):
    process = start("""
        import ms_adapter.pytorch as torch
        loader = torch.utils.data.DataLoader(torch.arange(1000), 2, num_workers=2)
        for batch in loader:
            break
        iterator = iter(loader)
        print(next(iterator).tolist(), *[worker.process.pid for worker in iterator._workers])
    """)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and err == ""
    assert out.startswith("[0, 1]")
    assert all_gone(map(int, out.split("]")[1].split()), 5)


@pytest.mark.slow
def test_the_runner_spawns_workers_that_know_torch(start):
    process = start(
        """
        import torch
        from torch.utils.data import DataLoader, Dataset

        class Squares(Dataset):
            def __len__(self):
                return 6

            def __getitem__(self, index):
                return torch.tensor(index) ** 2, torch.zeros(4000)

        def double(i, shared):
            shared[i] *= 2

        if __name__ == "__main__":
            for method in ("fork", "spawn", "forkserver"):
                loader = DataLoader(Squares(), 3, num_workers=2, multiprocessing_context=method)
                print([batch.tolist() for batch, _ in loader])
            shared = torch.arange(1, 3).share_memory_()
            torch.multiprocessing.spawn(double, (shared,), nprocs=2)
            print(shared, torch.__name__)
        """,
        *("-m", "ms_adapter", "run"),
    )
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert out.splitlines() == ["[[0, 1, 4], [9, 16, 25]]"] * 3 + ["tensor([2, 4]) ms_adapter.pytorch"]


def test_workers_compute_on_one_thread_after_a_parent_that_used_many():
    big = torch.ones(600, 600)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert (big @ big).sum().item() == 600**3  # the parent's team exists now
        loader = data.DataLoader(Doing(lambda: (big @ big)[0]), None, num_workers=2)
        assert [t[0].item() for t in loader] == [0.0, 1.0, 600.0, 3.0]
        counts = data.DataLoader(Doing(torch.get_num_threads), None, num_workers=1)
        assert list(counts)[2] == 1
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("replacement", [True, False])
def test_a_sampler_that_is_as_good_as_endless_takes_no_memory(replacement: bool) -> None:
    sampler = data.RandomSampler(range(7), replacement=replacement, num_samples=10**15)
    assert set(itertools.islice(sampler, 200)) == set(range(7))
