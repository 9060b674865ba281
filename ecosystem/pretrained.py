"""Puts random weights where torchvision would download a model's pretrained ones: `pretrained.py vgg16`."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
import torchvision


def main(name: str) -> None:
    weights = torchvision.models.get_model_weights(name).DEFAULT
    folder = Path(torch.hub.get_dir()) / "checkpoints"
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(torchvision.models.get_model(name).state_dict(), folder / weights.url.rpartition("/")[2])


if __name__ == "__main__":
    main(sys.argv[1])
