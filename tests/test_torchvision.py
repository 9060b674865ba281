"""ms_adapter.torchvision: how it binds to us, and what it does for torchvision's own libraries."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import ms_adapter.pytorch as torch

ROOT = Path(__file__).parents[1]
# A torchvision in small: imports as the real one writes them, absolute and relative, with and without lists.
FILES = {
    "__init__.py": "import torch\nfrom torchvision import models\nfrom .ops import twice\n",
    "ops/__init__.py": "import torch.nn.functional as F\ndef twice(x):\n    import torch\n"
    "    return torch.add(F.relu(x), x)\n",
    "models.py": "import torch.nn\nfrom torch import nn, Tensor\nimport torchvision.ops\n"
    "class Net(nn.Module):\n    def forward(self, x: Tensor):\n        return torchvision.ops.twice(x)\n",
}


def run(code: str, folder: Path, *arguments: str) -> str:
    """What a Python of its own prints, with the package in `folder` and us to be imported."""
    script = folder / "script.py"
    script.write_text(code)
    path = f"{ROOT}:{folder}"
    command = [sys.executable, *arguments, str(script)]
    done = subprocess.run(
        command, capture_output=True, text=True, env={"PYTHONPATH": path, "PATH": "/usr/bin"}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        file = tmp_path / "torchvision" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path


def test_binds_to_us_without_touching_torch(package: Path) -> None:
    code = """
import sys, pickle
import ms_adapter.torchvision as torchvision
import ms_adapter.pytorch as ours
from ms_adapter.torchvision.models import Net
import ms_adapter.torchvision.ops as ops
net = pickle.loads(pickle.dumps(Net()))
assert isinstance(net, ours.nn.Module) and torchvision.ops is ops
print(net(ours.tensor([1.0, -1.0])).tolist(), "torch" in sys.modules, "torchvision" in sys.modules)
"""
    assert run(code, package) == "[2.0, -1.0] False False"


def test_is_torchvision_itself_where_torch_means_us(package: Path) -> None:
    code = """
import ms_adapter.torchvision.models as models
import torchvision, torch
import ms_adapter.torchvision as ours
print(ours is torchvision, models is torchvision.models, models.__spec__.name, torch.__name__)
"""
    out = run(code, package, "-m", "ms_adapter", "run")
    assert out == "True True torchvision.models ms_adapter.pytorch"


def test_says_how_to_install_it(tmp_path: Path) -> None:
    code = """
import sys
sys.modules.pop("torchvision", None)
sys.path = [p for p in sys.path if "site-packages" not in p]
try:
    import ms_adapter.torchvision
except ModuleNotFoundError as err:
    print(err)
"""
    assert "pip install --no-deps torchvision==0.28.0" in run(code, tmp_path)


# ---- its libraries ----------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def image_ops() -> object:
    pytest.importorskip("PIL")
    torch.ops.load_library("torchvision/image.so")
    return torch.ops.image


def test_what_torchvision_registers_for_its_operators_is_taken() -> None:
    torch.ops.load_library("torchvision/_C.so")
    assert torch.ops.torchvision._cuda_version() == -1
    library = torch.library.Library("torchvision", "IMPL", "Meta")
    for _ in range(2):
        library.impl(torch.ops.torchvision.roi_align.default, lambda *args: None)
    torch.library.register_autograd("torchvision::roi_align", lambda ctx, grad: None)
    torch.library.register_fake("torchvision::nms")(lambda *args: None)
    x = torch.ones(1, 1, 4, 4, requires_grad=True)
    rois = torch.tensor([[0, 0, 0, 3, 3.0]])
    torch.ops.torchvision.roi_align(x, rois, 1.0, 1, 1, 2, False).sum().backward()
    assert x.grad.sum().item() == pytest.approx(1.0)
    with pytest.raises(NotImplementedError, match="qnms"):
        torch.ops.torchvision.qnms(rois, rois, 0.5)


def test_other_libraries_still_do_not_load() -> None:
    with pytest.raises(OSError, match="built against PyTorch's C"):
        torch.ops.load_library("other/_C.so")


@pytest.mark.parametrize("channels", [1, 3])
def test_png_keeps_the_pixels(image_ops: object, channels: int) -> None:
    pixels = torch.arange(channels * 5 * 7, dtype=torch.uint8).reshape(channels, 5, 7)
    encoded = torch.ops.image.encode_png(pixels, 6)
    assert encoded.dtype == torch.uint8
    for decode in (torch.ops.image.decode_png, torch.ops.image.decode_image):
        assert torch.equal(decode(encoded, 0), pixels)
    rgba = torch.ops.image.decode_png(encoded, 4)
    assert rgba.shape == (4, 5, 7)
    assert torch.equal(rgba[:3], pixels.expand(3, 5, 7))
    assert rgba[3].min() == 255


def test_jpeg_and_files(image_ops: object, tmp_path: Path) -> None:
    pixels = torch.arange(0, 240, 3, dtype=torch.uint8).reshape(1, 8, 10).repeat(3, 1, 1)
    encoded = torch.ops.image.encode_jpeg(pixels, 95)
    file = str(tmp_path / "picture.jpg")
    torch.ops.image.write_file(file, encoded)
    read = torch.ops.image.read_file(file)
    assert torch.equal(read, encoded)
    assert torch.ops.image.decode_jpeg(read, 1).shape == (1, 8, 10)
    assert (torch.ops.image.decode_image(read, 3).int() - pixels.int()).abs().max() <= 3


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda ops: ops.decode_image(torch.zeros(9, dtype=torch.uint8), 0), "Unsupported image file"),
        (lambda ops: ops.decode_png(torch.zeros(9), 0), "uint8"),
        (lambda ops: ops.decode_png(torch.zeros(0, dtype=torch.uint8), 0), "non-empty"),
        (lambda ops: ops.encode_png(torch.zeros(5, 2, 2, dtype=torch.uint8), 6), "should be 1 or 3, got: 5"),
        (lambda ops: ops.encode_jpeg(torch.zeros(2, 2, dtype=torch.uint8), 6), "3-dimensional"),
        (lambda ops: ops.read_file("nowhere.png"), "No such file or directory: 'nowhere.png'"),
        (
            lambda ops: ops.decode_png(ops.encode_png(torch.zeros(1, 40, 40, dtype=torch.uint8), 0)[:300], 0),
            "corrupted",
        ),
    ],
)
def test_wrong_images(image_ops: object, call: object, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        call(torch.ops.image)


# ---- comparison helpers that its tests are built on ---------------------------------------------------
def test_pairs_find_what_differs() -> None:
    from ms_adapter.pytorch.testing._comparison import (
        NonePair,
        NumberPair,
        TensorLikePair,
        not_close_error_metas,
    )

    kinds = (NonePair, NumberPair, TensorLikePair)
    a, b = torch.tensor([1, 2], dtype=torch.uint8), torch.tensor([2, 2], dtype=torch.uint8)
    given = {"pair_types": kinds, "rtol": 0, "atol": 1}
    assert not_close_error_metas({"x": a, "y": [1, None]}, {"x": b, "y": [1, None]}, **given) == []
    (found,) = not_close_error_metas([a, 1], [b + 1, 1], **given)
    with pytest.raises(AssertionError, match=r"not close(.|\n)*item \[0\]"):
        raise found.to_error()
    (odd,) = not_close_error_metas([a], [a, a], **given)
    assert not_close_error_metas(b"ab", b"ab", **given) == []
    assert "length" in str(odd.to_error())


def test_close_counts_unsigned_differences_both_ways() -> None:
    a, b = torch.tensor([1], dtype=torch.uint8), torch.tensor([2], dtype=torch.uint8)
    torch.testing.assert_close(a, b, rtol=0, atol=1)
    torch.testing.assert_close(b, a, rtol=0, atol=1)


def test_shares_are_those_of_pytorch() -> None:
    pytorch = pytest.importorskip("torch")
    for concentrations in ([[1.0, 1.0], [0.5, 2.0], [3.0, 1e-3]], [[0.1] * 4]):
        drawn = []
        for module in (torch, pytorch):
            module.manual_seed(3)
            drawn.append(module._sample_dirichlet(module.tensor(concentrations)).tolist())
        assert drawn[0] == drawn[1]


def test_operators_that_classes_decline_are_pythons_to_refuse() -> None:
    class Declines(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            return NotImplemented

    with pytest.raises(TypeError, match="unsupported operand type"):
        torch.ones(2).as_subclass(Declines) + torch.ones(2)


def test_what_is_empty_may_be_expanded_and_written_to() -> None:
    empty = torch.zeros(3, 0, 1).expand(3, 0, 4)
    empty += 1
    empty.clamp_(min=0)
    with pytest.raises(RuntimeError, match="more than one element"):
        torch.zeros(3, 1).expand(3, 4).add_(1)
