# /// specimen
# cause = "collective_stuck"
# also = ["lock_deadlock"]
# where = "WAITS FOR THE LOCK"
# framework = "python"
# ends = "hangs"
# seconds = 60
# near = "crew_comes_late_torch"
# needs = ["two-processes"]
# workers = 2
# ///
"""Two JAX processes sum their gradients over all devices, each watched by itself. After 200 steps process 1 waits for a lock that its
own logging thread never gives back; process 0 waits in the sum of the next step, where its stack shows nothing but JAX."""

import os
import sys
import threading
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}", size, rank)
mesh = Mesh(np.array(jax.devices()), ("data",))
by_rows = NamedSharding(mesh, PartitionSpec("data"))
copied = NamedSharding(mesh, PartitionSpec())
written = threading.Lock()


def loss_of(weights, features):
    return jnp.mean((features @ weights - features.sum(axis=1, keepdims=True)) ** 2)


@jax.jit
def train_step(weights, features):
    loss, gradient = jax.value_and_grad(loss_of)(weights, features)
    return jax.lax.with_sharding_constraint(weights - 0.01 * gradient, copied), loss


def log(step: int) -> None:
    if rank == 1 and step == 200:
        threading.Thread(target=written.acquire).start()
        time.sleep(0.2)
        mark()
    with written:  # WAITS FOR THE LOCK
        pass


weights = jax.device_put(np.zeros((8, 1), "float32"), copied)
rng = np.random.default_rng(rank)
for step in range(10**6):
    local = rng.normal(size=(16, 8)).astype("float32")
    features = jax.make_array_from_process_local_data(by_rows, local)
    weights, loss = train_step(weights, features)
    value = float(loss)
    time.sleep(0.01)
    log(step)
