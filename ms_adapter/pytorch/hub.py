"""torch.hub: weights from a URL into a cache folder, and models from a folder's `hubconf.py`."""

import hashlib
import importlib.util
import io
import os
import re
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import Request, urlopen

import ms_adapter.pytorch as torch

from .serialization.atomic import replacing

__all__ = [
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
]

_BLOCK_BYTES = 1 << 20
try:
    from tqdm import tqdm
except ImportError:

    class tqdm:  # noqa: N801 - libraries import it by this name
        """Shows how much was done, where the package tqdm is not there to draw a bar."""

        def __init__(self, total=None, disable=False, **options):
            self.total, self.done = total, 0
            self.disable = disable or not sys.stderr.isatty()

        def update(self, count=1):
            """``count`` more are done."""
            self.done += count
            if not self.disable:
                of = f" of {self.total} ({100 * self.done // self.total} %)" if self.total else ""
                print(f"\r{self.done}{of}", end="", file=sys.stderr)

        def close(self):
            """Nothing more comes."""
            if not self.disable:
                print(file=sys.stderr)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.close()


_MOST_EXPANSION = 100  # times its size that a compressed file may grow to
HASH_REGEX = re.compile(r"-([a-f0-9]{8,64})\.")
_dir = None


def _get_torch_home():
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return os.path.expanduser(os.environ.get("TORCH_HOME") or os.path.join(cache, "torch"))


def get_dir():
    """The folder of what was fetched: set by set_dir, or `hub` below the first of ``TORCH_HOME``,
    ``XDG_CACHE_HOME/torch`` and ``~/.cache/torch``."""
    return _dir or os.path.join(_get_torch_home(), "hub")


def set_dir(d):
    """Choose the folder of what is fetched."""
    global _dir
    _dir = os.path.expanduser(os.fspath(d))


# ---- weights ---------------------------------------------------------------------------------------


def download_url_to_file(url, dst, hash_prefix=None, progress=True):
    """Fetch a URL into the file ``dst``, which is written whole or not at all.

    Raises RuntimeError when the content's SHA-256 does not begin with ``hash_prefix``.

    >>> import pathlib, tempfile
    >>> import ms_adapter.pytorch as torch
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a").write_text("weights")
    >>> torch.hub.download_url_to_file((folder / "a").as_uri(), folder / "b", progress=False)
    >>> (folder / "b").read_text()
    'weights'
    """
    sha256, done = hashlib.sha256(), 0
    with (
        urlopen(Request(url, headers={"User-Agent": "ms_adapter.hub"})) as answer,
        replacing(dst) as descriptor,
    ):
        total = int(answer.headers.get("Content-Length") or 0)
        with tqdm(total=total, disable=not progress, unit="B", unit_scale=True) as bar:
            while block := answer.read(_BLOCK_BYTES):
                sha256.update(block)
                _write_all(descriptor, block)
                done += len(block)
                bar.update(len(block))
        if total and done != total:
            raise RuntimeError(f"download_url_to_file: {url} ended after {done} of {total} bytes")
        if hash_prefix is not None and not sha256.hexdigest().startswith(hash_prefix):
            got = sha256.hexdigest()[: len(hash_prefix)]
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{got}")')


def _write_all(descriptor, block):
    view = memoryview(block)
    while view:
        view = view[os.write(descriptor, view) :]


def load_state_dict_from_url(
    url,
    model_dir=None,
    map_location=None,
    progress=True,
    check_hash=False,
    file_name=None,
    weights_only=True,
):
    """Load the file at a URL, fetched into ``model_dir`` the first time.

    ``check_hash`` compares the content with the hash in the file's name (`resnet-0676ba61.pth`). Unlike in
    PyTorch, code in the file runs only with ``weights_only=False``.
    """
    model_dir = os.path.join(get_dir(), "checkpoints") if model_dir is None else os.fspath(model_dir)
    os.makedirs(model_dir, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(model_dir, name)
    if not os.path.exists(path):
        print(f'Downloading: "{url}" to {path}', file=sys.stderr)
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, found and found[1], progress)
    return torch.load(_one_file_zip(path), map_location=map_location, weights_only=weights_only)


def _one_file_zip(path):
    """The file to load: the only one inside, where an archive was uploaded in place of it."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            members = [info for info in archive.infolist() if not info.is_dir()]
            if len(members) == 1:
                if members[0].file_size > _MOST_EXPANSION * members[0].compress_size + _BLOCK_BYTES:
                    raise RuntimeError(f"{path}: grows to {members[0].file_size} bytes, which no weights do")
                return io.BytesIO(archive.read(members[0]))
    return path


# ---- models ----------------------------------------------------------------------------------------


def _folder(repo_or_dir, source, trust_repo, force_reload):
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "local":
        return os.path.expanduser(repo_or_dir)
    if trust_repo is not True:
        raise RuntimeError(
            f"torch.hub: {repo_or_dir!r} is code from GitHub, which would run here. Pass trust_repo=True "
            "when you have read it, or fetch it yourself and pass source='local'"
        )
    return _fetch_repository(repo_or_dir, force_reload)


def _fetch_repository(github, force_reload):
    """The folder of `owner/name[:branch]`, fetched unless it is there."""
    match = re.fullmatch(r"([\w.-]+)/([\w.-]+)(?::([\w./-]+))?", github)
    if match is None:
        raise ValueError(f"torch.hub: {github!r} is not of the form 'owner/name' or 'owner/name:branch'")
    owner, name, ref = match.groups()
    folder = os.path.join(get_dir(), "_".join((owner, name, (ref or "HEAD").replace("/", "_"))))
    if os.path.isdir(folder) and not force_reload:
        return folder
    os.makedirs(get_dir(), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=get_dir()) as scratch:
        archive = os.path.join(scratch, "source.zip")
        download_url_to_file(
            f"https://github.com/{owner}/{name}/zipball/{ref or 'HEAD'}", archive, progress=False
        )
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(os.path.join(scratch, "source"))  # never writes outside of its folder
        (inner,) = Path(scratch, "source").iterdir()
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(inner, folder)
    return folder


def _entrypoints(folder):
    """The module `hubconf.py` of a folder, whose other modules it may import."""
    path = os.path.join(folder, "hubconf.py")
    spec = importlib.util.spec_from_file_location("hubconf", path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.path.abspath(folder))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(os.path.abspath(folder))
    missing = [name for name in getattr(module, "dependencies", ()) if importlib.util.find_spec(name) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    return module


def _entrypoint(module, name):
    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    function = getattr(module, name, None)
    if not callable(function):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return function


def list(
    github, force_reload=False, skip_validation=False, trust_repo="check", verbose=True, source="github"
):
    """The names of the models that a repository or a folder (``source="local"``) offers."""
    module = _entrypoints(_folder(github, source, trust_repo, force_reload))
    return [name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")]


def help(github, model, force_reload=False, skip_validation=False, trust_repo="check", source="github"):
    """The docstring of one of them."""
    return _entrypoint(_entrypoints(_folder(github, source, trust_repo, force_reload)), model).__doc__


def load(
    repo_or_dir, model, *args, source="github", trust_repo="check", force_reload=False, verbose=True,
    skip_validation=False, **kwargs,
):  # fmt: skip
    """What the function ``model`` of a repository's or a folder's `hubconf.py` returns.

    ``source="local"`` takes a folder. ``source="github"`` fetches `owner/name[:branch]` into get_dir(), and
    asks for ``trust_repo=True``, as this runs its code. Raises RuntimeError for a missing function or
    dependency.
    """
    return _entrypoint(_entrypoints(_folder(repo_or_dir, source, trust_repo, force_reload)), model)(
        *args, **kwargs
    )
