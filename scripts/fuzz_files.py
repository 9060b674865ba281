"""python scripts/fuzz_files.py [--count 5000]: damaged and forged checkpoints are refused or read, no more.

Every file is made from a good one (zip, old format, safetensors) by a seeded change: bytes, cuts, lengths,
directory entries, pickle opcodes with the checksums put right again, or a pickle written to do harm. Each is
loaded in a worker process that may not use more memory or time than the file's size justifies and in which
an audit hook watches for anything that runs code or touches files. A worker that dies, a file that takes too
long, an exception that no caller would expect, and any trace of running code is a failure; its number
reproduces it with --only.
"""

from __future__ import annotations

import argparse
import codecs
import contextlib
import importlib
import io
import json
import os
import pickle
import random
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MEMORY_BYTES = 512 << 20  # beyond what the process has after its imports
SECONDS = 10  # for one file of some KiB
MARK = "MSA_FUZZ_RAN"
# What torch.load may raise: PyTorch's types for files, never a bare surprise like AttributeError.
EXPECTED = (RuntimeError, pickle.UnpicklingError, EOFError, ValueError, OSError, MemoryError)
# Events of sys.audit that loading weights has no business raising.
FORBIDDEN = (
    "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.putenv", "os.mkdir", "os.remove",
    "os.rename", "os.rmdir", "shutil.", "subprocess.", "socket.", "exec", "compile", "ctypes.", "pty.",
    "webbrowser.", "urllib.", "code.__new__", "import",
)  # fmt: skip

Change = Callable[[random.Random, bytes], bytes]


# ---- good files ----------------------------------------------------------------------------------
def good_files() -> list[tuple[str, bytes]]:
    """(kind, content) of files that load."""
    torch = importlib.import_module("ms_adapter.pytorch")

    base = torch.arange(24.0).reshape(4, 6)
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3))
    values: list[Any] = [
        {"base": base, "view": base[1:, ::2], "turned": base.t(), "half": base.half(), "n": torch.tensor(3)},
        {"model": model.state_dict(), "optimizer": torch.optim.Adam(model.parameters()).state_dict()},
        [base.to_sparse(), base.to_sparse_csr(), torch.nn.Parameter(base), torch.Size([2]), torch.float16],
        {"text": "é" * 40, "set": {1, 2}, "bytes": b"x" * 40, "big": 1 << 70, "c": 1j, "t": (1, (2.5, None))},
    ]
    files = []
    for value in values:
        for old in (False, True):
            buffer = io.BytesIO()
            torch.save(value, buffer, _use_new_zipfile_serialization=not old)
            files.append(("old" if old else "zip", buffer.getvalue()))
    files.append(("safetensors", safetensors_bytes()))
    return files


def safetensors_bytes() -> bytes:
    """A file of two tensors in the safetensors format."""
    header = json.dumps(
        {
            "__metadata__": {"format": "pt"},
            "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
            "b": {"dtype": "I64", "shape": [2], "data_offsets": [24, 40]},
        }
    ).encode()
    return struct.pack("<Q", len(header)) + header + bytes(range(40))


# ---- changes -------------------------------------------------------------------------------------
def flip(rng: random.Random, data: bytes) -> bytes:
    """Some bytes become others."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        changed[rng.randrange(len(changed))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    return bytes(changed)


def cut(rng: random.Random, data: bytes) -> bytes:
    """A part is missing, at the end or within."""
    start = rng.randrange(len(data))
    return data[:start] + (b"" if rng.random() < 0.5 else data[start + rng.randrange(1, 200) :])


def repeat(rng: random.Random, data: bytes) -> bytes:
    """A part occurs twice."""
    start = rng.randrange(len(data))
    part = data[start : start + rng.randrange(1, 300)]
    return data[:start] + part * rng.randrange(2, 20) + data[start:]


def number(rng: random.Random, data: bytes) -> bytes:
    """Two, four or eight bytes become a number at the edge of something."""
    size, code = rng.choice(((2, "H"), (4, "I"), (8, "Q")))
    edge = rng.choice((0, 1, (1 << 8 * size) - 1, 1 << (8 * size - 1), (1 << (8 * size - 1)) - 1, len(data)))
    start = rng.randrange(max(1, len(data) - size))
    return data[:start] + struct.pack(f"<{code}", edge % (1 << 8 * size)) + data[start + size :]


def on_pickle(change: Change) -> Change:
    """The change applied to the pickle within a file, whose checksums and sizes are then right."""

    def changed(rng: random.Random, data: bytes) -> bytes:
        if not data.startswith(b"PK"):
            return change(rng, data)
        source, target = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
        with zipfile.ZipFile(target, "w") as archive:
            for item in source.infolist():
                content = source.read(item)
                if item.filename.endswith("data.pkl"):
                    content = change(rng, content)
                archive.writestr(item.filename, content)
        return target.getvalue()

    changed.__name__ = f"{change.__name__} of the pickle"
    return changed


OPCODES = b"()]}.0122NKMJGX\x8c\x8aUVSIFLq" + b"rhjpgtlde\x85\x86\x87\x88\x89cR\x81bQas\x90\x91\x8f\x93\x94ui"


def opcode(rng: random.Random, data: bytes) -> bytes:
    """An opcode appears somewhere, or takes another's place."""
    start, new = rng.randrange(len(data)), bytes([rng.choice(OPCODES)])
    return data[:start] + new + data[start + rng.randrange(2) :]


def directory(rng: random.Random, data: bytes) -> bytes:
    """A field of the zip directory becomes another number."""
    start = data.rfind(b"PK\x01\x02") if rng.random() < 0.5 else data.rfind(b"PK\x05\x06")
    if not data.startswith(b"PK") or start < 0:
        return number(rng, data)
    place = start + 4 + 2 * rng.randrange(20)
    value = rng.choice((0, 1, 0xFFFF, rng.randrange(1 << 16)))
    return data[:place] + struct.pack("<H", value) + data[place + 2 :]


def forged(rng: random.Random, data: bytes) -> bytes:
    """A good archive or old file with a pickle made to do harm."""
    bad = rng.choice(BOMBS)(rng)
    if data.startswith(b"PK"):
        return on_pickle(lambda _rng, _old: bad)(rng, data)
    magic = pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2) + pickle.dumps({}, 2)
    return magic + bad if rng.random() < 0.8 else bad


# ---- pickles made to do harm -----------------------------------------------------------------------
def _text(value: str) -> bytes:
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def _int(value: int) -> bytes:
    size = (value.bit_length() + 8) // 8
    return b"\x8b" + struct.pack("<I", size) + value.to_bytes(size, "little", signed=True)


def _call(rng: random.Random) -> bytes:
    target = rng.choice(
        ("os\nmkdir", "posix\nsystem", "builtins\neval", "builtins\nexec", "builtins\ngetattr",
         "subprocess\nPopen", "torch\nload", "torch.serialization\nload", "torch.hub\nload",
         "ms_adapter.pytorch\nload", "torch._utils\n__builtins__", "torch.storage\n_from_bytes",
         "functools\npartial", "operator\nattrgetter", "torch.Tensor\n__init__", "pickle\nloads")
    )  # fmt: skip
    return b"\x80\x02c" + target.encode() + b"\n" + _text(MARK) + b"\x85R."


def _huge(rng: random.Random) -> bytes:
    """Allowed names with arguments that ask for much."""
    n = rng.choice((1 << 31, 1 << 40, (1 << 63) - 1, 1 << 63, 1 << 64, -1, -(1 << 62), 1 << 200))
    call = rng.choice(
        (b"cbuiltins\nbytearray\n" + _int(n) + b"\x85R", b"ctorch\nTensor\n" + _int(n) + b"\x85R",
         b"ctorch\nFloatTensor\n" + _int(n) + b"\x85R", b"ctorch\nSize\n" + _int(n) + b"\x85\x85R",
         b"ctorch\ndevice\n" + _text("cpu") + _int(n) + b"\x86R",
         b"c_codecs\nencode\n" + _text("x" * 50) + _text("zlib") + b"\x86R",
         b"ctorch._utils\n_rebuild_meta_tensor_no_storage\n(ctorch\nfloat32\n" + _int(n) + _int(n) + b"\x86"
         + _int(1) + _int(n) + b"\x86\x89tR")
    )  # fmt: skip
    return b"\x80\x02" + call + b"."


def _storage(rng: random.Random) -> bytes:
    """A tensor over storage 0 with a layout that lies."""
    n = rng.choice((0, 1, 5, 24, 1 << 31, (1 << 63) - 1, 1 << 62, -1, -(1 << 63), 1 << 64))
    m = rng.choice((0, 1, 2, 1 << 32, (1 << 63) - 1, -1, -(1 << 63)))
    kind = rng.choice(("FloatStorage", "DoubleStorage", "ByteStorage", "BoolStorage", "ComplexDoubleStorage"))
    location = rng.choice(("cpu", "cuda:0", "fridge", "cuda:99999999999999", "meta", ""))
    saved_id = (
        b"(" + _text("storage") + b"ctorch\n" + kind.encode() + b"\n" + _text("0") + _text(location)
        + _int(rng.choice((24, n, 12, 96))) + (b"NtQ" if rng.random() < 0.5 else b"tQ")
    )  # fmt: skip
    layout = _int(rng.choice((0, n, m))) + _int(n) + _int(m) + b"\x86" + _int(m) + _int(n) + b"\x86"
    return b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + saved_id + layout + b"\x89NtR."


def _copies(rng: random.Random) -> bytes:
    """One large value, copied over and over."""
    count = rng.choice((2_000, 20_000))
    start = rng.choice(
        (b"(" + b"K\x01" * count + b"t", _text("x" * count), b"](" + b"N" * count + b"e", b"}(NNK\x01Nu")
    )  # fmt: skip
    name = rng.choice(
        (b"builtins\nset", b"builtins\nfrozenset", b"torch\nSize", b"builtins\nbytearray", b"_codecs\nencode",
         b"collections\nOrderedDict", b"collections\nCounter")
    )  # fmt: skip
    arguments = b"h\x00" + (_text("latin1") + b"\x86" if b"encode" in name or b"array" in name else b"\x85")
    return b"\x80\x02" + start + b"q\x00](" + (b"c" + name + b"\n" + arguments + b"R") * count + b"e."


def _deep(rng: random.Random) -> bytes:
    """Containers in containers, also as keys, also shared so that visiting all takes for ever."""
    depth = rng.choice((60, 5_000, 200_000))
    nested = rng.choice((b")" + b"\x85" * depth, b")" + b"2\x86" * depth, b"]" * depth + b"a" * (depth - 1)))
    after = rng.choice((b"", b"\x85c" + b"builtins\nset\n" + b"0", b"q\x00}h\x00Ns", b"Q", b"\x8f(h\x00\x90"))
    return b"\x80\x04" + nested + after + b"."


def _keys(rng: random.Random) -> bytes:
    """Keys that all have one hash."""
    prime = (1 << 61) - 1
    pairs = b"".join(_int(prime * i) + b"N" for i in range(1, rng.choice((100, 30_000))))
    return b"\x80\x02}(" + pairs + b"u."


def _state(rng: random.Random) -> bytes:
    """Attributes with odd names and values."""
    name = rng.choice(("__class__", "__dict__", "data", "grad", "requires_grad", "shape", "_metadata", "x"))
    value = rng.choice((b"N", b"K\x01", b"ctorch\nfloat32\n", b"]", b"}", _text("y")))
    what = rng.choice(
        (b"ccollections\nOrderedDict\n)R", b"ctorch._utils\n_rebuild_parameter\n(NI01\nNtR", b"}", b"]",
         b"ctorch\nSize\n", b"ctorch\ndevice\n" + _text("cpu") + b"\x85R", b"ctorch\nfloat32\n",
         b"ctorch._utils\n_rebuild_meta_tensor_no_storage\n(ctorch\nfloat32\nK\x02\x85K\x01\x85\x89tR")
    )  # fmt: skip
    return b"\x80\x02" + what + b"}" + _text(name) + value + b"sb."


def _subclass(rng: random.Random) -> bytes:
    """The function that rebuilds subclasses, told to call something else."""
    function = rng.choice((b"cbuiltins\nbytearray\n", b"ctorch\nTensor\n", b"ctorch\nSize\n", b"N"))
    cls = rng.choice((b"ctorch\nTensor\n", b"cbuiltins\nset\n", b"N", b"ctorch\nfloat32\n"))
    return b"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\n(" + function + cls + _int(1 << 40) + b"\x85}tR."


BOMBS = (_call, _huge, _storage, _storage, _copies, _deep, _keys, _state, _subclass)
WITHIN: tuple[Change, ...] = (forged, *map(on_pickle, (flip, cut, number, opcode, repeat)))
CHANGES: tuple[Change, ...] = (flip, cut, repeat, number, directory, forged, forged, *WITHIN)


def mutant(seed: int, files: list[tuple[str, bytes]]) -> tuple[str, str, bytes]:
    """(kind, change, content) of one file."""
    rng = random.Random(seed)
    kind, data = rng.choice(files)
    changes = [rng.choice(CHANGES) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
    changes.sort(key=lambda change: change not in WITHIN)  # while the archive is still one
    for change in changes:
        data = change(rng, data) if len(data) > 8 else data
    return kind, "+".join(change.__name__ for change in changes), data


# ---- the worker ------------------------------------------------------------------------------------
class Watch:
    """Notes forbidden audit events while it is on."""

    def __init__(self) -> None:
        self.on, self.seen = False, ""
        sys.addaudithook(self.hook)

    def hook(self, event: str, args: tuple) -> None:
        if self.on and not self.seen and self._forbidden(event, args):
            self.seen = f"{event} {args!r:.100}"

    def _forbidden(self, event: str, args: tuple) -> bool:
        if event == "open":
            return isinstance(args[1], str) and args[1][:1] in "wax+"
        if event == "import":
            return args[0] not in sys.modules
        return event.startswith(FORBIDDEN)


def under_asan() -> bool:
    return "libasan" in os.environ.get("LD_PRELOAD", "")


def limit_memory() -> None:
    """No more than MEMORY_BYTES beyond what is in use; ASan reserves all addresses and cannot be limited."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    if not under_asan():
        most = pages * resource.getpagesize() + MEMORY_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


@contextlib.contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """The process dies of SIGALRM where a file takes longer: no exception could end a C loop."""
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def touch(value: Any, budget: list[int]) -> None:
    """Use what was loaded: every tensor's elements are read."""
    torch = importlib.import_module("ms_adapter.pytorch")

    budget[0] -= 1
    if budget[0] < 0:
        return
    if isinstance(value, torch.Tensor):
        if not value.is_meta and value.numel() < 1 << 16:
            (value.to_dense() if value.layout is not torch.strided else value).sum()
    elif isinstance(value, (list, tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            touch(item, budget)


def judge(kind: str, data: bytes, watch: Watch, path: Path) -> str:
    """What happened to one file: "read", "refused", or what is wrong."""
    torch = importlib.import_module("ms_adapter.pytorch")

    mapped = kind == "zip" and len(data) % 2 == 0
    if kind == "safetensors" or mapped:
        path.write_bytes(data)
    watch.seen, outcome = "", "read"
    watch.on = True
    try:
        if kind == "safetensors" or mapped:
            value = torch.load(path, mmap=mapped)
        else:
            value = torch.load(io.BytesIO(data))
    except EXPECTED as err:
        outcome = (
            "refused" if str(err) or isinstance(err, MemoryError) else f"{type(err).__name__} without text"
        )
    except Exception as err:
        outcome = f"{type(err).__name__}: {err!s:.200}"
    else:
        with contextlib.suppress(*EXPECTED, NotImplementedError, TypeError, IndexError):
            touch(value, [1000])
    watch.on = False
    if watch.seen:
        return f"ran {watch.seen}"
    return "it ran code" if os.path.exists(MARK) else outcome


def work(seeds: range) -> None:
    """Judge files until the seeds end or this process dies; a line before and after each."""
    sys.path.insert(0, str(ROOT))
    warnings.simplefilter("ignore")
    files, watch = good_files(), Watch()
    torch = importlib.import_module("ms_adapter.pytorch")

    torch.set_num_threads(1)
    for _, data in files[:-1]:
        torch.load(io.BytesIO(data))  # whatever is imported at first use is imported
    codecs.lookup("raw_unicode_escape")
    limit_memory()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for seed in seeds:
            kind, change, data = mutant(seed, files)
            print(f"begin {seed} {kind} {change}", flush=True)
            with time_limit(SECONDS * (10 if under_asan() else 1)):
                outcome = judge(kind, data, watch, Path(folder, "x." + kind))
            print(f"end {outcome}", flush=True)
        os.chdir("/")


# ---- the parent ------------------------------------------------------------------------------------
def run(first: int, count: int) -> tuple[dict[str, int], list[str]]:
    """Counts of outcomes, and the failures."""
    counts, failures, seed = {"read": 0, "refused": 0}, [], first
    while seed < first + count:
        arguments = [sys.executable, __file__, "--worker", str(seed), str(first + count)]
        done = subprocess.run(arguments, stdout=subprocess.PIPE, text=True, check=False)
        lines, label = done.stdout.splitlines(), ""
        for line in lines:
            word, _, rest = line.partition(" ")
            if word == "begin":
                label, seed = rest, int(rest.split()[0]) + 1
            elif rest in counts:
                counts[rest] += 1
            else:
                failures.append(f"{label}: {rest}")
        if done.returncode != 0:
            if not lines:
                raise RuntimeError(f"the worker does not start (exit status {done.returncode})")
            how = (
                signal.Signals(-done.returncode).name if done.returncode < 0 else f"status {done.returncode}"
            )
            failures.append(f"{label}: the process ended with {how}")
    return counts, failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5000, help="files")
    parser.add_argument("--first", type=int, default=0, help="the first file's number")
    parser.add_argument("--only", type=int, help="write this file's number to stdout as bytes and stop")
    parser.add_argument("--worker", type=int, nargs=2, metavar=("FROM", "TO"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(range(*options.worker))
        return 0
    if options.only is not None:
        sys.path.insert(0, str(ROOT))
        sys.stdout.buffer.write(mutant(options.only, good_files())[2])
        return 0
    start = time.monotonic()
    counts, failures = run(options.first, options.count)
    print(*failures, sep="\n", end="\n" if failures else "")
    print(
        f"{options.count} files in {time.monotonic() - start:.0f} s: {counts['refused']} refused, "
        f"{counts['read']} read, {len(failures)} failures"
    )
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
