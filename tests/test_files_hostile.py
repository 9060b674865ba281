"""Files from strangers: nothing runs, nothing is believed that is not so, and refusing costs little."""

from __future__ import annotations

import io
import pickle
import struct
import subprocess
import sys
import time
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest

import ms_adapter.pytorch as face

ROOT = Path(__file__).resolve().parent.parent
REFUSED = (RuntimeError, pickle.UnpicklingError, ValueError)
MIB = 1 << 20


def text(value: str) -> bytes:
    """Opcodes that push a str."""
    return b"X" + struct.pack("<I", len(value.encode())) + value.encode()


def integer(value: int) -> bytes:
    """Opcodes that push an int of any size."""
    size = value.bit_length() // 8 + 1
    return b"\x8b" + struct.pack("<I", size) + value.to_bytes(size, "little", signed=True)


def storage(kind: str, key: str, count: int) -> bytes:
    """Opcodes that push a storage of the file."""
    name = f"ctorch\n{kind}\n".encode()
    return b"(" + text("storage") + name + text(key) + text("cpu") + integer(count) + b"tQ"


def tensor(source: bytes, offset: int, size: int, stride: int) -> bytes:
    """A pickle of one tensor of one dimension."""
    layout = integer(offset) + integer(size) + b"\x85" + integer(stride) + b"\x85"
    return b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + source + layout + b"\x89NtR."


def archive(data: bytes, compression: int = zipfile.ZIP_STORED, **records: bytes) -> bytes:
    """A zip file with this pickle and the storages `s0`, `s1` ..."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as made:
        made.writestr("a/data.pkl", data)
        for name, content in records.items():
            made.writestr(f"a/data/{name[1:]}", content)
        made.writestr("a/version", b"3")
    return buffer.getvalue()


def old_file(data: bytes, keys: list[str], content: bytes) -> bytes:
    """A file of the old format."""
    head = [pickle.dumps(value, 2) for value in (0x1950A86A20F9469CFC6C, 1001, {})]
    return b"".join(head) + data + pickle.dumps(keys, 2) + content


def refuse(data: bytes, match: str | None = None, most_bytes: int = 64 * MIB, seconds: float = 60) -> None:
    """Loading raises an error that callers expect, in bounded memory and time."""
    tracemalloc.start()
    start = time.monotonic()
    try:
        with pytest.raises(REFUSED, match=match):
            face.load(io.BytesIO(data))
        assert tracemalloc.get_traced_memory()[1] < most_bytes
        assert time.monotonic() - start < seconds
    finally:
        tracemalloc.stop()


FLOATS = struct.pack("<4f", 1, 2, 3, 4)


def test_the_forgery_itself_is_readable() -> None:
    good = tensor(storage("FloatStorage", "0", 4), 1, 3, 1)
    assert face.load(io.BytesIO(archive(good, s0=FLOATS))).tolist() == [2, 3, 4]
    packed = archive(good, zipfile.ZIP_DEFLATED, s0=FLOATS)
    assert face.load(io.BytesIO(packed)).tolist() == [2, 3, 4]
    old = old_file(good, ["0"], struct.pack("<q", 4) + FLOATS)
    assert face.load(io.BytesIO(old)).tolist() == [2, 3, 4]


LAYOUTS = [
    (0, 5, 1), (1, 4, 1), (0, 2, 4), (0, 4, -1), (-1, 2, 1), (0, -4, 1), (1 << 62, 1, 1), (0, 1 << 62, 1),
    (0, 2, 1 << 62), (0, 1 << 63, 1), (0, 3, (1 << 63) - 1), ((1 << 63) - 1, 2, 1), (0, 1 << 64, 0),
]  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_that_leave_their_storage(layout: tuple[int, int, int]) -> None:
    made = tensor(storage("FloatStorage", "0", 4), *layout)
    refuse(archive(made, s0=FLOATS))
    refuse(old_file(made, ["0"], struct.pack("<q", 4) + FLOATS))


@pytest.mark.parametrize("count", [5, 3, 1 << 40, (1 << 63) - 1, 1 << 70, -1])
def test_storages_that_lie(count: int) -> None:
    made = tensor(storage("FloatStorage", "0", count), 0, 1, 1)
    refuse(archive(made, s0=FLOATS))
    if count != 3:  # there nothing tells that more should follow
        refuse(old_file(made, ["0"], struct.pack("<q", count % (1 << 63)) + FLOATS))
    refuse(old_file(made, [], b""))
    refuse(old_file(tensor(storage("FloatStorage", "0", 4), 0, 1, 1), ["0"], struct.pack("<q", 1 << 40)))


def test_many_storages_that_each_claim_the_rest_of_the_file() -> None:
    parts = b"".join(storage("FloatStorage", str(i), 200_000) for i in range(100))
    refuse(old_file(b"\x80\x02(" + parts + b"l.", ["0"], bytes(MIB)), "claims")


def test_sparse_indices_out_of_bounds() -> None:
    sparse = face.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (2,))
    for old in (False, True):
        buffer = io.BytesIO()
        face.save([sparse], buffer, _use_new_zipfile_serialization=not old)
        data = buffer.getvalue()
        place = data.index(struct.pack("<2q", 0, 1))
        changed = data[:place] + struct.pack("<2q", 0, 1 << 40) + data[place + 16 :]
        if not old:
            source = zipfile.ZipFile(io.BytesIO(data))
            records = {item.filename: source.read(item) for item in source.infolist()}
            target = io.BytesIO()
            with zipfile.ZipFile(target, "w") as made:
                for name, content in records.items():
                    made.writestr(
                        name, content.replace(struct.pack("<2q", 0, 1), struct.pack("<2q", 0, 1 << 40))
                    )
            changed = target.getvalue()
        refuse(changed, "index|indices")


# ---- archives ------------------------------------------------------------------------------------
def test_a_zip_bomb() -> None:
    made = tensor(storage("FloatStorage", "0", 16 * MIB), 0, 1, 1)
    refuse(archive(made, zipfile.ZIP_DEFLATED, s0=bytes(64 * MIB)), "expand", most_bytes=8 * MIB)


def directory_of(data: bytes) -> tuple[int, list[bytes], bytes]:
    """(where it begins, its entries, the end record) of an archive of zipfile's."""
    end = data.rindex(b"PK\x05\x06")
    (start,) = struct.unpack_from("<L", data, end + 16)
    entries = [b"PK\x01\x02" + rest for rest in data[start:end].split(b"PK\x01\x02")[1:]]
    return start, entries, data[end:]


def with_directory(data: bytes, entries: list[bytes], count: int | None = None) -> bytes:
    """The archive with another directory."""
    start, _, end = directory_of(data)
    count = len(entries) if count is None else count
    new_end = end[:8] + struct.pack("<2HL", count, count, sum(map(len, entries))) + end[16:]
    return data[:start] + b"".join(entries) + new_end


GOOD = archive(tensor(storage("FloatStorage", "0", 4), 0, 4, 1), s0=FLOATS, s1=FLOATS)


def changed_entry(number: int, place: int, new: bytes) -> bytes:
    """The archive with some bytes of one directory entry changed."""
    _, entries, _ = directory_of(GOOD)
    entry = entries[number]
    entries[number] = entry[:place] + new + entry[place + len(new) :]
    return with_directory(GOOD, entries)


def test_overlapping_and_doubled_records() -> None:
    _, entries, _ = directory_of(GOOD)
    same_place = entries[2][:42] + entries[1][42:46] + entries[2][46:]
    refuse(with_directory(GOOD, [entries[0], entries[1], same_place, entries[3]]), "overlap|reaches|name")
    refuse(with_directory(GOOD, [entries[0], entries[1], entries[1], entries[3]]), "overlap|two records")
    refuse(changed_entry(1, 20, struct.pack("<2L", 100, 100)), "overlap")
    refuse(changed_entry(1, 42, struct.pack("<L", 1 << 31)), "overlap|ends early")


def test_directories_that_lie() -> None:
    _, entries, _ = directory_of(GOOD)
    refuse(with_directory(GOOD, entries, 3), "more than the 3 entries")
    refuse(with_directory(GOOD, entries, 60_000), "cannot hold")
    refuse(with_directory(GOOD, []), "data.pkl")
    refuse(changed_entry(1, 8, struct.pack("<H", 1)), "encrypted")
    refuse(changed_entry(1, 10, struct.pack("<H", 14)), "packed in an unknown way")
    refuse(changed_entry(1, 24, struct.pack("<L", 8)), "claims")
    refuse(changed_entry(1, 16, struct.pack("<L", 12345)), "checksum")
    refuse(changed_entry(1, 28, struct.pack("<H", 0xFFFF)))
    for cut in range(0, len(GOOD), 7):
        with pytest.raises((*REFUSED, EOFError)):
            face.load(io.BytesIO(GOOD[:cut]))


# ---- pickles -------------------------------------------------------------------------------------
def in_both(data: bytes, match: str | None = None, **limits: Any) -> None:
    """Refused in an archive and as an old file."""
    refuse(archive(data), match, **limits)
    refuse(old_file(data, [], b""), match, **limits)


CALLS = [
    b"cos\nsystem\n", b"cbuiltins\neval\n", b"cbuiltins\ngetattr\n", b"ctorch\nload\n",
    b"cms_adapter.pytorch\nload\n", b"ctorch.serialization\nload\n", b"ctorch.hub\nload\n",
    b"ctorch.Tensor\n__init__\n", b"cfunctools\npartial\n", b"ctorch\nTensor\n", b"ctorch\nFloatTensor\n",
    b"ctorch\nfloat32\n", b"ctorch\nFloatStorage\n", b"ctorch.storage\n_from_bytes\n", text("x"), b"N",
]  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: bytes) -> None:
    in_both(b"\x80\x02" + name + b"K\x02\x85R.")
    in_both(b"\x80\x02" + name + b"K\x02\x85\x81.")


@pytest.mark.parametrize(
    "arguments",
    [
        b"cbuiltins\nbytearray\n" + integer(1 << 40) + b"\x85",
        b"c_codecs\nencode\n" + text("x") + text("zlib") + b"\x86",
        b"cbuiltins\ncomplex\n" + text("1" * 9000) + b"\x85",
        b"ctorch\ndevice\n" + text("cpu:99999999999999999999") + b"\x85",
        b"ctorch._tensor\n_rebuild_from_type_v2\n(cbuiltins\nbytearray\nctorch\nTensor\nM\xff\xff\x85}t",
        b"ctorch._utils\n_rebuild_parameter\n(K\x01I01\nNt",
        b"ctorch._utils\n_rebuild_sparse_tensor\n(cs\nt",
        b"ctorch.serialization\n_get_layout\n" + text("load") + b"\x85",
        b"ctorch._utils\n_rebuild_meta_tensor_no_storage\n(ctorch\nfloat32\n"
        + integer(1 << 62) + integer(1 << 62) + b"\x86" + b"K\x01K\x01\x86\x89t",
    ],
)  # fmt: skip
def test_odd_arguments(arguments: bytes) -> None:
    in_both(b"\x80\x02" + arguments + b"R.")


@pytest.mark.parametrize("name", ["__class__", "__dict__", "__setstate__"])
def test_odd_states(name: str) -> None:
    state = b"}" + text(name) + b"Nsb."
    meta = b"ctorch._utils\n_rebuild_meta_tensor_no_storage\n(ctorch\nfloat32\nK\x02\x85K\x01\x85\x89tR"
    for target in (b"ccollections\nOrderedDict\n)R", meta, b"}", b"ctorch\nSize\n", b"ctorch\nfloat32\n"):
        in_both(b"\x80\x02" + target + state, "state")


def test_copies_of_copies() -> None:
    """A quadratic amount from a linear file."""
    values = b"(" + b"K\x01" * 20_000 + b"tq\x00"
    for name in (b"builtins\nset", b"torch\nSize"):
        refuse(archive(b"\x80\x02" + values + b"](" + (b"c" + name + b"\nh\x00\x85R") * 5000 + b"e."))
    encoded = (
        text("x" * 50_000) + b"q\x00](" + (b"c_codecs\nencode\nh\x00" + text("latin1") + b"\x86R") * 9000
    )
    in_both(b"\x80\x02" + encoded + b"e.", "copies")


def test_deep_and_shared_keys() -> None:
    """Python hashes a tuple by recursion, and each of its parts anew wherever it is shared."""
    in_both(b"\x80\x04)" + b"\x85" * 100_000 + b"q\x00}h\x00Ns.", "deep keys")
    in_both(b"\x80\x04)" + b"2\x86" * 45 + b"q\x00}h\x00Ns.", "keys")
    in_both(b"\x80\x04)" + b"2\x86" * 45 + b"q\x00\x8f(h\x00\x90.", "keys")
    in_both(b"\x80\x04cbuiltins\nset\n](" + b")" + b"2\x86" * 45 + b"e\x85R.", "keys")


def test_keys_of_one_hash() -> None:
    prime = (1 << 61) - 1
    pairs = b"".join(integer(prime * i) + b"N" for i in range(1, 60_000))
    in_both(b"\x80\x02}(" + pairs + b"u.", "keys")


def test_deep_nesting_is_only_deep() -> None:
    value = face.load(io.BytesIO(archive(b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".")))
    depth = 1
    while value:
        value, depth = value[0], depth + 1
    assert depth == 100_000


@pytest.mark.parametrize(
    "data",
    [
        b"", b".", b"\x80", b"\x80\x09.", b"t.", b"(", b"((.", b"K\x01(\x85.", b"K\x01(\x86.", b"u.", b"(Nu.",
        b"R.", b"b.", b"Q.", b"NQ.", b"h\x05.", b"r\xff\xff\xff\xff.", b"\x8e" + b"\xff" * 8,
        b"X\xff\xff\xff\xff",
        b"\x8d" + b"\xff" * 7 + b"\x7f", b"\x8b\xff\xff\xff\x7f", b"I" + b"9" * 9000 + b"\n.", b"\x82\x01.",
        b"\x97.", b"Pid\n.", b"\x93.", b"NN\x93.", b"}]Ns.", b"(}]Nu.", b"]Na(e(Ne",
    ],
)  # fmt: skip
def test_disorder(data: bytes) -> None:
    in_both(data)


def test_persistent_ids() -> None:
    for fields in (b"N", b"K\x01", text("storage"), text("0") + text("cpu") + b"K\x01"):
        in_both(b"\x80\x02(" + text("storage") + fields + b"tQ.")
    floats = b"ctorch\nFloatStorage\n"
    in_both(b"\x80\x02(" + text("storage") + floats + b"]" + text("cpu") + b"K\x01tQ.", "elements")
    in_both(b"\x80\x02(" + text("storage") + floats + text("../../version") + text("cpu") + b"K\x01tQ.")


def test_safetensors(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"

    def made(header: bytes, data: bytes = bytes(8), length: int | None = None) -> None:
        path.write_bytes(struct.pack("<Q", len(header) if length is None else length) + header + data)

    made(b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}')
    assert face.load(str(path))["a"].tolist() == [0, 0]
    entries = [
        b'{"dtype":"F32","shape":[3],"data_offsets":[0,8]}',
        b'{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}',
        b'{"dtype":"F32","shape":[2],"data_offsets":[8,16]}',
        b'{"dtype":"F32","shape":[2],"data_offsets":[8,0]}',
        b'{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]}',
        b'{"dtype":"F4","shape":[2],"data_offsets":[0,8]}',
        b'{"dtype":"F32","shape":2,"data_offsets":[0,8]}',
        b'{"dtype":"F32","shape":[2]}',
        b"3",
    ]
    for entry in entries:
        made(b'{"a":' + entry + b"}")
        with pytest.raises(RuntimeError):
            face.load(path)
    one = b'{"dtype":"F32","shape":[2],"data_offsets":[0,8]}'
    two = b'{"a":' + one + b',"b":' + one + b"}"
    for header, length in (
        (two, None),
        (b"[" * 100_000, None),
        (b"{}", 1 << 62),
        (b"{", None),
        (b"[]", None),
    ):
        made(header, length=length)
        with pytest.raises(RuntimeError, match="damaged"):
            face.load(path)
    path.write_bytes(b"abc")
    with pytest.raises(RuntimeError, match="damaged"):
        face.load(path)


# ---- at random -----------------------------------------------------------------------------------
def script(name: str, *arguments: str) -> str:
    """The output of a script that must succeed."""
    command = [sys.executable, str(ROOT / "scripts" / name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_fuzzed_files() -> None:
    assert "0 failures" in script("fuzz_files.py", "--count", "200")


def test_kills_during_saves(tmp_path: Path) -> None:
    assert "0 faults" in script("kill_saves.py", "--count", "3", "--dir", str(tmp_path))
