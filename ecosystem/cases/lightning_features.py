"""lightning: precisions, loggers, callbacks, resuming, manual optimization, data modules, Fabric."""

import tempfile
import warnings
from pathlib import Path

import lightning as L
import torch
from checks import check
from lightning.pytorch import callbacks
from lightning.pytorch.loggers import CSVLogger

warnings.simplefilter("ignore")
torch.set_num_threads(1)
x = torch.linspace(-2, 2, 64 * 6).reshape(64, 6).sin()
y = (x.sum(1) > 0).long() + (x[:, 0] > 0.5).long()


class Data(L.LightningDataModule):
    def setup(self, stage):
        self.parts = (
            torch.utils.data.TensorDataset(x[:48], y[:48]),
            torch.utils.data.TensorDataset(x[48:], y[48:]),
        )

    def train_dataloader(self):
        return torch.utils.data.DataLoader(self.parts[0], batch_size=8, shuffle=True)

    def val_dataloader(self):
        return torch.utils.data.DataLoader(self.parts[1], batch_size=8)

    test_dataloader = predict_dataloader = val_dataloader


class Model(L.LightningModule):
    def __init__(self, rate=0.05):
        super().__init__()
        self.save_hyperparameters()
        self.net = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))
        self.losses = []

    def forward(self, x):
        return self.net(x)

    def loss_of(self, batch):
        inputs, targets = batch
        return torch.nn.functional.cross_entropy(self(inputs.to(self.net[0].weight.dtype)), targets)

    def training_step(self, batch, index):
        loss = self.loss_of(batch)
        self.losses.append(loss.item())
        self.log("loss", loss, prog_bar=True, on_step=True, on_epoch=True)
        return loss

    def validation_step(self, batch, index):
        self.log("val", self.loss_of(batch))

    test_step = validation_step

    def predict_step(self, batch, index):
        return self(batch[0]).argmax(1)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), self.hparams.rate, momentum=0.9)


class Manual(Model):
    automatic_optimization = False

    def training_step(self, batch, index):
        first, second = self.optimizers()
        for optimizer in (first, second):
            with optimizer.toggle_model():
                loss = self.loss_of(batch)
                self.manual_backward(loss)
                self.clip_gradients(optimizer, gradient_clip_val=0.5)
                optimizer.step()
                optimizer.zero_grad()
            self.losses.append(loss.item())
        self.lr_schedulers()[0].step()

    def configure_optimizers(self):
        optimizers = [
            torch.optim.SGD(self.net[0].parameters(), 0.1),
            torch.optim.Adam(self.net[2].parameters()),
        ]
        return optimizers, [torch.optim.lr_scheduler.ExponentialLR(o, 0.9) for o in optimizers]


def fit(model=None, data=None, ckpt=None, **options):
    L.seed_everything(0, verbose=False)
    model = model or Model()
    quiet = {"accelerator": "cpu", "enable_progress_bar": False, "enable_model_summary": False}
    trainer = L.Trainer(
        **{"max_epochs": 2, "logger": False, "enable_checkpointing": False, **quiet, **options}
    )
    trainer.fit(model, datamodule=data or Data(), ckpt_path=ckpt)
    return trainer, model


for precision in ("32-true", "64-true", "bf16-mixed", "bf16-true", "16-true"):
    with check(f"precision {precision}") as c:
        _, model = fit(precision=precision)
        c.values = [model.losses, str(model.net[0].weight.dtype)]
        c.tolerance = {"64-true": 1e-7, "32-true": 1e-4}.get(precision, 3e-2)

with check("a CSV logger, rates, a summary, a progress bar") as c, tempfile.TemporaryDirectory() as folder:
    watch = callbacks.LearningRateMonitor("step")
    fit(
        logger=CSVLogger(folder, "run"),
        callbacks=[watch, callbacks.ModelSummary(2)],
        enable_model_summary=True,
        enable_progress_bar=True,
        log_every_n_steps=1,
    )
    lines = next(Path(folder).rglob("metrics.csv")).read_text().splitlines()
    c.values = [lines[0], len(lines), [[float(v) for v in text.split(",") if v] for text in lines[1:]]]
    c.tolerance = 1e-4

with check("stopped and resumed equals run through") as c, tempfile.TemporaryDirectory() as folder:
    saver = callbacks.ModelCheckpoint(folder, save_last=True, every_n_epochs=1, save_top_k=-1)
    fit(enable_checkpointing=True, callbacks=[saver], max_epochs=1)
    trainer, model = fit(ckpt=saver.last_model_path, max_epochs=3)
    loaded = Model.load_from_checkpoint(saver.last_model_path, rate=0.5)
    c.values = [
        model.losses,
        trainer.global_step,
        trainer.current_epoch,
        loaded.hparams.rate,
        sorted(Path(name).name for name in map(str, Path(folder).iterdir())),
    ]
    c.tolerance = 1e-4

CALLBACKS = {
    "accumulated gradients": lambda: callbacks.GradientAccumulationScheduler({0: 2, 1: 3}),
    "averaged weights": lambda: callbacks.StochasticWeightAveraging(0.02, swa_epoch_start=1),
    "a timer": lambda: callbacks.Timer("00:00:10:00"),
    "frozen layers": lambda: Unfreeze(),
    "early stopping": lambda: callbacks.EarlyStopping("val", patience=1, min_delta=10.0),
    "a function's": lambda: callbacks.LambdaCallback(on_train_epoch_end=lambda t, m: m.losses.append(-1.0)),
}


class Unfreeze(callbacks.BaseFinetuning):
    def freeze_before_training(self, module):
        self.freeze(module.net[0])

    def finetune_function(self, module, epoch, optimizer):
        if epoch == 1:
            self.unfreeze_and_add_param_group(module.net[0], optimizer, 0.01)


for name, make in CALLBACKS.items():
    with check(f"callback: {name}") as c:
        trainer, model = fit(callbacks=[make()], max_epochs=3)
        c.values = [model.losses, trainer.current_epoch, model.net[0].weight]
        c.tolerance = 1e-4

with check("manual optimization") as c:
    _, model = fit(Manual())
    c.values = [model.losses, [s.get_last_lr() for s in model.lr_schedulers()]]
    c.tolerance = 1e-4

with check("test, predict, limits") as c:
    trainer, model = fit(
        limit_train_batches=3, limit_val_batches=1, gradient_clip_val=0.1, gradient_clip_algorithm="value"
    )
    tested = trainer.test(model, datamodule=Data(), verbose=False)
    predicted = trainer.predict(model, datamodule=Data())
    c.values = [model.losses, tested, predicted]
    c.tolerance = 1e-4

for name, options in {
    "one batch": {"overfit_batches": 1},
    "a fast run": {"fast_dev_run": True},
    "anomaly detection": {"detect_anomaly": True},
    "a profiler": {"profiler": "simple"},
    "checks in between": {"val_check_interval": 0.5, "accumulate_grad_batches": 2},
}.items():
    with check(f"Trainer, {name}") as c:
        trainer, model = fit(**options)
        c.values = [model.losses, trainer.global_step, dict(trainer.callback_metrics)]
        c.tolerance = 1e-4

with check("Fabric") as c, tempfile.TemporaryDirectory() as folder:
    fabric = L.Fabric(accelerator="cpu", precision="bf16-mixed")
    fabric.launch()
    fabric.seed_everything(0, verbose=False)
    model = torch.nn.Linear(6, 3)
    model, optimizer = fabric.setup(model, torch.optim.Adam(model.parameters(), 0.05))
    loader = fabric.setup_dataloaders(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), 16))
    losses = []
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        fabric.backward(loss)
        fabric.clip_gradients(model, optimizer, max_norm=1.0)
        optimizer.step()
        losses.append(loss.item())
    fabric.save(f"{folder}/state.ckpt", {"model": model, "optimizer": optimizer, "step": 4})
    state = {"model": model, "optimizer": optimizer, "step": 0}
    fabric.load(f"{folder}/state.ckpt", state)
    c.values = [losses, state["step"], fabric.all_reduce(torch.tensor(2.0))]
    c.tolerance = 3e-2
