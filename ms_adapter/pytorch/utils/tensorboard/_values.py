"""Summary values: numbers, histograms, pictures, sounds and texts as TensorBoard's messages."""

import functools
import io
import json
import wave

import numpy as np
from PIL import Image
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData
from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

import ms_adapter.pytorch as torch

_FLOAT, _STRING = 1, 7  # of TensorBoard's DataType


def as_array(value):
    """A tensor, array, list or number as an array of NumPy."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        return (value.float() if value.dtype in (torch.bfloat16, torch.float16) else value).numpy()
    return np.asarray(value)


def one_number(value):
    """The one element of a scalar, as a float."""
    array = as_array(value)
    if array.size != 1:
        raise ValueError(f"add_scalar: expected one element, got an array of shape {array.shape}.")
    return float(array.reshape(-1)[0])


def scalar(tag, value, new_style=False):
    """A number."""
    if not new_style:
        return Summary(value=[Summary.Value(tag=tag, simple_value=one_number(value))])
    proto = TensorProto(float_val=[one_number(value)], dtype=_FLOAT)
    data = SummaryMetadata.PluginData(plugin_name="scalars")
    return _tensor_value(tag, proto, SummaryMetadata(plugin_data=data))


def _tensor_value(tag, proto, metadata):
    return Summary(value=[Summary.Value(tag=tag, tensor=proto, metadata=metadata)])


def tensor(tag, value):
    """The elements of a tensor as they are."""
    array = as_array(value)
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in array.shape])
    proto = TensorProto(dtype=_FLOAT, tensor_shape=shape)
    proto.float_val.extend(array.astype(np.float32).reshape(-1).tolist())
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="tensor"))
    return _tensor_value(tag, proto, metadata)


# ---- histograms ------------------------------------------------------------------------------------
@functools.cache
def _growing_edges():
    """Edges that grow by a tenth from 1e-12 to 1e20, on both sides of 0."""
    positive, edge = [], 1e-12
    while edge < 1e20:
        positive.append(edge)
        edge *= 1.1
    return [-edge for edge in reversed(positive)] + [0.0] + positive


def histogram(tag, values, bins, max_bins=None):
    """How often values fall between edges: "tensorflow"'s growing ones, or what NumPy makes of ``bins``."""
    values = as_array(values).reshape(-1).astype(float)
    if values.size == 0:
        raise ValueError("add_histogram: there are no values.")
    counts, limits = np.histogram(values, bins=_growing_edges() if bins == "tensorflow" else bins)
    if max_bins is not None and len(counts) > max_bins:
        joined = -(-len(counts) // max_bins)
        counts = np.add.reduceat(counts, np.arange(0, len(counts), joined))
        limits = np.append(limits[:-1][::joined], limits[-1])
    used = np.flatnonzero(counts)
    if used.size == 0:
        raise ValueError(f"add_histogram: no value lies between the edges {limits[0]} and {limits[-1]}.")
    first, last = used[0], used[-1]
    # One empty bucket stays in front, so that its edge says where the first one begins.
    buckets = counts[first - 1 : last + 1] if first > 0 else np.concatenate([[0], counts[: last + 1]])
    proto = HistogramProto(
        min=values.min(),
        max=values.max(),
        num=len(values),
        sum=values.sum(),
        sum_squares=values.dot(values),
        bucket_limit=limits[first : last + 2].tolist(),
        bucket=buckets.tolist(),
    )
    return Summary(value=[Summary.Value(tag=tag, histo=proto)])


def histogram_raw(tag, **fields):
    """A histogram whose numbers are known already."""
    fields = {name: as_array(value).tolist() for name, value in fields.items()}
    return Summary(value=[Summary.Value(tag=tag, histo=HistogramProto(**fields))])


# ---- pictures and sounds ---------------------------------------------------------------------------
def as_picture(array, dataformats):
    """An array with named dimensions as (height, width, 3); several pictures side by side in rows of 8."""
    array, order = as_array(array), dataformats.upper()
    if len(order) != array.ndim or len(set(order)) != len(order):
        raise ValueError(
            f"add_image: dataformats={dataformats!r} does not name the dimensions of {array.shape}."
        )
    if "N" in order:
        array, order = _side_by_side(array.transpose([order.index(d) for d in "NCHW"])), "CHW"
    if "C" not in order:
        array, order = array[None], "C" + order
    array = array.transpose([order.index(d) for d in "HWC"])
    return np.concatenate([array] * 3, 2) if array.shape[2] == 1 else array


def _side_by_side(pictures, columns=8):
    n, channels, height, width = pictures.shape
    columns = min(columns, n)
    rows = -(-n // columns)
    grid = np.zeros((channels, rows * height, columns * width), pictures.dtype)
    for i, picture in enumerate(pictures):
        y, x = i // columns * height, i % columns * width
        grid[:, y : y + height, x : x + width] = picture
    return np.concatenate([grid] * 3, 0) if channels == 1 else grid


def image(tag, array, dataformats="CHW", rescale=1):
    """A picture: bytes as they are, other numbers from 0 to 1."""
    picture = as_picture(array, dataformats)
    if picture.dtype != np.uint8:
        picture = (picture.astype(np.float32) * 255.0).clip(0, 255).astype(np.uint8)
    return _png(tag, Image.fromarray(picture), rescale)


def boxed_image(tag, array, boxes, dataformats, labels=None, rescale=1):
    """A picture with rectangles (left, top, right, bottom) on it."""
    from PIL import ImageDraw

    picture = as_picture(array, dataformats)
    if picture.dtype != np.uint8:
        picture = (picture.astype(np.float32) * 255.0).clip(0, 255).astype(np.uint8)
    drawn = Image.fromarray(picture)
    pen = ImageDraw.Draw(drawn)
    for i, box in enumerate(as_array(boxes).tolist()):
        pen.rectangle(box, outline="red", width=2)
        if labels is not None:
            pen.text(box[:2], str(labels[i]), fill="red")
    return _png(tag, drawn, rescale)


def _png(tag, picture, rescale):
    if rescale != 1:
        picture = picture.resize((int(picture.width * rescale), int(picture.height * rescale)))
    out = io.BytesIO()
    picture.save(out, format="PNG")
    proto = Summary.Image(
        height=picture.height,
        width=picture.width,
        colorspace=len(picture.getbands()),
        encoded_image_string=out.getvalue(),
    )
    return Summary(value=[Summary.Value(tag=tag, image=proto)])


def figure_array(figure, close):
    """What a figure of matplotlib looks like, as (3, height, width) bytes."""
    from matplotlib import pyplot
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    array = np.asarray(canvas.buffer_rgba())[:, :, :3].transpose(2, 0, 1)
    if close:
        pyplot.close(figure)
    return array


def audio(tag, value, sample_rate):
    """A sound, from -1 to 1, as 16-bit samples."""
    samples = as_array(value).reshape(-1).clip(-1, 1)
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes((samples * 32767).astype("<i2").tobytes())
    proto = Summary.Audio(
        sample_rate=sample_rate,
        num_channels=1,
        length_frames=len(samples),
        encoded_audio_string=out.getvalue(),
        content_type="audio/wav",
    )
    return Summary(value=[Summary.Value(tag=tag, audio=proto)])


# ---- texts, curves, layouts ------------------------------------------------------------------------
def text(tag, value):
    """A text, which TensorBoard reads as Markdown."""
    content = TextPluginData(version=0).SerializeToString()
    data = SummaryMetadata.PluginData(plugin_name="text", content=content)
    proto = TensorProto(
        dtype=_STRING,
        string_val=[value.encode("utf-8")],
        tensor_shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)]),
    )
    return _tensor_value(f"{tag}/text_summary", proto, SummaryMetadata(plugin_data=data))


def pr_curve(tag, labels, predictions, num_thresholds=127, weights=None):
    """Precision and recall over thresholds, of predictions from 0 to 1."""
    count = min(num_thresholds, 127)  # more loses labels in TensorBoard
    labels, predictions = as_array(labels).reshape(-1), as_array(predictions).reshape(-1)
    weights = np.ones(labels.shape) if weights is None else as_array(weights).reshape(-1)
    places = np.floor(predictions * (count - 1)).astype(np.int64)
    sums = []
    for part in (labels.astype(float) * weights, (1.0 - labels.astype(float)) * weights):
        totals = np.histogram(places, bins=count, range=(0, count - 1), weights=part)[0]
        sums.append(np.cumsum(totals[::-1])[::-1])
    positive, false_positive = sums
    smallest = 1e-7
    precision = positive / np.maximum(smallest, positive + false_positive)
    recall = positive / np.maximum(smallest, positive[0])
    rows = (
        positive,
        false_positive,
        false_positive[0] - false_positive,
        positive[0] - positive,
        precision,
        recall,
    )
    return pr_curve_raw(tag, *rows, num_thresholds=count)


def pr_curve_raw(
    tag,
    true_positive_counts,
    false_positive_counts,
    true_negative_counts,
    false_negative_counts,
    precision,
    recall,
    num_thresholds=127,
    weights=None,
):
    """A curve whose numbers are known already."""
    count = min(num_thresholds, 127)
    rows = (
        true_positive_counts,
        false_positive_counts,
        true_negative_counts,
        false_negative_counts,
        precision,
        recall,
    )
    data = np.stack([as_array(row) for row in rows])
    content = PrCurvePluginData(version=0, num_thresholds=count).SerializeToString()
    plugin = SummaryMetadata.PluginData(plugin_name="pr_curves", content=content)
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in data.shape])
    proto = TensorProto(dtype=_FLOAT, float_val=data.reshape(-1).tolist(), tensor_shape=shape)
    return _tensor_value(tag, proto, SummaryMetadata(plugin_data=plugin))


def custom_scalars(layout):
    """Charts of several scalars: {category: {chart: ["Multiline" or "Margin", [tags]]}}."""
    categories = []
    for category, charts in layout.items():
        made = []
        for title, (kind, tags) in charts.items():
            if kind == "Margin":
                series = layout_pb2.MarginChartContent.Series(value=tags[0], lower=tags[1], upper=tags[2])
                made.append(
                    layout_pb2.Chart(title=title, margin=layout_pb2.MarginChartContent(series=[series]))
                )
            else:
                content = layout_pb2.MultilineChartContent(tag=tags)
                made.append(layout_pb2.Chart(title=title, multiline=content))
        categories.append(layout_pb2.Category(title=category, chart=made))
    data = SummaryMetadata.PluginData(plugin_name="custom_scalars")
    proto = TensorProto(
        dtype=_STRING,
        string_val=[layout_pb2.Layout(category=categories).SerializeToString()],
        tensor_shape=TensorShapeProto(),
    )
    return _tensor_value("custom_scalars__config__", proto, SummaryMetadata(plugin_data=data))


def mesh(tag, vertices, colors, faces, config):
    """Points (N, V, 3) in space, with colours and triangles."""
    from tensorboard.plugins.mesh import metadata
    from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData

    kinds = (MeshPluginData.VERTEX, MeshPluginData.FACE, MeshPluginData.COLOR)
    parts = [
        (kind, part) for kind, part in zip(kinds, (vertices, faces, colors), strict=True) if part is not None
    ]
    components, described = (
        metadata.get_components_bitmask([kind for kind, _ in parts]),
        json.dumps(config or {}),
    )
    values = []
    for kind, part in parts:
        array = as_array(part)
        name = metadata.get_instance_name(tag, kind)
        about = metadata.create_summary_metadata(
            tag, None, kind, components, array.shape, json_config=described
        )
        shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in array.shape])
        proto = TensorProto(dtype=_FLOAT, float_val=array.reshape(-1).tolist(), tensor_shape=shape)
        values.append(Summary.Value(tag=name, tensor=proto, metadata=about))
    return Summary(value=values)
