# /// specimen
# cause = "collective_stuck"
# also = []
# where = "WAITS FOR THE SUM"
# framework = "python"
# ends = "crashes"
# seconds = 60
# near = "two_processes_complete_torch"
# needs = ["two-processes"]
# ///
"""Two JAX processes sum their gradients over all devices. Only process 1 evaluates after step 200, and its evaluation does
not come back; process 0 waits for the sum of the next step."""

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from household import die_with_parent
from onset import mark

index = int(os.environ.get("PROCESS_INDEX", "0"))
if index == 0:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        os.environ["COORDINATOR"] = f"127.0.0.1:{listener.getsockname()[1]}"
    subprocess.Popen([sys.executable, __file__], env=os.environ | {"PROCESS_INDEX": "1"})
else:
    die_with_parent()
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(os.environ["COORDINATOR"], num_processes=2, process_id=index)
mesh = Mesh(np.array(jax.devices()), ("data",))
by_rows = NamedSharding(mesh, PartitionSpec("data"))
copied = NamedSharding(mesh, PartitionSpec())


def loss_of(weights, features):
    return jnp.mean((features @ weights - features.sum(axis=1, keepdims=True)) ** 2)


@jax.jit
def train_step(weights, features):
    loss, gradient = jax.value_and_grad(loss_of)(weights, features)
    return jax.lax.with_sharding_constraint(weights - 0.01 * gradient, copied), loss


def evaluate() -> None:
    mark()
    threading.Event().wait()  # for the results of a scorer that does not run


weights = jax.device_put(np.zeros((8, 1), "float32"), copied)
rng = np.random.default_rng(index)
for step in range(10**6):
    local = rng.normal(size=(16, 8)).astype("float32")
    features = jax.make_array_from_process_local_data(by_rows, local)
    weights, loss = train_step(weights, features)  # WAITS FOR THE SUM
    value = float(loss)
    time.sleep(0.01)
    if index == 1 and step == 200:
        evaluate()
    if index == 0 and step % 50 == 0:
        print(f"step {step} loss {value:.4f}", flush=True)
