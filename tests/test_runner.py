"""`ms-adapter run` must be `python SCRIPT` in all but the meaning of `import torch`."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ENV = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))}
RUNNER = ("-m", "ms_adapter", "run")


def run(*args: str, cwd: Path, entry: tuple[str, ...] = RUNNER) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, *entry, *args], capture_output=True, text=True, cwd=cwd, env=ENV, timeout=120
    )


@pytest.fixture
def script(tmp_path: Path):
    """Write a script and return its path; the text is dedented."""

    def write(text: str, name: str = "script.py") -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return name

    return write


def output_of(done: subprocess.CompletedProcess) -> list[str]:
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_import_torch_means_the_face_under_both_names(script, tmp_path):
    name = script("""
        import sys
        import torch, torch.nn as nn, torch.nn.functional as F
        from torch import optim
        import ms_adapter.pytorch.nn.functional
        print(torch.__name__, torch is sys.modules["ms_adapter.pytorch"], torch.__version__)
        print(F is ms_adapter.pytorch.nn.functional, nn.functional is F, optim is torch.optim)
        print(sys.modules["torch.nn"] is nn, sys.modules["torch.nn.functional"] is F)
    """)
    expected = ["ms_adapter.pytorch True 2.13.0", "True True True", "True True"]
    assert output_of(run(name, cwd=tmp_path)) == expected


def test_a_module_keeps_its_own_spec(script, tmp_path):
    name = script("""
        import importlib, torch, torch.optim
        print(torch.__spec__.name, torch.optim.__spec__.name, importlib.reload(torch.optim) is torch.optim)
    """)
    expected = ["ms_adapter.pytorch ms_adapter.pytorch.optim True"]
    assert output_of(run(name, cwd=tmp_path)) == expected


@pytest.mark.parametrize("first", ["", "import torch\n"])
def test_find_spec_and_metadata_answer(script, tmp_path, first):
    name = script(
        first
        + textwrap.dedent("""
        import importlib.metadata, importlib.util
        print(importlib.util.find_spec("torch") is not None, importlib.util.find_spec("torch.nn") is not None)
        print(importlib.util.find_spec("torch.no_such_part"))
        print(importlib.metadata.version("torch"), importlib.metadata.metadata("torch")["Name"])
        print([d.version for d in importlib.metadata.distributions(name="torch")][0])
    """)
    )
    assert output_of(run(name, cwd=tmp_path)) == ["True True", "None", "2.13.0 torch", "2.13.0"]


def test_a_missing_part_names_itself_and_the_way_out(script, tmp_path):
    name = script("""
        import torch
        try:
            import torch.no_such_part.deeper
        except ModuleNotFoundError as error:
            print(error.name, "|", error)
        import torch.no_such_part
    """)
    done = run(name, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith(
        "torch.no_such_part | No module named 'torch.no_such_part': ms_adapter does"
    )
    assert "try/except" in done.stderr
    assert done.stderr.count('File "') == 1 and "line 7" in done.stderr


def test_main_looks_as_python_has_it(script, tmp_path):
    """argv, __file__, sys.path[0] and the names in `__main__` are the same as without the runner."""
    name = script(
        """
        import sys
        import helper
        print(sys.argv, __name__, __file__, sys.path[0], __spec__, __package__)
        print(sys.modules["__main__"].__file__)
        print(sorted(n for n in globals() if n != "__annotations__"), helper.VALUE, type(__loader__).__name__)
        """,
        "folder/script.py",
    )
    script("VALUE = 7", "folder/helper.py")
    args = (name, "--flag", "-m", "x y")
    ours = output_of(run(*args, cwd=tmp_path))
    assert ours == output_of(run(*args, cwd=tmp_path, entry=()))
    assert ours == output_of(run(*args, cwd=tmp_path, entry=("-m", "ms_adapter.run")))


def test_module_runs_as_python_dash_m_has_it(script, tmp_path):
    script("", "package/__init__.py")
    script(
        """
        import sys
        from . import other
        print(sys.argv[1:], sys.argv[0] == __file__, __name__, __package__, __spec__.name)
        print(sys.path[0], other.X)
        """,
        "package/tool.py",
    )
    script("X = 3", "package/other.py")
    args = ("-m", "package.tool", "-m", "--device", "x")
    assert output_of(run(*args, cwd=tmp_path)) == output_of(run(*args, cwd=tmp_path, entry=()))


def test_a_folder_with_main_runs(script, tmp_path):
    script("import sys, near; print(sys.argv, sys.path[0], near.X)", "app/__main__.py")
    script("X = 4", "app/near.py")
    assert output_of(run("app", "1", cwd=tmp_path)) == output_of(run("app", "1", cwd=tmp_path, entry=()))


@pytest.mark.parametrize(
    "body",
    [
        "def f():\n    1 / 0\nf()",
        "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('x') from e",
        "x = (",
        "import sys; sys.exit(3)",
        "import sys; sys.exit('a message')",
        "raise SystemExit",
        "raise KeyboardInterrupt",
        "import sys\nsys.excepthook = lambda kind, e, tb: print('hook', tb.tb_lineno, tb.tb_next)\n1 / 0",
    ],
)
def test_leaving_by_an_exception_is_as_in_python(script, tmp_path, body):
    """Same text on both streams and the same exit code; so no line of the runner shows in a traceback."""
    name = script(body)
    ours, python = run(name, cwd=tmp_path), run(name, cwd=tmp_path, entry=())
    assert (ours.returncode, ours.stdout, ours.stderr) == (python.returncode, python.stdout, python.stderr)


def test_module_traceback_shows_the_users_lines_only(script, tmp_path):
    script("def f():\n    raise ValueError('x')\nf()", "tool.py")
    done = run("-m", "tool", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.count('File "') == 2 and done.stderr.count("tool.py") == 2


def test_spawned_children_have_the_face_too(script, tmp_path):
    name = script("""
        import multiprocessing as mp
        import torch

        class Mine:
            pass

        def work(queue):
            import torch.nn
            queue.put((torch.__name__, torch.nn.__name__, Mine()))

        if __name__ == "__main__":
            for method in ("spawn", "fork"):
                context = mp.get_context(method)
                queue = context.Queue()
                child = context.Process(target=work, args=(queue,))
                child.start()
                *names, mine = queue.get(timeout=60)
                print(names, type(mine) is Mine)
                child.join()
    """)
    assert output_of(run(name, cwd=tmp_path)) == ["['ms_adapter.pytorch', 'ms_adapter.pytorch.nn'] True"] * 2


def test_install_refuses_a_process_with_pytorch_in_it(script, tmp_path):
    script("", "torch/__init__.py")
    name = script("""
        import torch
        from ms_adapter import torch_alias
        try:
            torch_alias.install()
        except RuntimeError as error:
            print("loaded already" in str(error))
    """)
    assert output_of(run(name, cwd=tmp_path, entry=())) == ["True"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "no script given"),
        (("--device", "gpu", "x.py"), "unknown device 'gpu': choose one of auto, cpu, mindspore, npu"),
        (
            ("--device", "npu", "x.py"),
            "device 'npu' is MindSpore 2.10.0 on an Ascend accelerator, which is not",
        ),
        (("--device",), "--device needs a value"),
        (("-m",), "-m needs a value"),
        (("--fast", "x.py"), "unknown option --fast"),
        (("missing.py",), "can't open file"),
    ],
)
def test_wrong_command_lines(tmp_path, args, said):
    done = run(*args, cwd=tmp_path)
    assert done.returncode == 2 and said in done.stderr


@pytest.mark.parametrize("option", [("--device", "cpu"), ("--device=cpu",), ("--device", "auto")])
def test_without_an_accelerator_the_script_sees_the_cpu(script, tmp_path, option):
    name = script("import torch; print(torch.cuda.is_available(), torch.ones(1).device)")
    assert output_of(run(*option, name, cwd=tmp_path)) == ["False cpu"]


def test_the_command_lists_its_subcommands(tmp_path):
    done = run(cwd=tmp_path, entry=("-m", "ms_adapter"))
    assert done.returncode == 0 and "run a PyTorch script" in done.stdout
    assert run("frobnicate", cwd=tmp_path, entry=("-m", "ms_adapter")).returncode == 2
    assert run("--version", cwd=tmp_path, entry=("-m", "ms_adapter")).stdout == "ms-adapter 0.1.0\n"
