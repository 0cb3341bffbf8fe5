import os
import tempfile

import keras
import numpy as np

from config import Config
from network import build


def synthesize(folder, cfg):
    rng = np.random.default_rng(42)
    for i in range(cfg.batch_size * cfg.steps):
        chip = rng.uniform(0, 0.2, (cfg.image_size, cfg.image_size, 3)).astype("float16")
        x, y = rng.integers(0, cfg.image_size - 40, 2)
        chip[y:y + 12, x:x + 40] = 0.9
        target = np.array([x, y, 40, 12, 1, 0], "float32") / cfg.image_size
        np.savez_compressed(os.path.join(folder, f"chip_{i:04d}.npz"), chip=chip, target=target)


class ShipChips(keras.utils.PyDataset):
    def __init__(self, folder, batch_size, **kwargs):
        super().__init__(**kwargs)
        self.files = sorted(os.path.join(folder, f) for f in os.listdir(folder))
        self.batch_size = batch_size

    def __len__(self):
        return len(self.files) // self.batch_size

    def __getitem__(self, idx):
        part = self.files[idx * self.batch_size:(idx + 1) * self.batch_size]
        loaded = [np.load(f) for f in part]
        return (np.stack([z["chip"] for z in loaded]).astype("float32"),
                np.stack([z["target"] for z in loaded]))


if __name__ == "__main__":
    cfg = Config()
    folder = tempfile.mkdtemp(prefix="ships_")
    synthesize(folder, cfg)
    model = build(cfg)
    model.compile(optimizer=keras.optimizers.Adam(cfg.learning_rate), loss="mse")
    model.fit(ShipChips(folder, cfg.batch_size), epochs=2)
