# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 60
# near = "main_unguarded"
# needs = []
# ///
"""Forked processes do not import the file again: the pool may stand at its top level."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor


def convert(number):
    return number * number


with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
    print(sum(pool.map(convert, range(40))))
