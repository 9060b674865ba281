"""vit-pytorch: its vision transformers, two training steps each."""

import torch
from checks import check, train
from vit_pytorch import SimpleViT, ViT
from vit_pytorch.cait import CaiT
from vit_pytorch.cct import CCT
from vit_pytorch.deepvit import DeepViT
from vit_pytorch.levit import LeViT
from vit_pytorch.pit import PiT
from vit_pytorch.t2t import T2TViT

torch.set_num_threads(1)
small = {"dim": 32, "heads": 2, "mlp_dim": 64}
image = {"image_size": 32, "num_classes": 4}

MODELS = {
    "ViT": lambda: ViT(patch_size=8, depth=2, **image, **small),
    "SimpleViT": lambda: SimpleViT(patch_size=8, depth=2, **image, **small),
    "DeepViT": lambda: DeepViT(patch_size=8, depth=2, **image, **small),
    "CaiT": lambda: CaiT(patch_size=8, depth=2, cls_depth=1, **image, **small),
    "PiT": lambda: PiT(patch_size=8, depth=(1, 1), **image, **small),
    "LeViT": lambda: LeViT(
        dim=(16, 32, 32), depth=1, heads=(2, 2, 2), stages=3, mlp_mult=2, image_size=64, num_classes=4
    ),
    "CCT": lambda: CCT(img_size=32, embedding_dim=32, num_layers=2, num_heads=2, num_classes=4),
    "T2TViT": lambda: T2TViT(depth=1, t2t_layers=((7, 4), (3, 2)), **image, **small),
}

for name, make in MODELS.items():
    with check(name) as c:
        torch.manual_seed(0)
        model = make().double()
        size = 64 if name == "LeViT" else 32
        x, y = torch.randn(2, 3, size, size, dtype=torch.float64), torch.tensor([1, 3])
        c.values = train(
            torch, model, lambda m, x=x, y=y: torch.nn.functional.cross_entropy(m(x), y), steps=2
        )
        c.tolerance = 1e-6
