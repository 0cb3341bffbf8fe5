# /// specimen
# cause = "main_unguarded"
# also = []
# where = "RUN AGAIN HERE"
# framework = "python"
# ends = "crashes"
# seconds = 60
# near = "main_unguarded_forked"
# needs = []
# ///
"""A pool of processes that are started by spawn is made at the top level of the file."""

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def convert(number):
    return number * number


mark()
with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
    print(sum(pool.map(convert, range(40))))  # RUN AGAIN HERE
