"""`unstall compare`: two runs, or one and the last good one before it; on the terminal, as a page and as JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.test_report import call
from tests.compare.records import record
from tests.programs import UNSTALL, write
from unstall.compare import comparison
from unstall.report.html import compare_page

JOURNALS = Path(__file__).parents[1] / "journals"
FULL, FREE = JOURNALS / "gpu_exhausted_batch_jax", JOURNALS / "gpu_almost_full_jax"
GOOD = "import sys, time\nSIZE = 10\nheld = bytearray(SIZE * 2**20)\ntime.sleep(1.2)\n"
GOOD += "import unstall\nwith unstall.watch(quiet=True) as run:\n    list(run.steps(range(3)))\nsys.exit(0)\n"


def test_the_same_run_twice_differs_in_nothing_that_matters() -> None:
    done = call("compare", str(FULL), str(FULL))
    assert done.returncode == 0
    assert comparison.SAME_RUN in done.stdout and "nothing that matters differs" in done.stdout
    assert comparison.SAME_RUN not in call("compare", str(FREE), str(FULL), "--quick").stdout


def test_what_differs_can_be_had_as_json_alone() -> None:
    plain = json.loads(call("compare", str(FREE), str(FULL), "--quick", "--json", "-").stdout)
    assert plain["after"]["outcome"] == "failed"
    assert {"differences", "summary", "metrics", "explanations", "curves"} <= set(plain)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["compare", "no-such-run"], "no-such-run"),
        (["compare", str(FULL), "/nowhere/at/all"], "/nowhere/at/all"),
        (["compare", str(FULL)], "Expected two runs: unstall compare A B"),
    ],
)
def test_a_run_that_is_not_there_is_named(arguments: list[str], words: str, own_home: Path) -> None:
    done = call(*arguments)
    assert done.returncode != 0
    assert words in done.stderr


def test_a_run_of_which_nothing_is_known_is_refused_rather_than_all_of_the_other_told(tmp_path: Path) -> None:
    journal = tmp_path / "events-watcher-1.jsonl"
    for written_at, why in ((time.time(), "it has only begun"), (1.0, "its journal is empty")):
        journal.touch()
        os.utime(journal, (written_at, written_at))
        done = call("compare", str(FULL), str(tmp_path))
        assert done.returncode != 0
        assert f"the run '{tmp_path.name}': {why}" in done.stderr


def test_the_page_escapes_what_programs_name_and_loads_nothing(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>"
    after = record(batch=32, peak_mib=1000, run={"name": hostile}, versions={"picturekit": hostile})
    compare_page.write(comparison.compare_as_plain(record(), after), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert hostile not in page
    assert "&lt;script&gt;" in page
    assert "default-src &#39;none&#39;" in page
    assert "http" not in page.replace("http-equiv", "")
    assert page.count("<polyline") == 2


def test_a_run_alone_is_compared_with_the_last_good_one(tmp_path: Path, own_home: Path) -> None:
    program = write(tmp_path, GOOD, "train.py")
    for text in (GOOD, GOOD.replace("SIZE = 10", "SIZE = 400").replace("exit(0)", "exit(3)")):
        program.write_text(text)
        subprocess.run(
            [*UNSTALL, "run", "--quiet", "--", sys.executable, str(program)], env=dict(os.environ), check=False, timeout=240
        )
    done = call("compare", "last", COLUMNS="200")
    assert done.returncode == 0, done.stderr
    answer = next(line for line in done.stdout.splitlines() if line.startswith("answer"))
    assert "SIZE = 10 → SIZE = 400" in answer
    assert "train.py:2" in answer
    assert "MiB" in answer
