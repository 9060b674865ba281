"""SummaryWriter: TensorBoard's own reader finds in our event files what it finds in PyTorch's."""

import builtins
import importlib
import sys

import numpy as np
import pytest
import torch
from PIL import Image

import ms_adapter.pytorch as face

accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
SIZES = dict.fromkeys(("scalars", "histograms", "images", "audio", "tensors", "compressedHistograms"), 0)


def writer_of(t):
    return importlib.import_module(f"{t.__name__}.utils.tensorboard").SummaryWriter


def write(t, folder):
    """A little of everything that gives numbers."""
    with writer_of(t)(log_dir=str(folder)) as writer:
        for step in range(3):
            writer.add_scalar("loss", t.tensor(1.0 / (step + 1)), step, walltime=10.0 + step)
        writer.add_scalar("new", 2, 7, new_style=True)
        writer.add_histogram("weights", t.tensor([-2.0, -0.5, 0.0, 1e-3, 3.0, 3.0]), 1)
        writer.add_histogram("all positive", np.arange(1, 50) * 0.1, 1)
        writer.add_histogram("ten bins", t.arange(100), 2, bins="auto", max_bins=10)
        writer.add_histogram_raw("raw", 0, 4, 5, 10, 30, [1, 2, 5], [2, 1, 2], 3)
        writer.add_image("picture", t.arange(2 * 3 * 4).reshape(2, 3, 4)[:1] / 24.0, 1)
        writer.add_image("bytes", t.full((4, 5, 3), 7, dtype=t.uint8), 1, dataformats="HWC")
        writer.add_image("plane", t.ones(3, 2), 1, dataformats="HW")
        writer.add_text("note", "some *text*", 4)
        writer.add_tensor("tensor", t.tensor([[1.0, 2.0]]), 5)
        labels, scores = t.tensor([0, 1, 1, 0, 1]), t.tensor([0.1, 0.8, 0.4, 0.6, 0.9])
        writer.add_pr_curve("curve", labels, scores, 2, num_thresholds=9)
        writer.add_custom_scalars_multilinechart(["loss", "new"])
        writer.add_mesh("mesh", t.zeros(1, 4, 3), colors=t.zeros(1, 4, 3).byte())


def read(folder):
    found = accumulator.EventAccumulator(str(folder), SIZES)
    found.Reload()
    tags = found.Tags()
    out = {"scalars": {tag: [(e.step, e.value) for e in found.Scalars(tag)] for tag in tags["scalars"]}}
    out["walltimes"] = [e.wall_time for e in found.Scalars("loss")]
    out["histograms"] = {
        tag: [(e.step, repr(e.histogram_value)) for e in found.Histograms(tag)] for tag in tags["histograms"]
    }
    out["images"] = {tag: [(e.step, *picture(e)) for e in found.Images(tag)] for tag in tags["images"]}
    out["tensors"] = {
        tag: [(e.step, e.tensor_proto.SerializeToString()) for e in found.Tensors(tag)]
        for tag in tags["tensors"]
    }
    out["metadata"] = {tag: found.SummaryMetadata(tag).plugin_data.plugin_name for tag in tags["tensors"]}
    return out


def picture(event):
    import io

    from PIL import Image

    image = Image.open(io.BytesIO(event.encoded_image_string))
    return event.width, event.height, np.asarray(image).tolist()


def test_files_read_as_pytorchs(tmp_path):
    for t, name in ((torch, "want"), (face, "got")):
        write(t, tmp_path / name)
    want, got = read(tmp_path / "want"), read(tmp_path / "got")
    assert set(want["histograms"]) == {"weights", "all positive", "ten bins", "raw"}
    for kind, values in want.items():
        assert got[kind] == values, kind


def test_scalars_in_folders_and_hyperparameters(tmp_path):
    for t in (torch, face):
        folder = tmp_path / t.__name__
        writer = writer_of(t)(log_dir=str(folder), purge_step=2, filename_suffix=".end")
        writer.add_scalars("group/of", {"a": 1.0, "b": 2.0}, 3)
        writer.add_hparams(
            {"lr": 0.1, "name": "x", "deep": True}, {"accuracy": 0.5}, run_name="run", global_step=1
        )
        writer.flush()
        writer.close()
        writer.add_scalar("later", 1.0, 1)
        writer.close()
        names = sorted(p.relative_to(folder).parts[0] for p in folder.iterdir() if p.is_dir())
        assert names == ["group_of_a", "group_of_b", "run"]
        for part, tag in (("group_of_a", "group/of"), ("run", "accuracy")):
            found = accumulator.EventAccumulator(str(folder / part), SIZES)
            found.Reload()
            assert tag in found.Tags()["scalars"], (t.__name__, part)
        assert all(p.name.endswith(".end") for p in folder.glob("events*"))
        assert len(list(folder.glob("events*"))) == 2


def test_sound_boxes_and_many_pictures(tmp_path):
    with writer_of(face)(log_dir=str(tmp_path)) as writer:
        writer.add_audio("sound", face.sin(face.arange(100) * 0.1), 1, sample_rate=8000)
        writer.add_images("pictures", face.rand(9, 1, 2, 3), 1)
        writer.add_image_with_boxes("boxes", face.zeros(3, 10, 10), face.tensor([[1, 1, 6, 6]]), 1)
    found = accumulator.EventAccumulator(str(tmp_path), SIZES)
    found.Reload()
    assert found.Audio("sound")[0].length_frames == 100
    assert (found.Images("pictures")[0].width, found.Images("pictures")[0].height) == (24, 4)
    assert [255, 0, 0] in picture(found.Images("boxes")[0])[2][1]


def test_a_graph_has_each_call_below_its_module(tmp_path):
    model = face.nn.Sequential(face.nn.Linear(2, 3), face.nn.Sequential(face.nn.ReLU()))
    with writer_of(face)(log_dir=str(tmp_path)) as writer:
        writer.add_graph(model, face.ones(1, 2))
    found = accumulator.EventAccumulator(str(tmp_path))
    found.Reload()
    linear, relu = "Sequential/Linear[0]", "Sequential/Sequential[1]/ReLU[0]"
    assert {node.name: list(node.input) for node in found.Graph().node} == {
        "input/0": [],
        f"{linear}/weight": [],
        f"{linear}/bias": [],
        f"{linear}/linear": ["input/0", f"{linear}/weight", f"{linear}/bias"],
        f"{relu}/relu": [f"{linear}/linear"],
        "output/0": [f"{relu}/relu"],
    }
    shape = found.Graph().node[-2].attr["_output_shapes"].list.shape[0]
    assert [d.size for d in shape.dim] == [1, 3]
    assert model.training and not model._forward_hooks and not model[0]._forward_pre_hooks


@pytest.mark.parametrize(
    "labels, header", [(["a", "b", "c"], None), ([["a", 1], ["b", 2], ["c", 3]], ["x", "y"])]
)
def test_points_are_written_as_pytorch_writes_them(tmp_path, labels, header):
    for name, t in (("face", face), ("torch", torch)):
        points, pictures = t.arange(6.0).reshape(3, 2) / 3, t.arange(24.0).reshape(3, 2, 2, 2)[:, :1] / 24
        with writer_of(t)(log_dir=str(tmp_path / name)) as writer:
            writer.add_embedding(points, labels, pictures, metadata_header=header)
            writer.add_embedding(points.double(), global_step=2, tag="a/b")
    ours, theirs = (
        {p.relative_to(tmp_path / n): p for p in (tmp_path / n).rglob("*.*sv")} for n in ("face", "torch")
    )
    assert ours.keys() == theirs.keys() and len(ours) == 3
    assert [p.read_text() for p in ours.values()] == [theirs[name].read_text() for name in ours]
    config = "projector_config.pbtxt"
    assert (tmp_path / "face" / config).read_text() == (tmp_path / "torch" / config).read_text()
    sprites = [
        np.asarray(Image.open(tmp_path / n / "00000/default/sprite.png").convert("RGB"))
        for n in ("face", "torch")
    ]
    assert np.array_equal(*sprites)


def test_what_is_wrong_or_missing(tmp_path):
    writer = writer_of(face)(log_dir=str(tmp_path))
    with pytest.raises(ValueError, match="one element"):
        writer.add_scalar("a", face.ones(2))
    with pytest.raises(ValueError, match="dataformats"):
        writer.add_image("a", face.ones(2, 2))
    with pytest.raises(TypeError, match="hparam_dict"):
        writer.add_hparams([], {})
    with pytest.raises(AssertionError, match="2 labels for 3 points"):
        writer.add_embedding(face.ones(3, 2), ["a", "b"])
    for method in (writer.add_video, writer.add_onnx_graph):
        with pytest.raises(NotImplementedError):
            method(None, None) if method == writer.add_video else method(None)
    writer.close()


def test_without_the_package(monkeypatch):
    module = importlib.import_module("ms_adapter.pytorch.utils.tensorboard")
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.partition(".")[0] == "tensorboard":
            raise ImportError("no tensorboard here")
        return real(name, *args, **kwargs)

    for name in [n for n in sys.modules if n.partition(".")[0] == "tensorboard"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match="pip install tensorboard"):
        _ = module.SummaryWriter


def test_hyperparameters_as_three_summaries_which_lightning_writes_itself():
    def made(t):
        summary = importlib.import_module(f"{t.__name__}.utils.tensorboard.summary")
        given = {"lr": 0.5, "kind": "a", "none": None, "n": t.tensor([3])}
        about, start, end = summary.hparams(given, {"loss": 1})
        content = [found.value[0].metadata.plugin_data.content for found in (start, end)]
        return [found.value[0].tag for found in (about, start, end)], content[1:], b"kind" in content[0]

    assert made(face) == made(torch)
