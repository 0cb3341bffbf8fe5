# /// specimen
# cause = "process_died"
# also = []
# where = "AWAITED HERE"
# framework = "python"
# ends = "crashes"
# seconds = 60
# near = "process_died_pool_ends"
# needs = []
# ///
"""A worker of a pool ends itself with an exit code, and the pool is of no use any more."""

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def convert(number):
    if number == 11:
        os._exit(3)
    return number * number


if __name__ == "__main__":
    mark()
    with ProcessPoolExecutor(2) as pool:
        print(sum(pool.map(convert, range(40))))  # AWAITED HERE
