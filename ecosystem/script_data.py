"""Makes the data that public example scripts look for, in the formats that they read, without a network.

Each maker takes the folder in which the script runs, and the script's own words from scripts.toml.
"""

from __future__ import annotations

import gzip
import struct
import tarfile
from pathlib import Path

import numpy as np

SEED = 7
OFFLINE_REQUESTS = """
import contextlib, pathlib, types

@contextlib.contextmanager
def get(url, stream=False):
    with open(pathlib.Path(__file__).parent / url.rpartition("/")[2], "rb") as file:
        yield types.SimpleNamespace(raw=file)
"""


def _digits(count: int, size: int = 28) -> tuple[np.ndarray, np.ndarray]:
    """scikit-learn's 8x8 digits, enlarged; (count, size, size) uint8 and their labels."""
    from sklearn.datasets import load_digits

    data = load_digits()
    pick = np.random.default_rng(SEED).permutation(len(data.target))[:count]
    rows = np.arange(size) * 8 // size
    images = data.images[pick][:, rows][:, :, rows] / 16.0 * 255.0
    return images.astype(np.uint8), data.target[pick].astype(np.uint8)


def mnist(here: Path, root: str = "../data", train: str = "640", test: str = "320") -> None:
    """The four files of MNIST below ``root``, with enlarged 8x8 digits in them, packed and unpacked."""
    raw = here / root / "MNIST" / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    images, labels = _digits(int(train) + int(test))
    parts = {"train": slice(0, int(train)), "t10k": slice(int(train), None)}
    for name, part in parts.items():
        shape = images[part].shape
        files = {
            f"{name}-images-idx3-ubyte": struct.pack(">IIII", 2051, *shape) + images[part].tobytes(),
            f"{name}-labels-idx1-ubyte": struct.pack(">II", 2049, shape[0]) + labels[part].tobytes(),
        }
        for file, content in files.items():
            (raw / file).write_bytes(content)
            (raw / f"{file}.gz").write_bytes(gzip.compress(content, mtime=0))


def text(here: Path, target: str, start: str = "0", stop: str = "200000") -> None:
    """Characters ``start`` to ``stop`` of a made-up text, as a file."""
    path = here / target
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_made_up_text()[int(start) : int(stop)])


def words(here: Path, root: str) -> None:
    """A folder with `train.txt`, `valid.txt` and `test.txt`, one sentence a line."""
    for name, start, stop in [("train", 0, 60_000), ("valid", 60_000, 66_000), ("test", 66_000, 72_000)]:
        text(here, f"{root}/{name}.txt", str(start), str(stop))


def _made_up_text() -> str:
    """A million characters of sentences from a few hundred words with a skewed distribution."""
    rng = np.random.default_rng(SEED)
    letters = np.array(list("etaoinshrdlucmfwypvbgkjqxz"))
    words = ["".join(rng.choice(letters[:20], rng.integers(2, 9))) for _ in range(400)]
    picks = np.minimum(rng.zipf(1.4, 180_000), 400) - 1
    lines = [
        " ".join(words[i] for i in picks[at : at + 9]).capitalize() + "." for at in range(0, len(picks), 9)
    ]
    return "\n".join(["O God, O God!", *lines])  # what one of the scripts goes on from


def cora(
    here: Path, root: str = "cora", nodes: str = "300", features: str = "200", padded: str = "0"
) -> None:
    """A citation graph in Cora's format, `cora.content` and `cora.cites`: seven classes, each with its words.

    Scripts split 2,708 papers at fixed places; ``padded`` is how many nodes without edges are added for that.
    """
    folder = here / root
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(SEED)
    classes = [
        "Case_Based", "Genetic_Algorithms", "Neural_Networks", "Probabilistic_Methods",
        "Reinforcement_Learning", "Rule_Learning", "Theory",
    ]  # fmt: skip
    total = int(nodes) + int(padded)
    label = rng.integers(0, len(classes), total)
    likely = rng.random((len(classes), int(features))) < 0.15
    words = rng.random((total, int(features))) < np.where(likely[label], 0.4, 0.03)
    with open(folder / "cora.content", "w") as file:
        for node in range(total):
            bits = "\t".join(map(str, words[node].astype(int)))
            file.write(f"{1000 + node}\t{bits}\t{classes[label[node]]}\n")
    with open(folder / "cora.cites", "w") as file:
        for node in range(total):
            same = np.flatnonzero(label == label[node])
            for other in {int(o) for o in rng.choice(same, 2)} | {int(rng.integers(total))}:
                file.write(f"{1000 + node}\t{1000 + other}\n")


def cora_archive(here: Path, nodes: str, features: str, padded: str) -> None:
    """For a script that always downloads: the graph as an archive, and a `requests` that hands it out."""
    offline = here / "offline"
    offline.mkdir()
    cora(offline, "cora", nodes, features, padded)
    with tarfile.open(offline / "cora.tgz", "w:gz") as archive:
        archive.add(offline / "cora", "cora")
    (offline / "requests.py").write_text(OFFLINE_REQUESTS)


def images(here: Path, root: str, count: str = "8", width: str = "64", height: str = "64") -> None:
    """``count`` smooth colour pictures in a folder, as JPEG files."""
    from PIL import Image

    folder = here / root
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng([SEED, *root.encode()])
    for at in range(int(count)):
        small = Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8))
        big = small.resize((int(width), int(height)), Image.Resampling.BICUBIC)
        big.save(folder / f"{at:04}.jpg", quality=95)


def image_folder(here: Path, root: str, classes: str = "3", count: str = "8", size: str = "64") -> None:
    """A folder for each class with ``count`` pictures, as torchvision's ImageFolder reads them."""
    for name in range(int(classes)):
        images(here, f"{root}/class{name}", count, size, size)
