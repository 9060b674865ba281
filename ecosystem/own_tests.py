"""`python -m ecosystem.own_tests`: the libraries' own tests under us and under PyTorch, and a table of both.

What runs is in own_tests.toml: the repository, the commit, the folders that are needed of it and pytest's
arguments. The library is the one in the checkout, so it and its tests are of one commit.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ecosystem.install import refuse_torch
from ecosystem.own_tests_child import known

HERE = Path(__file__).parent
LIST = HERE / "own_tests.toml"
COLUMNS = (
    "library",
    "commit",
    "what ran",
    "tests",
    "PyTorch",
    "ours",
    "ours of PyTorch's",
    "s PyTorch",
    "s ours",
)
SIDES = ("torch", "ours")


class Entry(NamedTuple):
    """A table of own_tests.toml."""

    name: str
    repository: str
    version: str
    commit: str
    folders: list[str]
    arguments: list[str]
    paths: Sequence[str] = (".",)
    every: int = 1
    seconds_each: int = 60
    environment: Mapping[str, str] = {}
    needs: Sequence[str] = ()
    ahead: Sequence[str] = ()
    makes: Sequence[str] = ()

    @property
    def what(self) -> str:
        """The arguments as the page shows them: of many files how many, and their folder."""
        part = f", each {self.every}th test" if self.every > 1 else ""
        if len(self.arguments) > 3:
            return f"{len(self.arguments)} of `{os.path.commonpath(self.arguments)}`{part}"
        return " ".join(f"`{word}`" for word in self.arguments) + part


class Outcome(NamedTuple):
    """What one side's run found."""

    tests: dict[str, dict[str, Any]]
    seconds: float

    @property
    def passed(self) -> set[str]:
        return {test for test, found in self.tests.items() if found["outcome"] == "passed"}

    @property
    def ran(self) -> set[str]:
        return {t for t, found in self.tests.items() if found["outcome"] not in ("skipped", "not collected")}


def checkout(entry: Entry, source: str, scratch: Path) -> Path:
    """The entry's folders at its commit; `source` says where repositories come from."""
    owner, _, name = entry.repository.partition("/")
    folder = scratch / f"{entry.name}-{entry.commit[:12]}"
    if folder.exists():
        return folder
    origin = source.format(owner=owner, name=name)
    bare = Path(origin)
    if not bare.is_dir():
        bare = scratch / f"{owner}+{name}.git"
        if not bare.exists():
            subprocess.run(["git", "clone", "-q", "--bare", "--filter=blob:none", origin, bare], check=True)
    archive = ["git", "-C", str(bare), "archive", entry.commit, *entry.folders]
    with tempfile.TemporaryDirectory(dir=scratch) as part:
        with subprocess.Popen(archive, stdout=subprocess.PIPE) as packed:
            subprocess.run(["tar", "-x", "-C", part], stdin=packed.stdout, check=True)
        if packed.returncode != 0:
            raise SystemExit(f"{entry.name}: git archive of {entry.commit} in {bare} failed")
        for wanted in entry.makes:
            (Path(part) / wanted).mkdir(parents=True)
        Path(part).rename(folder)
        Path(part).mkdir()  # for the context manager to remove
    return folder


def only_torch(torch_path: str, scratch: Path) -> Path:
    """A folder with PyTorch alone, so that both sides see the same packages otherwise."""
    folder = scratch / "torch"
    folder.mkdir(exist_ok=True)
    for found in Path(torch_path).iterdir():
        link = folder / found.name
        if re.match("(torch|torchgen|functorch)$|torch-", found.name) and not link.exists():
            link.symlink_to(found.resolve())
    return folder


def packages_ahead(entry: Entry, scratch: Path) -> list[Path]:
    """A folder with the packages that the commit needs in another version than the environment has."""
    folder = scratch / f"{entry.name}-{entry.commit[:12]}-packages"
    if entry.ahead and not folder.exists():
        pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder)]
        subprocess.run([*pip, *entry.ahead], check=True)
    return [folder] if entry.ahead else []


def only_ours(scratch: Path) -> Path:
    """A folder that makes `import torch` mean us in every Python that a test starts."""
    folder = scratch / "ours"
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text("from ms_adapter import torch_alias\ntorch_alias.install()\n")
    return folder


def run(side: str, entry: Entry, folder: Path, beside: Sequence[Path], record: Path) -> Outcome:
    """Run the tests of one side, going on after a crash as long as there is progress.

    What they found goes into `record`, how long they took beside it.
    """
    paths = [*(folder / path for path in entry.paths), *beside]
    env: dict[str, str] = {
        **os.environ,
        **entry.environment,
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "OMP_NUM_THREADS": "1",
        "OWN_TESTS_EVERY": str(entry.every),
        "OWN_TESTS_SECONDS_EACH": str(entry.seconds_each),
    }
    pytest = ["-q", "--tb=short", "-p", "no:cacheprovider", "-c", os.devnull, f"--rootdir={folder}"]
    command = [sys.executable, "-m", "ecosystem.own_tests_child", side, str(record.absolute())]
    record.unlink(missing_ok=True)
    seconds = 0.0
    with record.with_suffix(".log").open("w") as log:
        while True:
            before, start = len(known(record)), time.perf_counter()
            arguments = [*command, *pytest, "--continue-on-collection-errors", *entry.arguments]
            code = subprocess.run(arguments, env=env, cwd=folder, stdout=log, stderr=log).returncode
            seconds += time.perf_counter() - start
            record.with_suffix(".seconds").write_text(f"{seconds}\n")
            if code == 0 or len(known(record)) == before:
                return last(record)


def last(record: Path) -> Outcome:
    """What the last run of a side found."""
    seconds = record.with_suffix(".seconds")
    return Outcome(known(record), float(seconds.read_text()) if seconds.exists() else 0)


def line(entry: Entry, sides: dict[str, Outcome]) -> str:
    """A row of the table."""
    ours, torch = sides["ours"], sides["torch"]

    def share(part: int, whole: int) -> str:
        return f"{part} ({100 * part / whole:.1f} %)" if whole else "0"

    cells = (
        f"{entry.name} {entry.version}",
        f"{entry.repository}@{entry.commit[:10]}",
        entry.what,
        len(ours.ran | torch.ran),
        share(len(torch.passed), len(torch.ran)),
        share(len(ours.passed), len(ours.ran)),
        share(len(ours.passed & torch.passed), len(torch.passed)),
        f"{torch.seconds:.0f}",
        f"{ours.seconds:.0f}",
    )
    return "| " + " | ".join(map(str, cells)) + " |"


def faults(sides: dict[str, Outcome]) -> Iterator[str]:
    """Each test that passes under PyTorch and does not under us, with the last line of its reason."""
    ours = sides["ours"].tests
    for test in sorted(sides["torch"].passed - sides["ours"].passed):
        found = ours.get(test, {"outcome": "not collected", "why": ""})
        why = next((text for text in reversed(found["why"].splitlines()) if text.strip()), "")
        yield f"{test}: {found['outcome']}: {why.strip()}"


def put_into_page(page: Path, row: str) -> None:
    """Replace the library's row in a page that has the table, or add it at the table's end."""
    lines = page.read_text().splitlines()
    first = next(i for i, text in enumerate(lines) if text.startswith("| library | commit |")) + 2
    end = next((i for i, text in enumerate(lines[first:], first) if not text.startswith("| ")), len(lines))
    name = row.split(" ", 2)[1]
    kept = [text for text in lines[first:end] if text.split(" ", 2)[1] != name]
    page.write_text("\n".join([*lines[:first], *sorted([*kept, row]), *lines[end:]]) + "\n")


def main() -> int:
    """The command; the exit code is 1 where a test that PyTorch passes does not pass under us."""
    parser = argparse.ArgumentParser(prog="python -m ecosystem.own_tests", description=__doc__)
    parser.add_argument("--torch-path", required=True, help="folder in which PyTorch is installed")
    parser.add_argument("--only", default="", help="libraries whose name matches this expression")
    parser.add_argument(
        "--sides", nargs="*", choices=SIDES, default=SIDES, help="the other's last run is kept"
    )
    parser.add_argument(
        "--source",
        default="https://github.com/{owner}/{name}",
        help="where repositories are, folders included",
    )
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()) / "ms_adapter_own_tests")
    parser.add_argument("--page", type=Path, help="put the rows into the table of this page, too")
    parser.add_argument("--part", type=int, default=0, help="another part of the tests where each n-th runs")
    args = parser.parse_args()
    refuse_torch()
    args.scratch.mkdir(parents=True, exist_ok=True)
    os.environ["OWN_TESTS_PART"] = str(args.part)
    torch = {
        "torch": only_torch(os.path.abspath(args.torch_path), args.scratch),
        "ours": only_ours(args.scratch),
    }
    print("| " + " | ".join(COLUMNS) + " |", "|" + " --- |" * len(COLUMNS), sep="\n", flush=True)
    found = []
    for name, table in tomllib.loads(LIST.read_text()).items():
        if not re.fullmatch(args.only or ".*", name):
            continue
        entry = Entry(name, **table)
        folder = checkout(entry, args.source, args.scratch)
        records = {side: args.scratch / f"{name}.{side}.jsonl" for side in SIDES}
        beside = [*packages_ahead(entry, args.scratch), HERE.parent]
        sides = {
            side: run(side, entry, folder, [*beside, torch[side]], record)
            if side in args.sides
            else last(record)
            for side, record in records.items()
        }
        print(line(entry, sides), flush=True)
        if args.page:
            put_into_page(args.page, line(entry, sides))
        found += [f"{name}: {fault}" for fault in faults(sides)]
    print(*found, sep="\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
