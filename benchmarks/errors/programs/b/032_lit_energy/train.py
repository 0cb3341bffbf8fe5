import os
import tempfile

import lightning as L
import pandas as pd
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def write_csv(path, hours=480):
    g = torch.Generator().manual_seed(0)
    t = torch.arange(hours, dtype=torch.float32)
    load = 3 + torch.sin(t / 24 * 6.283) + 0.1 * torch.randn(hours, generator=g)
    pd.DataFrame({"hour": t.numpy(), "load": load.numpy()}).to_csv(path, index=False)


class EnergyData(L.LightningDataModule):
    def __init__(self, csv, lookback=24, batch_size=32):
        super().__init__()
        self.csv, self.lookback, self.batch_size = csv, lookback, batch_size

    def setup(self, stage=None):
        series = torch.tensor(pd.read_csv(self.csv)["load"].values, dtype=torch.float32)
        windows = series.unfold(0, self.lookback + 1, 1)
        x, y = windows[:, :-1], windows[:, -1:]
        cut = int(0.8 * len(x))
        self.train_set, self.val_set = TensorDataset(x[:cut], y[:cut]), TensorDataset(x[cut:], y[cut:])

    def train_dataloader(self):
        return DataLoader(self.train_set, batch_size=self.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val_set, batch_size=self.batch_size)


class Forecaster(L.LightningModule):
    def __init__(self, lookback=24, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(lookback, 32), nn.ReLU(), nn.Linear(32, 1))

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.mse_loss(self.net(x), y)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("valid_loss", nn.functional.mse_loss(self.net(x), y), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


def main():
    L.seed_everything(1)
    with tempfile.TemporaryDirectory() as work:
        csv = os.path.join(work, "load.csv")
        write_csv(csv)
        stopper = EarlyStopping(monitor="val_loss", patience=3, mode="min")
        keeper = ModelCheckpoint(dirpath=work, filename="best-{epoch}")
        trainer = L.Trainer(
            max_epochs=5, accelerator="cpu", logger=False, callbacks=[stopper, keeper],
            enable_progress_bar=False, default_root_dir=work,
        )
        trainer.fit(Forecaster(), datamodule=EnergyData(csv))
        print("best:", keeper.best_model_path)


if __name__ == "__main__":
    main()
