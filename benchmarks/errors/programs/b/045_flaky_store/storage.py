import logging
import random
import time

import numpy as np

log = logging.getLogger("storage")


class StorageError(IOError):
    pass


class BlobStore:
    """Stand-in for the object store: a read fails now and then."""

    def __init__(self, root, failure_rate=0.2, seed=0):
        self.root, self.failure_rate = root, failure_rate
        self.rng = random.Random(seed)

    def get(self, key):
        if self.rng.random() < self.failure_rate:
            raise StorageError(f"503 Slow Down: {key}")
        return np.load(f"{self.root}/{key}.npy")


def with_retries(fn, attempts=6, base=0.005):
    def call(*args):
        for attempt in range(1, attempts + 1):
            try:
                return fn(*args)
            except StorageError as err:
                if attempt == attempts:
                    raise
                log.warning("attempt %d/%d failed: %s", attempt, attempts, err)
                time.sleep(base * 2**attempt)
    return call
