# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 60
# near = "process_died"
# needs = []
# ///
"""A worker of a pool dies, the program expects that, and makes the rest itself."""

import os
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool


def convert(number):
    if number == 11:
        os._exit(3)
    return number * number


if __name__ == "__main__":
    with ProcessPoolExecutor(2) as pool:
        try:
            print(sum(pool.map(convert, range(40))))
        except BrokenProcessPool:
            print(sum(number * number for number in range(40)))
