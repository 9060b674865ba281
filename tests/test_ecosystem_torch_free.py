"""The tools that run others' code refuse to run beside PyTorch itself: our side could take it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
COMMANDS = ["-m ecosystem.child ours case.py", "-m ecosystem.script_child ours float32 notes.json case.py"]
METADATA = "Metadata-Version: 2.1\nName: {}\nVersion: 1.0\nRequires-Dist: {}\n"


def run(words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run it with this Python and without its packages, but for NumPy, which a link leads to."""
    import numpy

    for found in Path(numpy.__file__).parents[1].glob("numpy*"):
        if not (folder / found.name).exists():
            (folder / found.name).symlink_to(found)
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)])}
    command = [sys.executable, "-S", *words.split()]
    return subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_torch_that_lies_beside_the_libraries_is_refused(command: str, tmp_path: Path) -> None:
    (tmp_path / "case.py").write_text("import torch\nprint('ran with', torch.__name__)\n")
    alone = run(command, tmp_path)
    assert "ran with ms_adapter.pytorch" in alone.stdout, alone.stderr
    (tmp_path / "torch.py").write_text("raise AssertionError('it was imported')\n")
    for name, need in (
        ("needy", "torch>=2"),
        ("graphs", "torch-geometric"),
        ("some", "torch; extra == 'all'"),
    ):
        (tmp_path / f"{name}-1.0.dist-info").mkdir()
        (tmp_path / f"{name}-1.0.dist-info" / "METADATA").write_text(METADATA.format(name, need))
    refused = run(command, tmp_path)
    assert refused.returncode != 0 and "ran with" not in refused.stdout
    assert str(tmp_path / "torch.py") in refused.stderr and "require it: needy." in refused.stderr


def test_the_table_of_libraries_is_not_made_beside_torch(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("")
    refused = run("-m ecosystem --torch-path nowhere --only none", tmp_path)
    assert refused.returncode != 0 and "PyTorch is installed" in refused.stderr
