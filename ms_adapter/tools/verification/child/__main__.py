"""The recorded process: sets the seeds, then runs the script as `python SCRIPT` would.

Started by its path, so that an interpreter without ms_adapter can run it; its modules have a name that no
script has.
"""

import importlib.util
import json
import os
import runpy
import sys
import traceback


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


def prepare_torch(request):
    """PyTorch, or ours in its place; with one interpreter's thread count, device and dtype as asked."""
    if request["engine"] == "ours":
        sys.path.insert(0, request["package_root"])
        from ms_adapter import torch_alias

        torch_alias.install()
        torch_alias.install_in_children()
        sys.path.remove(request["package_root"])
    import torch

    torch.compile = _eager
    if request.get("dtype"):
        torch.set_default_dtype(getattr(torch, request["dtype"]))
    if request.get("device"):
        torch.set_default_device(request["device"])
    return torch


def _eager(model=None, **options):
    """In place of torch.compile: what is compared is what the operators compute."""
    return model if model is not None else lambda function: function


def set_seeds(torch, seed):
    """The same numbers everywhere, also for scripts that set no seed."""
    import random

    import numpy as np

    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def main():
    """Run the request in sys.argv[1]."""
    with open(sys.argv[1], encoding="utf-8") as file:
        request = json.load(file)
    load_package()
    torch = prepare_torch(request)
    from _msa_verify.perturb import Noise
    from _msa_verify.recorder import Recorder
    from _msa_verify.values import Store

    store = Store(torch, request["folder"], request["most_elements"])
    noise = Noise(torch, request["noise"]) if request.get("noise") is not None else None

    def wait():
        if not os.read(request["go"], 1):  # the comparing process has ended
            os._exit(0)

    recorder = Recorder(torch, store, noise, wait)
    set_seeds(torch, request["seed"])
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
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # nothing that the script left running matters any more


if __name__ == "__main__":
    main()
