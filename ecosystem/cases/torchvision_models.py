"""torchvision: models forward and trained, detection operators, datasets, feature extraction."""

import torch
import torchvision
from checks import check, train
from torchvision.models.feature_extraction import create_feature_extractor

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)

NAMES = [
    "resnet18",
    "mobilenet_v2",
    "mobilenet_v3_small",
    "shufflenet_v2_x0_5",
    "squeezenet1_0",
    "vgg11_bn",
    "densenet121",
    "efficientnet_b0",
    "regnet_y_400mf",
    "mnasnet0_5",
    "convnext_tiny",
    "googlenet",
]

for name in NAMES:
    with check(f"{name}: two steps") as c:
        torch.manual_seed(0)
        options = {"aux_logits": False, "init_weights": False} if name == "googlenet" else {}
        model = getattr(torchvision.models, name)(weights=None, num_classes=4, **options)
        x, y = torch.randn(4, 3, 64, 64), torch.tensor([0, 1, 2, 3])
        c.values = train(
            torch, model, lambda m, x=x, y=y: torch.nn.functional.cross_entropy(m(x), y), steps=2
        )
        c.tolerance = 1e-7

for name in ("vit_b_16", "swin_t"):
    with check(f"{name}: forward") as c:
        torch.manual_seed(0)
        model = getattr(torchvision.models, name)(weights=None, num_classes=4).eval()
        with torch.no_grad():
            c.values = model(torch.randn(1, 3, 224, 224))

with check("segmentation: fcn_resnet50 forward") as c:
    torch.manual_seed(0)
    model = torchvision.models.segmentation.fcn_resnet50(
        weights=None, weights_backbone=None, num_classes=3
    ).eval()
    with torch.no_grad():
        c.values = model(torch.randn(1, 3, 64, 64))["out"].mean((2, 3))

with check("feature extraction") as c:
    torch.manual_seed(0)
    model = torchvision.models.resnet18(weights=None).eval()
    features = create_feature_extractor(model, {"layer2": "middle", "avgpool": "end"})
    out = features(torch.ones(1, 3, 64, 64))
    c.values = {name: [list(value.shape), value.sum()] for name, value in out.items()}

with check("fake data through a loader") as c:
    data = torchvision.datasets.FakeData(8, (3, 8, 8), 3, torchvision.transforms.ToTensor())
    loader = torch.utils.data.DataLoader(data, batch_size=4)
    c.values = [[x.sum(), y] for x, y in loader]

with check("pictures of batches") as c:
    grid = torchvision.utils.make_grid(torch.linspace(0, 1, 4 * 3 * 5 * 5).reshape(4, 3, 5, 5), nrow=2)
    c.values = [list(grid.shape), grid.sum()]

boxes = torch.tensor([[0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30.0]])

with check("box functions") as c:
    ops = torchvision.ops
    c.values = [ops.box_iou(boxes, boxes), ops.box_area(boxes), ops.box_convert(boxes, "xyxy", "cxcywh")]

with check("nms") as c:
    c.values = torchvision.ops.nms(boxes, torch.tensor([0.9, 0.8, 0.7]), 0.5)

with check("roi_align and roi_pool") as c:
    torch.manual_seed(0)
    x = torch.randn(1, 2, 16, 16, requires_grad=True)
    regions = [torch.tensor([[0, 0, 8, 8], [2, 3, 14, 12.0]])]
    aligned = torchvision.ops.roi_align(x, regions, 3, sampling_ratio=2, aligned=True)
    pooled = torchvision.ops.roi_pool(x, regions, 3)
    (aligned.sum() + pooled.pow(2).sum()).backward()
    c.values = [aligned, pooled, x.grad]

with check("deform_conv2d") as c:
    torch.manual_seed(0)
    layer = torchvision.ops.DeformConv2d(2, 3, 3, padding=1)
    x, offset = torch.randn(1, 2, 6, 6, requires_grad=True), torch.randn(1, 18, 6, 6, requires_grad=True)
    out = layer(x, offset)
    out.pow(2).sum().backward()
    c.values = [out, x.grad, offset.grad, layer.weight.grad]
