"""torch.distributed's stores: names and bytes in memory, in a file that processes share, at a port."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import ms_adapter.pytorch.distributed as dist

ROOT = Path(__file__).parent.parent
SHORT = timedelta(milliseconds=30)
KINDS: dict[str, Callable[[Path], Any]] = {
    "memory": lambda folder: dist.HashStore(),
    "file": lambda folder: dist.FileStore(str(folder / "store"), 1),
    "port": lambda folder: dist.TCPStore("127.0.0.1", 0, 1, True),
    "prefix": lambda folder: dist.PrefixStore("p", dist.HashStore()),
}


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return KINDS[request.param](tmp_path)


def test_names_have_bytes_and_numbers(store):
    store.set("a", "1")
    store.set("b", b"\x00\xff")
    assert (store.get("a"), store.get("b")) == (b"1", b"\x00\xff")
    assert (store.add("n", 3), store.add("n", 2), store.get("n")) == (3, 5, b"5")
    store.append("a", "2")
    store.multi_set(["p", "q"], ["1", "2"])
    assert store.multi_get(["a", "p", "q"]) == [b"12", b"1", b"2"]
    assert (store.check(["a", "p"]), store.check(["a", "z"])) == (True, False)
    assert (store.delete_key("a"), store.delete_key("a")) == (True, False)
    with pytest.raises(TypeError, match="str or bytes, not int"):
        store.set("a", 3)


def test_compare_set_changes_what_is_as_expected(store):
    assert store.compare_set("c", "", "x") == b"x"
    assert store.compare_set("c", "y", "z") == b"x"
    assert store.compare_set("c", "x", "z") == b"z"
    assert store.compare_set("new", "x", "z") == b"x" and not store.check(["new"])


def test_what_does_not_come_in_time_is_an_error(store):
    with pytest.raises(dist.DistStoreError, match="after 30ms"):
        store.wait(["z"], SHORT)
    store.set_timeout(SHORT)
    assert store.timeout == SHORT
    with pytest.raises(dist.DistStoreError, match="z"):
        store.get("z")


def test_queues_are_first_in_first_out():
    queues = dist.PrefixStore("p", dist.HashStore())
    queues.queue_push("q", "1")
    queues.queue_push("q", "2")
    assert (queues.queue_len("q"), queues.queue_pop("q"), queues.queue_pop("q")) == (2, b"1", b"2")
    with pytest.raises(dist.QueueEmptyError):
        queues.queue_pop("q", False)


def test_threads_share_a_store():
    store = dist.HashStore()
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            popped = pool.submit(store.queue_pop, "q")  # waits for what another thread pushes
            list(pool.map(lambda _: store.add("n", 1), range(2000)))
            store.queue_push("q", "1")
            assert popped.result() == b"1"
    finally:
        sys.setswitchinterval(before)
    assert store.add("n", 0) == 2000


def test_an_empty_queue_is_waited_for_in_time():
    store = dist.HashStore()
    store.set_timeout(SHORT)
    with pytest.raises(dist.DistStoreError, match="nothing came into the queue 'q'"):
        store.queue_pop("q")


def test_a_file_without_a_size_stays(tmp_path):
    dist.FileStore(str(tmp_path / "store")).set("a", "1")
    assert dist.FileStore(str(tmp_path / "store")).get("a") == b"1"


def test_a_file_is_shared_by_processes_and_goes_with_the_last(tmp_path):
    path = tmp_path / "store"
    here = dist.FileStore(str(path), 2)
    source = """
        import sys
        import ms_adapter.pytorch.distributed as dist
        store = dist.FileStore(sys.argv[1], 2)
        for _ in range(200):
            store.add("n", 1)
        store.set("there", "done")
        print(store.get("here").decode())
    """
    command = [sys.executable, "-c", textwrap.dedent(source), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True) as other:
        for _ in range(200):
            here.add("n", 1)
        here.set("here", "seen")
        assert here.get("there") == b"done" and other.communicate()[0] == "seen\n"
    assert here.get("n") == b"400" and path.exists()
    del here
    assert not path.exists()


def test_a_port_has_one_master_in_this_process():
    master = dist.TCPStore("127.0.0.1", 0, None, True)
    dist.TCPStore("127.0.0.1", master.port, is_master=False).set("x", "y")
    assert master.get("x") == b"y"
    with pytest.raises(dist.DistNetworkError, match="cannot listen"):
        dist.TCPStore("127.0.0.1", master.port, None, True)
    port = master.port
    del master
    with pytest.raises(dist.DistNetworkError, match="cannot be reached"):
        dist.TCPStore("127.0.0.1", port, is_master=False)
    with pytest.raises(NotImplementedError, match="2 processes"):
        dist.TCPStore("127.0.0.1", 0, 2, True)


def test_a_group_of_one_starts_with_a_store():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    assert dist.get_world_size() == 1 and not dist._rank_not_in_group(None)
    assert dist._rank_not_in_group(dist.GroupMember.NON_GROUP_MEMBER)
    dist.destroy_process_group()
