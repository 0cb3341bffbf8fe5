"""The moment a specimen's fault begins, written down for the benchmark that measures the time to a verdict."""

import os
import time

_marked = False


def mark() -> None:
    """Write the time of the onset into the file named by SPECIMEN_ONSET; only the first call counts."""
    global _marked
    if _marked:
        return
    _marked = True
    target = os.environ.get("SPECIMEN_ONSET")
    if target:
        with open(target, "w", encoding="ascii") as file:
            file.write(repr(time.time()))
