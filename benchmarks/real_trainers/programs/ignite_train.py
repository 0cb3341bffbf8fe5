"""A classifier of images of shapes, trained by an Engine of PyTorch-Ignite."""

import argparse
import csv
import glob

import numpy as np
import torch
from ignite.engine import Events, create_supervised_trainer
from ignite.metrics import RunningAverage
from PIL import Image

parser = argparse.ArgumentParser()
parser.add_argument("--images", default="data/images/*.jpg")
parser.add_argument("--labels", default="train.csv")
parser.add_argument("--learning-rate", type=float, default=1e-3)
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--repeat", type=int, default=4)
parser.add_argument("--num-workers", type=int, default=0)


class Shapes(torch.utils.data.Dataset):
    def __init__(self, pattern, labels, repeat):
        classes = {path: int(number) for path, number in csv.reader(open(labels))}
        self.rows = [(path, classes[path]) for path in sorted(glob.glob(pattern))] * repeat

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        path, label = self.rows[index]
        image = Image.open(path).convert("RGB").resize((32, 32))
        return torch.from_numpy(np.asarray(image, "float32").transpose(2, 0, 1) / 255), label


if __name__ == "__main__":
    options = parser.parse_args()
    dataset = Shapes(options.images, options.labels, options.repeat)
    loader = torch.utils.data.DataLoader(dataset, batch_size=4, num_workers=options.num_workers)
    network = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, 2), torch.nn.ReLU(), torch.nn.Conv2d(16, 32, 3, 2), torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(32, 6),
    )  # fmt: skip
    optimizer = torch.optim.SGD(network.parameters(), lr=options.learning_rate, momentum=0.9)
    trainer = create_supervised_trainer(network, optimizer, torch.nn.CrossEntropyLoss())
    RunningAverage(output_transform=float).attach(trainer, "loss")

    @trainer.on(Events.ITERATION_COMPLETED(every=5))
    def log(engine):
        state = engine.state
        print(f"Epoch[{state.epoch}] Iteration[{state.iteration}/{len(loader)}] Loss: {state.metrics['loss']:.4f}")

    trainer.run(loader, max_epochs=options.epochs)
