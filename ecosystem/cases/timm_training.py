"""timm beside its models: optimizers, schedulers, averages, mixing, augmentation, losses, checkpoints."""

import random
import tempfile

import numpy as np
import timm
import torch
from checks import check, train
from PIL import Image
from timm import loss as losses
from timm.data import Mixup, create_transform
from timm.data.random_erasing import RandomErasing
from timm.optim import create_optimizer_v2
from timm.scheduler import create_scheduler_v2
from timm.utils import CheckpointSaver, ModelEmaV2, ModelEmaV3, accuracy, adaptive_clip_grad

torch.set_num_threads(1)
OPTIMIZERS = """
    sgd nesterov momentum adam adamw nadam nadamw radam adamax adabelief adafactor adafactorbv adopt
    adadelta adagrad adahessian adamp sgdp lamb lambc lars larc lion clion cadamw laprop madgrad mars
    rmsprop rmsproptf sgdw muon
"""
SCHEDULERS = "cosine tanh step multistep plateau poly"


def seed():
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)


def small():
    seed()
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), timm.layers.ClassifierHead(4, 3)
    ).double()


images = torch.linspace(-1, 1, 4 * 3 * 8 * 8, dtype=torch.float64).reshape(4, 3, 8, 8).sin()
labels = torch.tensor([0, 1, 2, 1])
picture = Image.fromarray(np.arange(40 * 36 * 3, dtype=np.uint8).reshape(40, 36, 3))


def loss_of(model):
    return torch.nn.functional.cross_entropy(model(images), labels)


for name in OPTIMIZERS.split():
    with check(f"optimizer {name}") as c:
        model = small()
        optimizer = create_optimizer_v2(model, opt=name, lr=0.01, weight_decay=0.02)
        c.values = []
        for _ in range(4):
            optimizer.zero_grad()
            loss = loss_of(model)
            loss.backward(create_graph=name == "adahessian")
            optimizer.step()
            c.values.append(loss.item())
        c.tolerance = 1e-7

for name in SCHEDULERS.split():
    with check(f"scheduler {name}") as c:
        optimizer = create_optimizer_v2(small(), opt="sgd", lr=0.1)
        scheduler, epochs = create_scheduler_v2(
            optimizer,
            sched=name,
            num_epochs=12,
            decay_epochs=3,
            decay_milestones=(4, 8),
            warmup_epochs=2,
            patience_epochs=2,
            noise=(0.5, 0.9),
        )
        rates = []
        for epoch in range(epochs):
            scheduler.step(epoch + 1, metric=1.0)
            rates.append(optimizer.param_groups[0]["lr"])
        c.values = rates
        c.tolerance = 1e-9

with check("averaged weights") as c:
    model = small()
    averages = ModelEmaV2(model, decay=0.9), ModelEmaV3(model, decay=0.9, use_warmup=True)
    optimizer = torch.optim.SGD(model.parameters(), 0.5)
    for step in range(3):
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()
        averages[0].update(model)
        averages[1].update(model, step=step)
    c.values = [average.module.state_dict() for average in averages]

for mode in ("batch", "pair", "elem"):
    with check(f"mixup and cutmix of a {mode}") as c:
        seed()
        mix = Mixup(mixup_alpha=0.8, cutmix_alpha=1.0, mode=mode, label_smoothing=0.1, num_classes=3)
        c.values = [mix(images.float().clone(), labels) for _ in range(3)]
        c.tolerance = 1e-6

with check("random erasing") as c:
    seed()
    erase = RandomErasing(probability=1.0, mode="pixel", device="cpu")
    c.values = erase(images.float().clone())
    c.tolerance = 1e-5

for policy in ("rand-m9-mstd0.5-inc1", "original", "augmix-m3-w2", "3a"):
    with check(f"augmentation {policy}") as c:
        seed()
        transform = create_transform(
            24, is_training=True, auto_augment=policy, re_prob=0.5, interpolation="bicubic"
        )
        c.values = [transform(picture) for _ in range(3)]
        c.tolerance = 1e-5

with check("losses") as c:
    seed()
    scores = torch.randn(6, 4, dtype=torch.float64)
    targets = torch.arange(6) % 4
    soft = torch.nn.functional.one_hot(targets, 4).double()
    c.values = [
        losses.LabelSmoothingCrossEntropy(0.1)(scores, targets),
        losses.SoftTargetCrossEntropy()(scores, soft),
        losses.BinaryCrossEntropy(0.1)(scores, targets),
        losses.JsdCrossEntropy(3)(scores, targets[:2]),
        losses.AsymmetricLossMultiLabel()(scores, soft),
        losses.AsymmetricLossSingleLabel()(scores, targets),
        accuracy(scores, targets, topk=(1, 2)),
    ]

with check("features, groups of layers, clipping") as c:
    seed()
    model = timm.create_model("resnet10t", features_only=True, out_indices=(1, 3)).double()
    x = torch.randn(1, 3, 64, 64, dtype=torch.float64)
    outs = model(x)
    model = timm.create_model("vit_tiny_patch16_224", img_size=32, num_classes=3, drop_path_rate=0.2).double()
    groups = timm.optim.param_groups_layer_decay(model, 0.05, layer_decay=0.7)
    seed()
    values = train(torch, model, lambda m: m(x[..., :32, :32]).square().sum(), steps=2)
    adaptive_clip_grad(model.parameters(), 0.01)
    norm = sum(p.grad.square().sum() for p in model.parameters() if p.grad is not None)
    c.values = [[o.sum() for o in outs], [g["lr_scale"] for g in groups], values, norm]
    c.tolerance = 1e-6

with check("a checkpoint, written and read") as c, tempfile.TemporaryDirectory() as folder:
    model = small()
    optimizer = create_optimizer_v2(model, opt="adamw", lr=0.01)
    saver = CheckpointSaver(model, optimizer, checkpoint_dir=folder, recovery_dir=folder)
    saver.save_checkpoint(0, metric=0.5)
    again = small()
    with torch.no_grad():
        again[0].weight.zero_()
    timm.models.load_checkpoint(again, f"{folder}/last.pth.tar")
    c.values = [loss_of(model), loss_of(again)]
