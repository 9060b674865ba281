"""pytorch-ignite: handlers of rates, averages, states and limits, events, and metrics of images and text."""

import tempfile

import torch
from checks import check
from ignite import handlers, metrics
from ignite.engine import Engine, Events, create_supervised_trainer
from ignite.utils import manual_seed
from problem import problem

torch.set_num_threads(1)
loss_of = torch.nn.functional.mse_loss


def trained(attach, epochs=3, **options):
    model, optimizer, loader = problem()
    trainer = create_supervised_trainer(model, optimizer, loss_of, **options)
    seen = []
    attach(trainer, model, optimizer, seen)
    trainer.run(loader, max_epochs=epochs)
    return [seen, [p.detach() for p in model.parameters()], trainer.state.iteration]


def rates(make):
    def attach(trainer, model, optimizer, seen):
        trainer.add_event_handler(Events.ITERATION_STARTED, make(optimizer))
        trainer.add_event_handler(
            Events.ITERATION_COMPLETED, lambda _: seen.append(optimizer.param_groups[0]["lr"])
        )

    return attach


def cosine(optimizer):
    return handlers.CosineAnnealingScheduler(optimizer, "lr", 0.01, 0.001, 4)


SCHEDULERS = {
    "linear": lambda o: handlers.LinearCyclicalScheduler(o, "lr", 0.01, 0.1, 6),
    "cosine": cosine,
    "piecewise": lambda o: handlers.PiecewiseLinear(o, "lr", [(2, 0.1), (6, 0.01)]),
    "torch's": lambda o: handlers.LRScheduler(torch.optim.lr_scheduler.StepLR(o, 3, 0.5)),
    "warm-up": lambda o: handlers.create_lr_scheduler_with_warmup(cosine(o), 0.0, 3, 0.01),
    "one after another": lambda o: handlers.ConcatScheduler([cosine(o), cosine(o)], [5]),
}

for name, make in SCHEDULERS.items():
    with check(f"rates: {name}") as c:
        c.values = trained(rates(make))

with check("averaged weights") as c:

    def attach(trainer, model, optimizer, seen):
        average = handlers.EMAHandler(model, momentum=0.1)
        average.attach(trainer)
        trainer.add_event_handler(
            Events.EPOCH_COMPLETED,
            lambda _: seen.append([p.detach().clone() for p in average.ema_model.parameters()]),
        )

    c.values = trained(attach)

with check("accumulated steps, limits, events") as c:

    def attach(trainer, model, optimizer, seen):
        trainer.add_event_handler(Events.ITERATION_COMPLETED, handlers.TerminateOnNan())
        trainer.add_event_handler(Events.ITERATION_COMPLETED(every=5), lambda e: seen.append(e.state.output))
        trainer.add_event_handler(Events.EPOCH_COMPLETED(once=2), lambda e: seen.append(e.state.epoch))
        timer = handlers.BasicTimeProfiler()
        timer.attach(trainer)

    c.values = trained(attach, gradient_accumulation_steps=2)

with check("a state written, and gone on from") as c, tempfile.TemporaryDirectory() as folder:
    model, optimizer, loader = problem()
    trainer = create_supervised_trainer(model, optimizer, loss_of)
    parts = {"model": model, "optimizer": optimizer, "trainer": trainer}
    saver = handlers.Checkpoint(parts, handlers.DiskSaver(folder, require_empty=False), n_saved=2)
    trainer.add_event_handler(Events.EPOCH_COMPLETED, saver)
    trainer.run(loader, max_epochs=2)
    again, second, loader = problem()
    trainer = create_supervised_trainer(again, second, loss_of)
    path = saver.last_checkpoint
    handlers.Checkpoint.load_objects(
        {"model": again, "optimizer": second, "trainer": trainer}, torch.load(path)
    )
    manual_seed(3)
    trainer.run(loader, max_epochs=4)
    c.values = [trainer.state.iteration, [p.detach() for p in again.parameters()]]

torch.manual_seed(0)
scores, labels = torch.rand(24, 4).softmax(1), torch.arange(24) % 4
values, wanted = torch.rand(24), torch.rand(24)
images, others = torch.rand(2, 3, 32, 32), torch.rand(2, 3, 32, 32)
words = [["a", "cat", "sat", "down", "here"]], [[["a", "cat", "sat", "down", "there"]]]
confusion = metrics.ConfusionMatrix(4)
METRICS = {
    "ConfusionMatrix": (metrics.ConfusionMatrix(4, average="recall"), scores, labels),
    "IoU": (metrics.IoU(confusion), scores, labels),
    "Fbeta": (metrics.Fbeta(2.0), scores, labels),
    "TopKCategoricalAccuracy": (metrics.TopKCategoricalAccuracy(2), scores, labels),
    "Recall": (metrics.Recall(average="weighted"), scores, labels),
    "CohenKappa": (metrics.CohenKappa(), labels, labels.flip(0)),
    "Entropy": (metrics.Entropy(), scores, labels),
    "MeanAbsoluteError": (metrics.MeanAbsoluteError(), values, wanted),
    "RootMeanSquaredError": (metrics.RootMeanSquaredError(), values, wanted),
    "PearsonCorrelation": (metrics.regression.PearsonCorrelation(), values, wanted),
    "R2Score": (metrics.regression.R2Score(), values, wanted),
    "MedianAbsoluteError": (metrics.regression.MedianAbsoluteError(), values, wanted),
    "ROC_AUC": (metrics.ROC_AUC(), values, (wanted > 0.5).long()),
    "PSNR": (metrics.PSNR(1.0), images, others),
    "SSIM": (metrics.SSIM(1.0), images, others),
    "Bleu": (metrics.Bleu(ngram=2), *words),
    "Rouge": (metrics.Rouge(variants=["L", 2]), *words),
}

for name, (metric, got, want) in METRICS.items():
    with check(name) as c:
        engine = Engine(lambda engine, batch: batch)
        metric.attach(engine, "value")
        c.values = engine.run([(got, want)] * 2).metrics["value"]
        c.tolerance = 1e-6
