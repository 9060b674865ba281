"""kornia: each augmentation with a seed, multi-view geometry, local features, more losses and metrics."""

import kornia as K
import kornia.augmentation as A
import torch
from checks import check

torch.set_num_threads(1)
torch.manual_seed(0)
images = torch.rand(2, 3, 24, 20)
clip = torch.rand(1, 3, 4, 12, 10)
volume = torch.rand(1, 1, 6, 8, 10)

AUGMENTATIONS = {
    "RandomCrop": lambda: A.RandomCrop((16, 12), p=1.0),
    "RandomResizedCrop": lambda: A.RandomResizedCrop((16, 12), p=1.0),
    "CenterCrop": lambda: A.CenterCrop((16, 12)),
    "PadTo": lambda: A.PadTo((32, 32)),
    "Resize": lambda: A.Resize((12, 10)),
    "RandomPerspective": lambda: A.RandomPerspective(0.3, p=1.0),
    "RandomRotation": lambda: A.RandomRotation(30.0, p=1.0),
    "RandomThinPlateSpline": lambda: A.RandomThinPlateSpline(p=1.0),
    "RandomElasticTransform": lambda: A.RandomElasticTransform(p=1.0, kernel_size=(7, 7), sigma=(3.0, 3.0)),
    "RandomFisheye": lambda: A.RandomFisheye(
        *[torch.tensor([-0.3, 0.3])] * 2, torch.tensor([0.9, 1.0]), p=1.0
    ),
    "RandomVerticalFlip": lambda: A.RandomVerticalFlip(p=0.5),
    "RandomErasing": lambda: A.RandomErasing(p=1.0),
    "RandomGrayscale": lambda: A.RandomGrayscale(p=0.5),
    "RandomInvert": lambda: A.RandomInvert(p=0.5),
    "RandomPosterize": lambda: A.RandomPosterize(3, p=1.0),
    "RandomSolarize": lambda: A.RandomSolarize(p=1.0),
    "RandomEqualize": lambda: A.RandomEqualize(p=1.0),
    "RandomSharpness": lambda: A.RandomSharpness(p=1.0),
    "RandomGamma": lambda: A.RandomGamma((0.5, 1.5), p=1.0),
    "RandomPlasmaShadow": lambda: A.RandomPlasmaShadow(p=1.0),
    "RandomGaussianNoise": lambda: A.RandomGaussianNoise(p=1.0),
    "RandomGaussianBlur": lambda: A.RandomGaussianBlur((3, 3), (0.1, 2.0), p=1.0),
    "RandomMotionBlur": lambda: A.RandomMotionBlur(3, 35.0, 0.5, p=1.0),
    "RandomMedianBlur": lambda: A.RandomMedianBlur(p=1.0),
    "RandomBoxBlur": lambda: A.RandomBoxBlur(p=1.0),
    "RandomChannelShuffle": lambda: A.RandomChannelShuffle(p=1.0),
    "RandomChannelDropout": lambda: A.RandomChannelDropout(p=1.0),
    "RandomRGBShift": lambda: A.RandomRGBShift(p=1.0),
    "RandomSaltAndPepperNoise": lambda: A.RandomSaltAndPepperNoise(p=1.0),
    "RandomRain": lambda: A.RandomRain(p=1.0, drop_height=(1, 2), drop_width=(-2, 2)),
    "RandomSnow": lambda: A.RandomSnow(p=1.0),
    "RandomPlanckianJitter": lambda: A.RandomPlanckianJitter(p=1.0),
    "RandomAutoContrast": lambda: A.RandomAutoContrast(p=1.0),
    "RandomClahe": lambda: A.RandomClahe(p=1.0, grid_size=(2, 2)),
    "Normalize": lambda: A.Normalize(torch.tensor([0.5] * 3), torch.tensor([0.2] * 3)),
    "RandAugment": lambda: A.auto.RandAugment(n=2, m=10),
    "TrivialAugment": lambda: A.auto.TrivialAugment(),
    "AutoAugment": lambda: A.auto.AutoAugment("imagenet"),
}
MIXES = {
    "RandomMixUpV2": lambda: A.RandomMixUpV2(p=1.0, data_keys=["input", "class"]),
    "RandomCutMixV2": lambda: A.RandomCutMixV2(p=1.0, data_keys=["input", "class"]),
    "RandomJigsaw": lambda: A.RandomJigsaw((2, 2), p=1.0, data_keys=["input"]),
    "RandomTransplantation": lambda: A.RandomTransplantation(p=1.0, data_keys=["input", "mask"]),
}

GIVEN = {
    "image": images,
    "input": images,
    "label": torch.tensor([0, 1]),
    "class": torch.tensor([0, 1]),
    "mask": (images[:, 0] * 3).long(),
}

for name, make in AUGMENTATIONS.items():
    with check(name) as c:
        torch.manual_seed(1)
        c.values = make()(images)
        c.tolerance = 1e-4

for name, make in MIXES.items():
    with check(name) as c:
        torch.manual_seed(1)
        mix = make()
        keys = [str(key).rpartition(".")[2].lower() for key in mix.data_keys]
        c.values = mix(*[GIVEN[key] for key in keys])
        c.tolerance = 1e-4

with check("boxes, keypoints and masks, there and back") as c:
    torch.manual_seed(2)
    keys = ["input", "mask", "bbox_xyxy", "keypoints"]
    chain = A.AugmentationSequential(
        A.RandomAffine(15.0, p=1.0), A.RandomHorizontalFlip(p=1.0), data_keys=keys, same_on_batch=True
    )
    boxes = torch.tensor([[[2.0, 3.0, 9.0, 12.0]]]).repeat(2, 1, 1)
    points = torch.tensor([[[4.0, 5.0], [10.0, 2.0]]]).repeat(2, 1, 1)
    out = chain(images, (images[:, :1] > 0.5).float(), boxes, points)
    back = chain.inverse(*out)
    c.values = [*out, *back[2:]]
    c.tolerance = 1e-3

with check("clips and volumes") as c:
    torch.manual_seed(3)
    video = A.VideoSequential(A.RandomAffine(10.0, p=1.0), A.ColorJiggle(0.1, 0.1, 0.1, 0.1, p=1.0))
    c.values = [video(clip.transpose(1, 2)), A.RandomAffine3D(10.0, p=1.0)(volume)]
    c.tolerance = 1e-3

with check("two views of points") as c:
    torch.manual_seed(4)
    points = torch.rand(1, 12, 2, dtype=torch.float64)
    matrix = torch.tensor([[[1.1, 0.1, 0.2], [0.0, 0.9, 0.1], [0.02, 0.01, 1.0]]], dtype=torch.float64)
    moved = K.geometry.transform_points(matrix, points)
    homography = K.geometry.find_homography_dlt(points, moved)
    fundamental = K.geometry.epipolar.find_fundamental(points, moved + 0.1 * points**2)
    distance = K.geometry.epipolar.sampson_epipolar_distance(points, moved, fundamental)
    c.values = [homography / homography[..., 2:, 2:], distance]
    c.tolerance = 1e-5

with check("rotations") as c:
    angles = torch.tensor([[0.1, -0.4, 1.2], [2.0, 0.3, 0.5]], dtype=torch.float64)
    rotation = K.geometry.axis_angle_to_rotation_matrix(angles)
    quaternion = K.geometry.conversions.rotation_matrix_to_quaternion(rotation)
    pose = K.geometry.liegroup.So3.exp(angles)
    c.values = [rotation, quaternion, pose.log(), pose.matrix()]
    c.tolerance = 1e-8

with check("local features") as c:
    torch.manual_seed(5)
    picture = K.filters.gaussian_blur2d(torch.rand(1, 1, 48, 48), (5, 5), (1.5, 1.5))
    patches = picture.unfold(2, 32, 8).unfold(3, 32, 8).reshape(-1, 1, 32, 32)
    descriptors = K.feature.SIFTDescriptor(32)(patches)
    distances, pairs = K.feature.match_smnn(descriptors[:5], descriptors.flip(0), 0.99)
    corners = [K.feature.gftt_response(picture), K.feature.hessian_response(picture)]
    c.values = [descriptors, distances, pairs, corners, K.feature.dog_response_single(picture)]
    c.tolerance = 1e-3

with check("losses and metrics") as c:
    scores, target = images.log_softmax(1), (images[:, 0] * 3).long()
    other = images.flip(0)
    c.values = [
        K.losses.dice_loss(scores, target),
        K.losses.tversky_loss(scores, target, 0.5, 0.5),
        K.losses.lovasz_softmax_loss(scores, target),
        K.losses.total_variation(images),
        K.losses.psnr_loss(images, other, 1.0),
        K.losses.charbonnier_loss(images, other, "mean"),
        K.losses.MS_SSIMLoss(sigmas=[0.5, 1.0])(images, other),
        K.losses.js_div_loss_2d(images[:, :1].softmax(-1), other[:, :1].softmax(-1)),
        K.losses.HausdorffERLoss(k=3)(scores, target[:, None]),
        K.metrics.mean_iou(target, target.flip(0), 3),
        K.metrics.confusion_matrix(target, target.flip(0), 3),
    ]
    c.tolerance = 1e-4

with check("gradients through an augmentation") as c:
    torch.manual_seed(6)
    source = images.double().requires_grad_()
    A.AugmentationSequential(A.RandomAffine(20.0, p=1.0), A.ColorJiggle(0.2, 0.2, 0.2, 0.1, p=1.0))(
        source
    ).square().sum().backward()
    c.values = source.grad
    c.tolerance = 1e-4
