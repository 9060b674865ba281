"""torchvision's transforms, both generations: on tensors and images, with random ones from one seed."""

import torch
import torchvision.transforms as v1
import torchvision.transforms.v2 as v2
from checks import check
from PIL import Image
from torchvision import tv_tensors

image = torch.arange(3 * 12 * 10, dtype=torch.uint8).reshape(3, 12, 10)
picture = Image.new("RGB", (10, 12), (10, 200, 30))

for name, module in (("v1", v1), ("v2", v2)):
    made = [
        module.Resize((8, 8), antialias=True),
        module.CenterCrop(6),
        module.RandomCrop(6),
        module.RandomRotation(20),
        module.RandomHorizontalFlip(0.5),
        module.RandomResizedCrop(8, antialias=True),
        module.Pad(2),
        module.ColorJitter(0.2, 0.2, 0.2, 0.1),
        module.Grayscale(3),
        module.GaussianBlur(3),
        module.RandomAffine(10, (0.1, 0.1)),
        module.RandomPerspective(p=1.0),
        module.RandomErasing(p=1.0),
        module.RandomInvert(1.0),
        module.RandomPosterize(4, 1.0),
        module.RandomAutocontrast(1.0),
        module.RandomEqualize(1.0),
        module.RandAugment(),
        module.AutoAugment(),
    ]
    for transform in made:
        with check(f"{name} {type(transform).__name__}") as c:
            torch.manual_seed(3)
            c.values = [transform(image).to(torch.int64) for _ in range(3)]
            c.tolerance = 0 if type(transform).__name__ != "Resize" else 1

with check("a chain on a picture") as c:
    torch.manual_seed(0)
    chain = v1.Compose([v1.Resize(8), v1.RandomCrop(6), v1.ToTensor(), v1.Normalize([0.5] * 3, [0.2] * 3)])
    c.values = chain(picture)
    c.tolerance = 1e-6

with check("boxes and masks travel with the image") as c:
    torch.manual_seed(0)
    boxes = tv_tensors.BoundingBoxes([[1, 2, 5, 6]], format="XYXY", canvas_size=(12, 10))
    mask = tv_tensors.Mask(torch.eye(12, 10, dtype=torch.bool)[None])
    chain = v2.Compose(
        [
            v2.RandomHorizontalFlip(1.0),
            v2.Resize((24, 20), antialias=True),
            v2.ToDtype(torch.float32, scale=True),
        ]
    )
    out = chain({"image": tv_tensors.Image(image), "boxes": boxes, "mask": mask})
    c.values = [out["boxes"], type(out["boxes"]).__name__, out["mask"].sum(), out["image"].sum()]
    c.tolerance = 1e-5

with check("mixup and cutmix") as c:
    torch.manual_seed(0)
    x, y = torch.rand(4, 3, 8, 8), torch.arange(4)
    c.values = [v2.MixUp(num_classes=4)(x, y), v2.CutMix(num_classes=4)(x, y)]
    c.tolerance = 1e-6
