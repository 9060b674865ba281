"""lightning: a Trainer with validation, a checkpoint and a callback, on the digits."""

import tempfile
import warnings

import lightning as L
import torch
from checks import check
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from sklearn.datasets import load_digits

warnings.simplefilter("ignore")
torch.set_num_threads(1)
images, labels = load_digits(return_X_y=True)
data = torch.utils.data.TensorDataset(torch.tensor(images, dtype=torch.float32) / 16, torch.tensor(labels))


class Classifier(L.LightningModule):
    def __init__(self, width=32):
        super().__init__()
        self.save_hyperparameters()
        self.net = torch.nn.Sequential(
            torch.nn.Linear(64, width), torch.nn.ReLU(), torch.nn.Linear(width, 10)
        )
        self.losses = []

    def training_step(self, batch, index):
        loss = torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        self.losses.append(loss.item())
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, index):
        self.log("val_accuracy", (self.net(batch[0]).argmax(1) == batch[1]).float().mean())

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), 0.01)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)}


with check("two epochs, a checkpoint") as c:
    L.seed_everything(0, verbose=False)
    model = Classifier()
    first, second = torch.utils.data.random_split(data, [1500, 297])
    loaders = [torch.utils.data.DataLoader(part, 64, shuffle=part is first) for part in (first, second)]
    with tempfile.TemporaryDirectory() as folder:
        saver = ModelCheckpoint(folder, monitor="val_accuracy", mode="max")
        trainer = L.Trainer(
            max_epochs=2,
            accelerator="cpu",
            logger=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            callbacks=[saver, EarlyStopping("val_accuracy", mode="max")],
            default_root_dir=folder,
            gradient_clip_val=1.0,
        )
        trainer.fit(model, *loaders)
        again = Classifier.load_from_checkpoint(saver.best_model_path)
        accuracy = trainer.validate(again, loaders[1], verbose=False)[0]["val_accuracy"]
    c.values = [model.losses, accuracy]
    c.tolerance = 1e-2
