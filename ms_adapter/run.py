"""`ms-adapter run SCRIPT`: runs an unchanged PyTorch script with `import torch` meaning ms_adapter.

Everything else is as `python SCRIPT` would have it: arguments, `__main__`, `sys.path`, tracebacks, exit code.
"""

from __future__ import annotations

import importlib.machinery
import os
import sys
from contextlib import AbstractContextManager, nullcontext
from types import CodeType, ModuleType, TracebackType

USAGE = (
    "usage: ms-adapter run [--device auto|cpu|mindspore|npu] [--strict] [--dump C] "
    "(SCRIPT | -m MODULE) [ARGS ...]"
)
HELP = f"""{USAGE}

Run a PyTorch script, or a module with -m, on ms_adapter: `import torch` means ms_adapter.pytorch
for it and for every library that it imports.

  --device D   what an accelerator named in the script means (default: auto)
                 auto, cpu  there is none: `cuda` means cpu, `npu` is an error
                 mindspore  MindSpore, for `cuda` and `npu`: torch.cuda.is_available() is True
                 npu        MindSpore on Ascend: not supported yet
  --strict     an operator that the device computes on cpu is an error
  --dump C     write tensors while it runs: a configuration file, or settings such as
               path=out,level=module (docs/dump.md); the environment variable MS_ADAPTER_DUMP says the same
  -m MODULE    run a module as `python -m MODULE` does
  -h, --help   show this text
"""
DEVICES = ("auto", "cpu", "mindspore", "npu")


class UsageError(Exception):
    """The command line of `ms-adapter run` makes no sense; the text says why."""


class Request:
    """A parsed command line: what to run and its arguments."""

    def __init__(self, argv: list[str]) -> None:
        self.device = "auto"
        self.strict = False
        self.script: str | None = None
        self.module: str | None = None
        self.show_help = False
        self.dump = os.environ.get("MS_ADAPTER_DUMP", "")
        rest = list(argv)
        while rest and self.script is None and self.module is None and not self.show_help:
            self._take(rest)
        self.args = rest
        if not (self.script or self.module or self.show_help):
            raise UsageError("no script given")

    def _take(self, rest: list[str]) -> None:
        """Read one option, or the script's name, off the front of `rest`."""
        word = rest.pop(0)
        option, _, value = word.partition("=")
        if option == "--device":
            self.device = value or self._value(word, rest)
            if self.device not in DEVICES:
                raise UsageError(f"unknown device {self.device!r}: choose one of {', '.join(DEVICES)}")
        elif word == "--strict":
            self.strict = True
        elif option == "--dump":
            self.dump = value or self._value(word, rest)
        elif word == "-m":
            self.module = self._value(word, rest)
        elif word in ("-h", "--help"):
            self.show_help = True
        elif word.startswith("-") and word != "-":
            raise UsageError(f"unknown option {word}: the script's own options come after its name")
        else:
            self.script = word

    @staticmethod
    def _value(option: str, rest: list[str]) -> str:
        if not rest:
            raise UsageError(f"{option} needs a value")
        return rest.pop(0)


def main(argv: list[str] | None = None, around: AbstractContextManager | None = None) -> int:
    """The command `ms-adapter run`; returns the exit code, unless the script raises.

    `around` is entered when `torch` means us and left when the script has ended.
    """
    try:
        request = Request(sys.argv[1:] if argv is None else argv)
    except UsageError as error:
        print(f"ms-adapter run: {error}\n{USAGE}", file=sys.stderr)
        return 2
    if request.show_help:
        print(HELP, end="")
        return 0

    from ms_adapter import torch_alias

    torch_alias.install()
    torch_alias.install_in_children()
    if request.device in ("mindspore", "npu") and (missing := _take_device(request)):
        print(f"ms-adapter run: {missing}", file=sys.stderr)
        return 2
    try:
        with around or _dump(request.dump):
            if request.module:
                _run_module(request.module, request.args)
            else:
                _run_script(str(request.script), request.args)
    except SystemExit:
        raise
    except BaseException as error:
        _leave_with(error)
    return 0


def _take_device(request: Request) -> str | None:
    """Make MindSpore the accelerator; the reason where it cannot be."""
    from ms_adapter.mindspore import backend
    from ms_adapter.pytorch import _C

    try:
        backend.require(request.device)
    except (RuntimeError, NotImplementedError) as error:
        return str(error)
    backend.set_strict(request.strict)
    _C.set_accelerator(request.device)
    return None


def _dump(settings: str) -> AbstractContextManager:
    """What `--dump` asks for; nothing otherwise."""
    if not settings:
        return nullcontext()
    from ms_adapter.tools.dumping import dump
    from ms_adapter.tools.frame import ToolError

    try:
        return dump(settings)
    except ToolError as error:
        print(f"ms-adapter run: --dump: {error}", file=sys.stderr)
        raise SystemExit(2) from None


def _fresh_main() -> ModuleType:
    """An empty `__main__` in place of the runner's own, so that the script finds none of our names in it."""
    module = ModuleType("__main__")
    module.__dict__["__builtins__"] = sys.modules["builtins"]
    sys.modules["__main__"] = module
    if "__mp_main__" in sys.modules:  # multiprocessing was imported already; spawned children say this name
        sys.modules["__mp_main__"] = module
    return module


def _set_first_path(entry: str) -> None:
    """`sys.path[0]` is the runner's folder so far; `python -P` adds none."""
    if not sys.flags.safe_path:
        sys.path[0] = entry


def _run_script(script: str, args: list[str]) -> None:
    path = os.path.abspath(script)  # Python leaves it as it was said in sys.argv only
    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):
        _set_first_path(path)
        return _run_as_main("__main__", [script, *args], argv0_from_module=False)
    code = _compile(path)
    module = _fresh_main()
    module.__file__ = path
    module.__dict__["__cached__"] = None
    module.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
    sys.argv = [script, *args]
    _set_first_path(os.path.dirname(os.path.realpath(script)))
    exec(code, module.__dict__)
    return None


def _compile(path: str) -> CodeType:
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        print(
            f"ms-adapter: can't open file {path!r}: [Errno {error.errno}] {error.strerror}",
            file=sys.stderr,
        )
        raise SystemExit(2) from None
    return compile(source, path, "exec", dont_inherit=True)


def _run_module(name: str, args: list[str]) -> None:
    _set_first_path(os.getcwd())
    _run_as_main(name, ["-m", *args], argv0_from_module=True)


def _run_as_main(name: str, argv: list[str], argv0_from_module: bool) -> None:
    """Run a module by what the interpreter itself calls for `python -m NAME` and for `python FOLDER`."""
    import runpy

    _fresh_main()
    sys.argv = argv
    runpy._run_module_as_main(name, alter_argv=argv0_from_module)  # type: ignore[attr-defined]


def _leave_with(error: BaseException) -> None:
    """Report the error as Python would, without the runner's frames, then let Python set the exit code."""
    _drop_runner_frames(error)
    sys.excepthook(type(error), error, error.__traceback__)
    sys.excepthook = lambda *_: None  # it has been reported
    raise error


def _drop_runner_frames(error: BaseException, seen: set[int] | None = None) -> None:
    """Take the runner's frames out of the traceback of the error and of those that led to it."""
    seen = set() if seen is None else seen
    if id(error) in seen:
        return
    seen.add(id(error))
    frames: list[TracebackType] = []
    tb = error.__traceback__
    while tb is not None:
        if not _is_runner_frame(tb):
            frames.append(tb)
        tb = tb.tb_next
    kept: TracebackType | None = None
    for frame in reversed(frames):
        frame.tb_next = kept
        kept = frame
    error.__traceback__ = kept
    for cause in (error.__cause__, error.__context__):
        if cause is not None:
            _drop_runner_frames(cause, seen)


def _is_runner_frame(tb: TracebackType) -> bool:
    """The runner's files, and what Python runs between them and the user's code."""
    file = tb.tb_frame.f_code.co_filename
    folder = os.path.dirname(__file__)
    return (
        file in (__file__, os.path.join(folder, "torch_alias.py"))
        or file.startswith(("<frozen runpy", "<frozen importlib"))
        or file.endswith(f"{os.sep}runpy.py")
    )


if __name__ == "__main__":
    # `python -m ms_adapter.run` makes this file `__main__`, which the script takes over: go on in the module.
    from ms_adapter import run

    sys.exit(run.main())
