"""A Keras model on PyTorch whose gradients all workers average in each step, as several of the specimens train it."""

import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
import torch
import torch.distributed as dist

torch.set_num_threads(1)


class Averaged(keras.Sequential):
    def train_step(self, data):
        features, targets = data
        self.zero_grad()
        loss = self.compute_loss(x=features, y=targets, y_pred=self(features, training=True))
        loss.backward()
        gradients = [weight.value.grad for weight in self.trainable_weights]
        for gradient in gradients:
            dist.all_reduce(gradient)
            gradient /= dist.get_world_size()
        with torch.no_grad():
            self.optimizer.apply(gradients, self.trainable_weights)
        self._loss_tracker.update_state(loss.detach())
        return {"loss": self._loss_tracker.result()}


def join() -> int:
    """As torchrun tells it; the number of this worker."""
    rank = int(os.environ["RANK"])
    dist.init_process_group("gloo", rank=rank, world_size=int(os.environ["WORLD_SIZE"]))
    return rank


def model() -> Averaged:
    made = Averaged([keras.layers.Input((10,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)])
    made.compile("sgd", "mse")
    return made


def batch(number: int) -> tuple[np.ndarray, np.ndarray]:
    features = np.random.default_rng(number).normal(size=(16, 10)).astype("float32")
    return features, features.sum(axis=1, keepdims=True)
