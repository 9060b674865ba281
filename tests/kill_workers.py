"""Kills random workers of a DataLoader at random moments and checks that nothing hangs, leaks or is lost.

    python tests/kill_workers.py [--kills 100] [--seed 0] [--methods fork,spawn,forkserver]

After each kill: the loader has either finished its pass or raised RuntimeError naming a killed worker; what
it gave until then is right and in order; no process, descriptor or mapping is left; and a new pass over the
same loader gives everything.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import multiprocessing
import os
import random
import re
import signal
import threading
import time

import ms_adapter.pytorch as torch

BATCH, FEATURES, SAMPLES = 8, 5000, 400
HANG_S = 120  # then the stacks are printed and the run ends


class Samples(torch.utils.data.Dataset):
    """Big enough for shared memory, slow enough to be killed while it works."""

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> torch.Tensor:
        if index % 16 == 0:
            time.sleep(0.002)
        return torch.full((FEATURES,), float(index))


def kill_soon(pids: list[int], chance: random.Random) -> threading.Thread:
    """Kill one of the processes after up to a pass's time, from another thread."""
    pid, delay_s = chance.choice(pids), chance.random() * 0.2

    def kill() -> None:
        time.sleep(delay_s)
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it had finished

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def check_batch(number: int, batch: torch.Tensor) -> None:
    """Each batch holds its own samples, whatever became of the workers."""
    expected = torch.arange(number * BATCH, (number + 1) * BATCH).float()
    if not torch.equal(batch, expected[:, None].expand(BATCH, FEATURES)):
        raise AssertionError(f"batch {number} has wrong contents")


def one_kill(loader: torch.utils.data.DataLoader, chance: random.Random) -> str:
    """One pass with a kill in it; returns what came of it."""
    iterator = iter(loader)
    pids = [worker.process.pid for worker in iterator._workers]
    killer = kill_soon(pids, chance)
    kept = []
    outcome = "finished before the kill"
    try:
        for number, batch in enumerate(iterator):
            check_batch(number, batch)
            kept.append(batch)
    except RuntimeError as error:
        named = re.search(r"pid\(s\) ([\d, ]+)\) exited unexpectedly: killed by SIGKILL", str(error))
        if not named or not set(map(int, named[1].split(","))) <= set(pids):
            raise
        outcome = "raised"
    else:
        if len(kept) != len(loader):
            raise AssertionError(f"{len(kept)} of {len(loader)} batches and no error")
    killer.join()
    for number, batch in enumerate(kept):  # memory of a killed worker stays
        check_batch(number, batch)
    return outcome


def leftovers() -> dict[str, int]:
    """What a pass must not add to: processes, descriptors, shared mappings, named shared memory."""
    multiprocessing.active_children()  # reaps
    with open("/proc/self/maps") as maps:
        mappings = sum("memfd:ms_adapter" in line for line in maps)
    with open(f"/proc/self/task/{os.getpid()}/children") as children:
        processes = len(children.read().split())
    return {
        "processes": processes,
        "descriptors": len(os.listdir("/proc/self/fd")),
        "mappings": mappings,
        # PyTorch may be at work beside us, and names its own so.
        "names": sum(not name.startswith("torch_") for name in os.listdir("/dev/shm")),
    }


def full_pass(loader: torch.utils.data.DataLoader) -> None:
    """Everything is there. A kill that came after its pass shows itself here, once."""
    try:
        iterator = iter(loader)
    except RuntimeError:
        iterator = iter(loader)
    count = 0
    for count, batch in enumerate(iterator, 1):  # noqa: B007 - counts
        check_batch(count - 1, batch)
    if count != len(loader):
        raise AssertionError(f"the pass after the kill gave {count} of {len(loader)} batches")


def run(kills: int, seed: int, methods: list[str]) -> collections.Counter[str]:
    """All kills; raises AssertionError at the first thing that is wrong."""
    chance = random.Random(seed)
    outcomes: collections.Counter[str] = collections.Counter()
    baseline: dict[str, int] = {}
    for number in range(kills):
        faulthandler.dump_traceback_later(HANG_S, exit=True)
        loader = torch.utils.data.DataLoader(
            Samples(),
            batch_size=BATCH,
            num_workers=2,
            multiprocessing_context=methods[number % len(methods)],
            persistent_workers=chance.random() < 0.5,
        )
        outcomes[one_kill(loader, chance)] += 1
        full_pass(loader)
        del loader
        faulthandler.cancel_dump_traceback_later()
        now = leftovers()
        if number < len(methods):
            baseline = now  # the fork server and multiprocessing's resource tracker stay
        elif now != baseline:
            raise AssertionError(f"after kill {number} there is {now} where there was {baseline}")
    return outcomes


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--methods", default="fork,spawn,forkserver")
    args = parser.parse_args()
    begin = time.monotonic()
    outcomes = run(args.kills, args.seed, args.methods.split(","))
    text = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
    print(f"{args.kills} kills in {time.monotonic() - begin:.0f} s: {text}; nothing hung, leaked or was lost")


if __name__ == "__main__":
    main()
