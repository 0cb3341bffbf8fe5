from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp


@dataclass
class Settings:
    epochs: int = 3
    batch_size: int = 32
    learning_rate: float = 2e-3
    workdir: Path = field(default_factory=lambda: Path(mkdtemp(prefix="churn_")))
    checkpoint_name: str = "best_weights.h5"
    monitor: str = "val_loss"

    @property
    def checkpoint(self):
        return str(self.workdir / self.checkpoint_name)
