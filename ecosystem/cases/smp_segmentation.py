"""segmentation-models-pytorch: every decoder on a small encoder, losses and metrics."""

import segmentation_models_pytorch as smp
import torch
from checks import check, train

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)
x = torch.linspace(-1, 1, 2 * 3 * 64 * 64).reshape(2, 3, 64, 64)
y = (x[:, :1] > 0).double()

for name in (
    "Unet",
    "UnetPlusPlus",
    "MAnet",
    "Linknet",
    "FPN",
    "PSPNet",
    "DeepLabV3",
    "DeepLabV3Plus",
):
    with check(f"{name}: two steps") as c:
        torch.manual_seed(0)
        model = getattr(smp, name)("resnet18", encoder_weights=None, classes=1)
        loss = smp.losses.DiceLoss("binary")
        c.values = train(torch, model, lambda m, loss=loss: loss(m(x), y), steps=2)
        c.tolerance = 1e-6

with check("PAN: two steps") as c:
    torch.manual_seed(0)
    model, loss = smp.PAN("resnet18", encoder_weights=None, classes=1), smp.losses.DiceLoss("binary")
    large = [torch.nn.functional.interpolate(t, size=(128, 128)) for t in (x, y)]
    c.values = train(torch, model, lambda m: loss(m(large[0]), large[1]), steps=2)
    c.tolerance = 1e-6

for name in ("JaccardLoss", "FocalLoss", "LovaszLoss", "TverskyLoss"):
    with check(name) as c:
        c.values = getattr(smp.losses, name)("binary")(x[:, :1].float(), y.float())
        c.tolerance = 1e-5

with check("metrics") as c:
    counts = smp.metrics.get_stats((x[:, :1] > 0.1).long(), y.long(), mode="binary")
    c.values = [
        smp.metrics.iou_score(*counts, reduction="micro"),
        smp.metrics.f1_score(*counts, reduction="macro"),
    ]
