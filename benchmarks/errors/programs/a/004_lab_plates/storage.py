import functools
import logging
import time

import numpy as np

log = logging.getLogger("storage")


def retry(attempts=4, delay=0.01, errors=(OSError, TimeoutError)):
    def wrap(fn):
        @functools.wraps(fn)
        def inner(*args, **kwargs):
            for attempt in range(1, attempts + 1):
                try:
                    return fn(*args, **kwargs)
                except errors as e:
                    if attempt == attempts:
                        raise
                    log.warning("attempt %d of %s failed: %s", attempt, fn.__name__, e)
                    time.sleep(delay * attempt)
        return inner
    return wrap


class PlateStore:
    """Pictures on a network share that sometimes answers late."""

    def __init__(self, root):
        self.root = root
        self.calls = 0

    @retry()
    def read(self, name):
        self.calls += 1
        if self.calls % 7 == 0:
            raise TimeoutError(f"share did not answer for {name}")
        if self.calls % 11 == 0:
            raise OSError(5, "Input/output error", str(self.root / name))
        with np.load(self.root / name) as npz:
            return npz["plate"], npz["wells"]
