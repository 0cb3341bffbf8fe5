# /// specimen
# cause = "fork_deadlock"
# also = ["lock_deadlock"]
# where = "WAITS FOR AN INHERITED LOCK"
# framework = "python"
# ends = "hangs"
# seconds = 30
# near = "fork_pool_before_tensorflow"
# needs = ["two-processes"]
# ///
"""A thread writes the statistics file under a lock while the main thread forks worker processes. A child inherits the
lock in its locked state, without the thread that would release it, and waits for ever; the parent waits for the child."""

import multiprocessing
import random
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from household import children_die_with_me
from onset import mark

children_die_with_me()

statistics_lock = threading.Lock()
statistics: list[float] = []


def write_statistics() -> None:
    while True:
        with statistics_lock:
            time.sleep(0.2)  # a slow disk
            statistics.clear()
        time.sleep(0.01)


def augment(sample: list[float], results: multiprocessing.Queue) -> None:
    shifted = [value + random.gauss(0, 0.1) for value in sample]
    with statistics_lock:  # WAITS FOR AN INHERITED LOCK
        statistics.append(sum(shifted))
    results.put(shifted)


def train_on(batch: list[list[float]], weight: float) -> float:
    for sample in batch:
        weight -= 0.01 * (weight * sum(sample) - 1.0)
    return weight


weight = 0.0
for step in range(400):  # warm up on the plain samples
    weight = train_on([[random.random() for _ in range(8)] for _ in range(16)], weight)
    time.sleep(0.01)
threading.Thread(target=write_statistics, name="statistics", daemon=True).start()
context = multiprocessing.get_context("fork")
results = context.Queue()
for step in range(1000):
    time.sleep(0.1)
    mark()
    workers = [context.Process(target=augment, args=([random.random()] * 8, results), daemon=True) for _ in range(2)]
    for worker in workers:
        worker.start()
    weight = train_on([results.get() for _ in workers], weight)
    print(f"step {step} weight {weight:.3f}", flush=True)
