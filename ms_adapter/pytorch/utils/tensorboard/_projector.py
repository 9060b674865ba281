"""SummaryWriter.add_embedding: points, their labels and pictures as the files of TensorBoard's projector."""

import math
import os

import numpy as np
from google.protobuf import text_format
from PIL import Image
from tensorboard.plugins.projector.projector_config_pb2 import EmbeddingInfo, ProjectorConfig

from ._values import as_array

__all__ = ["ProjectorConfig", "write_config", "write_points"]


def write_points(folder, place, name, points, labels=None, header=None, pictures=None):
    """Write a table of ``points`` (n, features) into ``place`` below ``folder``.

    What the projector's configuration has to say of it is returned.
    """
    points = as_array(points)
    if points.ndim != 2:
        raise AssertionError(f"add_embedding: expected (points, features), got the shape {points.shape}")
    where = os.path.join(folder, place)
    os.makedirs(where, exist_ok=True)
    found = EmbeddingInfo(tensor_name=name, tensor_path=f"{place}/tensors.tsv")
    if labels is not None:
        _require_one_each("labels", len(labels), points)
        rows = labels if not header else ["\t".join(header), *("\t".join(map(str, row)) for row in labels)]
        _write_rows(os.path.join(where, "metadata.tsv"), rows)
        found.metadata_path = f"{place}/metadata.tsv"
    if pictures is not None:
        pictures = as_array(pictures)
        _require_one_each("images", len(pictures), points)
        _sprite(pictures).save(os.path.join(where, "sprite.png"))
        found.sprite.image_path = f"{place}/sprite.png"
        found.sprite.single_image_dim.extend([pictures.shape[3], pictures.shape[2]])
    _write_rows(os.path.join(where, "tensors.tsv"), ["\t".join(map(str, row.tolist())) for row in points])
    return found


def write_config(folder, config):
    """Write what is known of all points; TensorBoard reads it first."""
    with open(os.path.join(folder, "projector_config.pbtxt"), "w", encoding="utf-8") as file:
        file.write(text_format.MessageToString(config))


def _require_one_each(what, count, points):
    if count != len(points):
        raise AssertionError(f"add_embedding: {count} {what} for {len(points)} points")


def _write_rows(path, rows):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{row}\n" for row in rows)


def _sprite(pictures):
    """Pictures (n, channels, height, width) of numbers from 0 to 1 in one square picture, row by row."""
    side = math.ceil(math.sqrt(len(pictures)))
    n, channels, height, width = pictures.shape
    square = np.zeros((side * side, channels, height, width), np.float32)
    square[:n] = pictures
    rows = square.reshape(side, side, channels, height, width).transpose(0, 3, 1, 4, 2)
    whole = (rows.reshape(side * height, side * width, channels) * 255).clip(0, 255).astype(np.uint8)
    return Image.fromarray(whole[:, :, 0] if channels == 1 else whole)
