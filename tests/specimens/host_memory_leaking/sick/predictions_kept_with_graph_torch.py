# /// specimen
# cause = "host_memory_leaking"
# also = []
# where = "KEEPS THEM HERE"
# framework = "keras-torch"
# ends = "exits"
# seconds = 60
# near = "epoch_outputs_collected_then_cleared"
# needs = []
# ///
"""An own PyTorch loop keeps each step's loss tensor, not its number, for a running mean of regularisation.

Every kept tensor holds its whole graph with the activations of that step.
"""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import os

os.environ["KERAS_BACKEND"] = "torch"

import keras  # noqa: E402
import torch  # noqa: E402
from onset import mark  # noqa: E402


def build_model() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            keras.layers.Conv2D(4, 3, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(1),
        ]
    )


def smoothness_penalty(model: keras.Model, images: torch.Tensor) -> torch.Tensor:
    shifted = model(torch.roll(images, 1, dims=1))
    return (model(images) - shifted).square().mean()


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = build_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    penalties: list[torch.Tensor] = []
    for step in range(7_000):
        images = torch.rand(8, 32, 32, 3)
        loss = (model(images) - images.mean(dim=(1, 2, 3), keepdim=False)[:, None]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mark()
        penalties.append(smoothness_penalty(model, images))  # KEEPS THEM HERE
        if step % 100 == 0:
            mean = sum(float(value) for value in penalties) / len(penalties)
            print(f"step {step} loss {loss.item():.5f} penalty {mean:.2e}", flush=True)


if __name__ == "__main__":
    main()
