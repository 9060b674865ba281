"""What is said without MindSpore, or with one that does not fit; and tensors of PyTorch taken over."""

import importlib.util
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import pytest

import ms_adapter
import ms_adapter.mindspore as ms
import ms_adapter.pytorch as torch
from ms_adapter.mindspore import _package, backend, bridge
from ms_adapter.mindspore.checkpoint import save_checkpoint

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def installed(monkeypatch):
    """Puts a package, or None for a missing one, in MindSpore's place."""
    _package._served.cache_clear()
    yield lambda package: monkeypatch.setitem(sys.modules, "mindspore", package)
    _package._served.cache_clear()


def fake(version="2.10.0", target="CPU"):
    return SimpleNamespace(__version__=version, get_context=lambda name: {"device_target": target}[name])


def run(tmp_path, source, version=None):
    """A script's output in a process of its own, with a package of that version in MindSpore's place."""
    if version:
        (tmp_path / "mindspore").mkdir()
        (tmp_path / "mindspore" / "__init__.py").write_text(f"__version__ = {version!r}\n")
    env = os.environ | {"PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))}
    command = [sys.executable, "-c", textwrap.dedent(source)]
    return subprocess.run(command, env=env, capture_output=True, text=True)


@pytest.mark.parametrize("first", ("mindspore", "ms_adapter.pytorch"))
def test_another_version_is_imported_as_it_is(first, tmp_path):
    second = ({"mindspore", "ms_adapter.pytorch"} - {first}).pop()
    done = run(
        tmp_path,
        f"""
        import {first}, {second}
        print(dir(mindspore) == [n for n in dir(mindspore) if n.startswith("__")], mindspore.__loader__)
        try:
            ms_adapter.pytorch.ones(2, device="mindspore")
        except RuntimeError as error:
            print(error)
        """,
        "2.9.0",
    )
    assert done.stdout.startswith("True <_frozen_importlib_external.SourceFileLoader"), done.stderr
    assert "MindSpore 2.9.0 is installed, 2.10.0 is needed; `pip install mindspore==2.10.0`" in done.stdout


def test_our_face_does_not_import_mindspore(tmp_path):
    done = run(tmp_path, "import sys, ms_adapter.pytorch; print('mindspore' in sys.modules)", "2.10.0")
    assert done.stdout == "False\n", done.stderr


@pytest.mark.parametrize(
    ("version", "said"),
    [(None, "MindSpore cannot be imported"), ("2.9.0", "MindSpore 2.9.0 is installed, 2.10.0 is needed")],
)
def test_the_command_says_what_is_missing(version, said, tmp_path):
    done = run(
        tmp_path,
        """
        from ms_adapter import run
        print(run.main(["--device", "mindspore", "x.py"]))
        """,
        version,
    )
    if version is None and importlib.util.find_spec("mindspore"):
        pytest.skip("MindSpore is here")
    assert done.stdout == "2\n" and said in done.stderr and "or use device 'cpu'" in done.stderr


USES = {
    "a factory": lambda: torch.ones(2, device="mindspore"),
    "to": lambda: torch.ones(2).to("mindspore"),
    "a module": lambda: torch.nn.Linear(2, 2).to("mindspore"),
    "a cast": lambda: ms.cast_to_ms_tensor([torch.ones(2)]),
}


@pytest.mark.parametrize("use", USES)
def test_missing(use, installed):
    installed(None)
    with pytest.raises(RuntimeError, match="pip install mindspore==2.10.0`, or use device 'cpu'"):
        USES[use]()


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("version", ("2.9.1", "2.11.0"))
def test_another_version(use, version, installed):
    installed(fake(version))
    with pytest.raises(RuntimeError, match=f"MindSpore {version} is installed, 2.10.0 is needed; `pip"):
        USES[use]()


@pytest.mark.parametrize("use", USES)
def test_another_target(use, installed):
    installed(fake(target="GPU"))
    with pytest.raises(NotImplementedError, match=r"target is 'GPU'.*call mindspore.set_device\('CPU'\)"):
        USES[use]()


def test_a_target_that_is_asked_for():
    with pytest.raises(NotImplementedError, match="device_target='GPU' is not supported, .* or say 'CPU'"):
        ms.set_context(device_target="GPU")
    with pytest.raises(
        NotImplementedError, match="'Ascend' is not on this machine .MindSpore: .*davinci.* or say 'CPU'"
    ):
        ms.set_device("Ascend")


def test_a_name_of_mindspores_own(monkeypatch):
    monkeypatch.setattr(bridge, "installed", lambda: False)
    with pytest.raises(AttributeError, match="'Profiler' of its own, and MindSpore, .* is not installed"):
        ms.Profiler  # noqa: B018


def test_dtypes_that_mindspore_does_not_have(tmp_path):
    with pytest.raises(TypeError, match="w is torch.float8_e5m2, which .ckpt files do not have; cast it"):
        save_checkpoint({"w": torch.ones(2).to(torch.float8_e5m2)}, tmp_path / "a.ckpt")
    assert not (tmp_path / "a.ckpt").exists()


def test_nothing_fell_back_where_nothing_ran():
    assert ms_adapter.fallback_report() == []


def test_what_fell_back_is_reported(monkeypatch):
    monkeypatch.setattr(backend, "fallbacks", type(backend.fallbacks)())
    monkeypatch.setitem(backend.refusals, "sort", "no such dtype")
    with pytest.warns(UserWarning, match=r"sort: .*no such dtype.*computed on cpu"):
        backend.fell_back("sort")
    backend.fell_back("sort")
    assert ms_adapter.fallback_report() == [("sort", 2, "no such dtype")]
    monkeypatch.setattr(backend, "strict", True)
    with pytest.raises(RuntimeError, match="--strict forbids"):
        backend.fell_back("sort")
