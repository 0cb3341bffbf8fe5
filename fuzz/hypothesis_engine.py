"""One driver under Hypothesis: python -m fuzz.hypothesis_engine PARSER INPUTS FOLDER. Called by fuzz.run.

An input is a seed with pieces of it taken out, exchanged, doubled, or put in: bytes, or tokens of the format.
"""

from __future__ import annotations

import hashlib
import importlib
import random
import resource
import signal
import sys
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

MAX_EDITS = 3
INPUTS_OF_A_ROUND = 5_000


def inputs_of(driver: Any) -> st.SearchStrategy[bytes]:
    piece = st.sampled_from(driver.TOKENS) | st.binary(max_size=8)
    edit = st.tuples(st.integers(0, 1 << 16), st.integers(0, 12), piece, st.integers(1, 3))
    whole = st.tuples(st.sampled_from(driver.SEEDS), st.lists(edit, max_size=MAX_EDITS)).map(_edited)
    return whole | st.lists(piece, max_size=40).map(b"".join)


def _edited(drawn: tuple[bytes, list[tuple[int, int, bytes, int]]]) -> bytes:
    """Each edit: from here on, so many bytes give way to a piece, so many times over."""
    data, edits = drawn
    for at, length, piece, times in edits:
        start = at % (len(data) + 1)
        data = data[:start] + piece * times + data[start + length :]
    return data


def main() -> None:
    from fuzz.run import FOUND, LONGEST_S, MAX_BYTES, MAX_MIB

    name, wanted, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    driver = importlib.import_module(f"fuzz.drivers.{name}")
    resource.setrlimit(resource.RLIMIT_AS, (2 * MAX_MIB << 20, 2 * MAX_MIB << 20))
    signal.signal(signal.SIGALRM, _too_long)
    counted = 0

    def one(data: bytes) -> None:
        nonlocal counted
        counted += 1
        signal.alarm(LONGEST_S)
        try:
            driver.one(data[:MAX_BYTES], folder)
        except BaseException:
            (FOUND / f"crash-{hashlib.sha1(data).hexdigest()}").write_bytes(data[:MAX_BYTES])
            raise
        finally:
            signal.alarm(0)

    rounds = 0
    while counted < wanted:  # in rounds: Hypothesis remembers all inputs of one, and slows down with them
        rounds += 1
        limits = settings(
            max_examples=min(INPUTS_OF_A_ROUND, wanted - counted),
            deadline=None,
            database=None,
            phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
        )
        seed(random.Random(rounds).getrandbits(64))(limits(given(inputs_of(driver))(one)))()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    sys.stderr.write(f"stat::number_of_executed_units: {counted}\nstat::peak_rss_mb: {peak}\n")  # as libFuzzer says it


def _too_long(*_: object) -> None:
    raise TimeoutError("an input takes too long")


if __name__ == "__main__":
    main()
