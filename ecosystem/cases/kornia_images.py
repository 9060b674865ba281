"""kornia: filters, colours, geometry, losses and augmentations."""

import kornia as K
import torch
from checks import check

torch.manual_seed(0)
x = torch.rand(2, 3, 24, 20, dtype=torch.float64)
angle = torch.tensor([10.0, 30.0], dtype=torch.float64)
corners = torch.tensor([[[0, 0], [19, 0], [19, 23], [0, 23]]] * 2, dtype=torch.float64)

CASES = {
    "gaussian_blur2d": lambda: K.filters.gaussian_blur2d(x, (3, 3), (1.0, 1.0)),
    "sobel": lambda: K.filters.sobel(x),
    "canny": lambda: K.filters.canny(x)[0],
    "median_blur": lambda: K.filters.median_blur(x, (3, 3)),
    "bilateral_blur": lambda: K.filters.bilateral_blur(x, (3, 3), 0.1, (1.0, 1.0)),
    "rgb_to_hsv and back": lambda: K.color.hsv_to_rgb(K.color.rgb_to_hsv(x)),
    "rgb_to_lab": lambda: K.color.rgb_to_lab(x),
    "rotate": lambda: K.geometry.rotate(x, angle),
    "warp_perspective": lambda: K.geometry.warp_perspective(
        x, K.geometry.get_perspective_transform(corners, corners + 1.5), (24, 20)
    ),
    "resize": lambda: K.geometry.resize(x, (12, 10), antialias=True),
    "pyrdown": lambda: K.geometry.pyrdown(x),
    "equalize_clahe": lambda: K.enhance.equalize_clahe(x[:, :, :16, :16].float(), grid_size=(2, 2)),
    "adjust_hue": lambda: K.enhance.adjust_hue(x, 0.3),
    "dilation": lambda: K.morphology.dilation(x, torch.ones(3, 3, dtype=torch.float64)),
    "ssim_loss": lambda: K.losses.ssim_loss(x, x.flip(0), 5),
    "focal_loss": lambda: K.losses.focal_loss(
        x, torch.zeros(2, 24, 20, dtype=torch.int64), 0.5, reduction="mean"
    ),
    "harris": lambda: K.feature.harris_response(x[:, :1]),
    "quaternion": lambda: K.geometry.conversions.quaternion_to_rotation_matrix(
        torch.eye(4, dtype=torch.float64)
    ),
}

for name, call in CASES.items():
    with check(name) as c:
        c.values = call()
        c.tolerance = 1e-6

with check("augmentations") as c:
    torch.manual_seed(1)
    chain = K.augmentation.AugmentationSequential(
        K.augmentation.RandomHorizontalFlip(p=0.5),
        K.augmentation.RandomAffine(20.0, p=1.0),
        K.augmentation.ColorJitter(0.1, 0.1, 0.1, 0.1, p=1.0),
        data_keys=["input", "mask"],
    )
    image, mask = chain(x.float(), (x[:, :1] > 0.5).float())
    c.values = [image, mask]
    c.tolerance = 1e-3

with check("gradient of a warp") as c:
    matrix = torch.eye(3, dtype=torch.float64).repeat(2, 1, 1).requires_grad_()
    K.geometry.warp_perspective(x, matrix, (24, 20)).pow(2).sum().backward()
    c.values = matrix.grad
    c.tolerance = 1e-6
