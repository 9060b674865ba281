"""safetensors.torch on our tensors: files and bytes, tied weights, views, dtypes, refusals."""

import os
import tempfile

import torch
from checks import check
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model

folder = tempfile.mkdtemp()
path = os.path.join(folder, "a.safetensors")

with check("files and bytes") as c:
    torch.manual_seed(0)
    state = {
        "w": torch.randn(3, 4),
        "h": torch.randn(5).to(torch.bfloat16),
        "i": torch.arange(3),
        "b": torch.ones(2) > 0,
    }
    save_file(state, path, metadata={"by": "us"})
    loaded = load_file(path)
    again = load(save(state))
    c.values = [loaded, {k: str(v.dtype) for k, v in loaded.items()}, again]

with check("safe_open") as c, safe_open(path, framework="pt", device="cpu") as file:
    part = file.get_slice("w")
    c.values = [
        sorted(file.keys()),
        file.metadata(),
        part.get_shape(),
        part[1:, :2],
        file.get_tensor("i"),
    ]

with check("tied weights") as c:
    model = torch.nn.ModuleDict({"a": torch.nn.Linear(2, 2), "b": torch.nn.Linear(2, 2)})
    model["b"].weight = model["a"].weight
    save_model(model, path)
    with torch.no_grad():
        model["a"].weight.zero_()
    load_model(model, path)
    c.values = [model["b"].weight, model["a"].weight.data_ptr() == model["b"].weight.data_ptr()]

with check("shared memory is refused") as c:
    x = torch.ones(4)
    try:
        save_file({"x": x, "y": x[:2]}, path)
    except RuntimeError as error:
        c.values = "share memory" in str(error)
