"""pytorch-ignite: a trainer with metrics, handlers and a checkpoint."""

import tempfile

import torch
from checks import check
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import Checkpoint, DiskSaver, EarlyStopping
from ignite.metrics import Accuracy, Loss, MeanSquaredError, Precision, RunningAverage
from problem import problem

with check("trainer, evaluator, handlers") as c:
    model, optimizer, loader = problem()
    trainer = create_supervised_trainer(model, optimizer, torch.nn.functional.mse_loss)
    metrics = {"mse": MeanSquaredError(), "loss": Loss(torch.nn.functional.mse_loss)}
    evaluator = create_supervised_evaluator(model, metrics)
    RunningAverage(output_transform=float).attach(trainer, "running")
    seen = []
    evaluator.add_event_handler(
        Events.COMPLETED, EarlyStopping(1, lambda engine: -engine.state.metrics["mse"], trainer)
    )

    @trainer.on(Events.EPOCH_COMPLETED)
    def evaluate(engine):
        evaluator.run(loader)
        seen.append([engine.state.metrics["running"], dict(evaluator.state.metrics)])

    with tempfile.TemporaryDirectory() as folder:
        saver = Checkpoint({"model": model}, DiskSaver(folder, create_dir=False), n_saved=1)
        trainer.add_event_handler(Events.EPOCH_COMPLETED, saver)
        trainer.run(loader, max_epochs=3)
    c.values = seen

with check("metrics of classes") as c:
    torch.manual_seed(0)
    scores, labels = torch.rand(20, 3), torch.arange(20) % 3
    accuracy, precision = Accuracy(), Precision(average=True)
    for metric in (accuracy, precision):
        metric.update((scores, labels))
    c.values = [accuracy.compute(), precision.compute()]
