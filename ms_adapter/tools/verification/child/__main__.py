"""The process that runs scripts and records them: loads the framework, then takes requests from a socket.

Started by its path, so that an interpreter without ms_adapter can run it; its modules have a name that no
script has.
"""

import importlib.util
import json
import os
import runpy
import signal
import socket
import sys
import traceback

_LONGEST_MESSAGE = 1 << 16


def load_package():
    """The folder of this file as the package `_msa_verify`."""
    folder = os.path.dirname(os.path.abspath(__file__))
    spec = importlib.util.spec_from_file_location(
        "_msa_verify", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["_msa_verify"] = package
    spec.loader.exec_module(package)


def load_torch(engine, package_root):
    """PyTorch, or ours in its place."""
    if engine == "ours":
        sys.path.insert(0, package_root)
        from ms_adapter import torch_alias

        torch_alias.install()
        torch_alias.install_in_children()
        sys.path.remove(package_root)
    import torch

    if engine == "pytorch":
        import torch._dynamo  # optimizers load it when they are first made: here once for all forks
    return torch


def serve(control, torch):
    """Fork for each request; or run the only one here."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
    while True:
        message, fds, _, _ = socket.recv_fds(control, _LONGEST_MESSAGE, 8)
        if not message:
            return
        request = json.loads(message)
        process = os.fork() if request["fork"] else 0
        if process == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            if not request["fork"]:
                control.send(str(os.getpid()).encode())
            control.close()
            work(torch, request, fds)
        control.send(str(process).encode())
        for fd in fds:
            os.close(fd)


def work(torch, request, fds):
    """Run a request, and leave."""
    go, output = fds[:2]
    for standard in (1, 2):
        os.dup2(output, standard)
    os.close(output)
    if request["task"] == "replay":
        from _msa_verify.replay import serve_replays

        serve_replays(torch, request["folder"], go, fds[2])
    else:
        record(torch, request, go)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # nothing that the script left running matters any more


def set_up(torch, request):
    """Device, dtype and seeds as asked: the same numbers everywhere, also for scripts that set no seed."""
    import random

    import numpy as np

    if request.get("dtype"):
        torch.set_default_dtype(getattr(torch, request["dtype"]))
    if request.get("device"):
        torch.set_default_device(request["device"])
    random.seed(request["seed"])
    np.random.seed(request["seed"])
    torch.manual_seed(request["seed"])


def _eager(model=None, **options):
    """In place of torch.compile: what is compared is what the operators compute."""
    return model if model is not None else lambda function: function


def record(torch, request, go):
    """Run the script as `python SCRIPT` would, with a record of what it computes."""
    from _msa_verify.perturb import Noise
    from _msa_verify.recorder import Recorder
    from _msa_verify.units import Units
    from _msa_verify.values import Store

    store = Store(torch, request["folder"], request["most_elements"])
    noise = Noise(torch, request["noise"]) if request.get("noise") is not None else None

    def wait():
        if not os.read(go, 1):  # the comparing process has ended
            os._exit(0)

    recorder = Recorder(torch, store, noise, wait)
    if request.get("compile") is not None:
        recorder.units = Units(recorder, request["compile"])
    torch.compile = _eager if recorder.units is None else recorder.units.compile
    default = torch.get_default_dtype()
    set_up(torch, request)
    recorder.drawn_dtype = default if request.get("dtype") else None
    sys.argv = [request["script"], *request["args"]]
    sys.path[0] = os.path.dirname(os.path.abspath(request["script"]))
    error = error_site = None
    with recorder:
        try:
            runpy.run_path(request["script"], run_name="__main__")
        except SystemExit as leaving:
            error = None if leaving.code in (None, 0) else f"the script left with exit code {leaving.code}"
        except BaseException as raised:
            error, error_site = traceback.format_exc(), recorder.sites.of_error(raised)
    recorder.finish_chunk(True, error, error_site)


def main():
    """`__main__.py SOCKET ENGINE PACKAGE_ROOT`."""
    control = socket.socket(fileno=int(sys.argv[1]))
    load_package()
    serve(control, load_torch(*sys.argv[2:4]))


if __name__ == "__main__":
    main()
