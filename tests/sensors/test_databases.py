"""Who has a SQLite file locked: as the kernel tells it, for the ways in which SQLite locks."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from unstall.sensors import databases

HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute(sys.argv[2])
if sys.argv[2] == "begin":
    connection.execute("select * from runs").fetchone()
print("holds", flush=True)
sys.stdin.read()
"""


@contextmanager
def held(path: Path, how: str) -> Iterator[int]:
    """Another process that has begun a transaction, until it is let go; its number."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path), how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "holds\n"
        yield process.pid
        process.communicate()


@contextmanager
def opened(path: Path, mode: str = "delete") -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None, timeout=0)
    connection.execute(f"pragma journal_mode={mode}")
    connection.execute("create table if not exists runs (name)")
    connection.execute("insert into runs values ('first')")
    yield connection
    connection.close()


def found() -> dict[str, Any] | None:
    seen = databases.sample(os.getpid())
    return seen.databases[0] if seen is not None else None


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_writer_in_another_process_is_named(tmp_path: Path, mode: str) -> None:
    with opened(tmp_path / "runs.db", mode):
        assert found() is None  # open, and nobody has it locked
        with held(tmp_path / "runs.db", "begin immediate") as pid:
            result = found()
            assert result is not None and result["path"] == str(tmp_path / "runs.db") and result["writes"]
            assert result["holder_pid"] == pid and result["holder"][0] == sys.executable
        assert found() is None


def test_a_reader_that_a_writer_must_wait_for_is_named(tmp_path: Path) -> None:
    with opened(tmp_path / "runs.db") as own, held(tmp_path / "runs.db", "begin") as pid:
        own.execute("begin immediate")
        own.execute("insert into runs values ('second')")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            own.execute("commit")
        result = found()
        assert result is not None and (result["holder_pid"], result["writes"]) == (pid, False)


def test_a_second_connection_of_the_same_process_is_told_as_that(tmp_path: Path) -> None:
    with opened(tmp_path / "runs.db"), opened(tmp_path / "runs.db") as other:
        other.execute("begin immediate")
        result = found()
        assert result is not None and result["holder_pid"] == os.getpid()


def test_readers_beside_a_log_keep_nobody_waiting(tmp_path: Path) -> None:
    with opened(tmp_path / "runs.db", "wal"), held(tmp_path / "runs.db", "begin"):
        assert found() is None


def test_a_process_that_is_gone_has_nothing_open() -> None:
    assert databases.sample(2**22 + 1) is None
