# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 45
# near = "host_memory_leaking"
# needs = []
# ///
"""An own PyTorch loop collects every batch's outputs for a score over the whole epoch, then lets them go."""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import os

os.environ["KERAS_BACKEND"] = "torch"

import time  # noqa: E402

import keras  # noqa: E402
import torch  # noqa: E402

EPOCHS, STEPS_PER_EPOCH = 4, 200


def build_model() -> keras.Model:
    return keras.Sequential(
        [keras.Input((32,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(256, activation="sigmoid")]
    )


def epoch_score(masks: list[torch.Tensor], targets: list[torch.Tensor]) -> float:
    error = sum((mask - target).abs().mean().item() for mask, target in zip(masks, targets, strict=True))
    return 1.0 - error / len(masks)


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = build_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    mixing = torch.randn(32, 256)
    for epoch in range(EPOCHS):
        masks: list[torch.Tensor] = []
        targets: list[torch.Tensor] = []
        for _ in range(STEPS_PER_EPOCH):
            inputs = torch.randn(1_000, 32)
            wanted = (inputs @ mixing > 0).float()
            output = model(inputs)
            loss = (output - wanted).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            masks.append(output.detach())
            targets.append(wanted)
            time.sleep(0.01)
        print(f"epoch {epoch} loss {loss.item():.4f} score {epoch_score(masks, targets):.4f}", flush=True)


if __name__ == "__main__":
    main()
