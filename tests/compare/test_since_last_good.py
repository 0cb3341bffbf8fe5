"""What the verdict on a failure carries: what changed since the last good run, where that explains it, and nothing else."""

from __future__ import annotations

import html
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.compare.records import SCRIPT, changed, record, source
from tests.programs import UNSTALL, write
from unstall.compare.comparison import compare_records
from unstall.compare.differences.finder import find_differences
from unstall.compare.last_good import explain_in_lines
from unstall.compare.record.store import load_record
from unstall.journal.run_folder import RunFolder

OUT_OF_MEMORY = {"outcome": "failed", "cause": "host_memory_exhausted"}


def lines(before: dict[str, Any], after: dict[str, Any], where: str | None = None) -> list[str]:
    story = {"state": "failed", "verdicts": [{"cause": after["run"]["cause"], "where": where, "effect": "stops"}]}
    return explain_in_lines(compare_records(before, after), before, after, story)


def test_out_of_memory_is_explained_by_what_needs_more() -> None:
    after = record(batch=64, run=OUT_OF_MEMORY, optimizer={"learning_rate": 0.01})
    (line,) = lines(record(peak_mib=790), after)
    assert line.startswith("batch 16 → 64: +")


def test_nothing_is_said_where_nothing_is_explained() -> None:
    assert lines(record(), record(run=OUT_OF_MEMORY)) == []
    assert lines(record(), record(run=OUT_OF_MEMORY, optimizer={"learning_rate": 0.01})) == []


def test_a_stall_at_a_line_that_changed_is_explained_by_it() -> None:
    stuck = {"outcome": "stuck", "cause": "generator_blocked"}
    after = record(run=stuck, sources=source(SCRIPT.replace("dataset.map(read, num", "dataset.map(fetch, num")))
    (line,) = lines(record(), after, where="train.py:5")
    assert line.startswith("train.py:5 changed: dataset = dataset.map(read")
    assert lines(record(), after, where="other.py:5") == []


def test_a_loss_that_broke_is_explained_by_what_entered_it() -> None:
    run = {"outcome": "failed", "cause": "loss_not_finite"}
    after = changed(record(run=run, optimizer={"learning_rate": 10.0}), figures={"not_finite_since_step": 3})
    (line,) = lines(record(), after)
    assert line.startswith("learning rate 0.001 → 10")


def test_a_failure_without_a_cause_is_told_with_what_was_changed_by_hand() -> None:
    failed = {"outcome": "failed", "cause": ""}
    story = {"state": "failed", "verdicts": []}
    before, after = (
        record(),
        record(run=failed, sources=source(SCRIPT.replace("dataset.map(read, num", "dataset.map(fetch, num"))),
    )
    (line,) = explain_in_lines(compare_records(before, after), before, after, story)
    assert "fetch" in line
    error = {
        "cause": "program_error",
        "where": "train.py:90",
        "effect": "stops",
    }  # said of every error that no other cause explains
    assert explain_in_lines(compare_records(before, after), before, after, {**story, "verdicts": [error]}) == [line]
    same = record(run=failed)
    assert explain_in_lines(compare_records(before, same), before, same, story) == []
    assert explain_in_lines(compare_records(before, after), before, after, {**story, "state": "killed"}) == []


def test_a_number_of_the_training_that_was_changed_by_hand_is_told_and_what_is_left_out_is_counted() -> None:
    failed, story = {"outcome": "failed", "cause": ""}, {"state": "failed", "verdicts": []}
    rate = source(SCRIPT.replace("RATE = 0.001", "RATE = 0.002"))
    before, after = record(), record(run=failed, sources=rate, optimizer={"learning_rate": 0.002})
    (line,) = explain_in_lines(compare_records(before, after), before, after, story)
    assert line.startswith("learning rate 0.001 → 0.002 (train.py:")
    many = changed(after, versions={f"package{number}": "2.0" for number in range(9)})
    small = changed(before, versions={f"package{number}": "1.0" for number in range(9)})
    *shown, last = explain_in_lines(compare_records(small, many), small, many, story)
    assert (len(shown), last) == (3, "and 7 more; which of these it was is not known")


STEPS = "import unstall\nwith unstall.watch(quiet=True) as run:\n    list(run.steps(range(3)))\n"
PROGRAM = f"import time\n\nSIZE = 10\nheld = bytearray(SIZE * 2**20)\ntime.sleep(0.3)\n{STEPS}"


def test_the_verdict_on_a_run_that_fails_carries_the_answer(tmp_path: Path, own_home: Path) -> None:
    program = write(tmp_path, PROGRAM, "train.py")
    assert run(program).returncode == 0
    program.write_text(PROGRAM.replace("SIZE = 10", "SIZE = 90_000_000"))
    failed = run(program)
    good, bad = sorted(own_home.iterdir())
    line = "train.py:3 changed: SIZE = 10 → SIZE = 90_000_000"
    assert f"since     the last good run, {good.name}:" in failed.stderr
    assert f"· {line}" in failed.stderr
    assert json.loads((bad / "story.json").read_text())["since_last_good"] == {"run": good.name, "lines": [line]}
    assert line in html.unescape((bad / "report.html").read_text())


def test_a_run_that_fails_as_the_last_one_was_good_says_nothing_of_it(tmp_path: Path, own_home: Path) -> None:
    program = write(tmp_path, f"{PROGRAM}import os, sys\nsys.exit(len(os.environ.get('FAILS', '')))\n", "train.py")
    assert run(program).returncode == 0
    assert "since" not in run(program, FAILS="yes").stderr


def test_configurations_and_other_files_that_the_command_line_names_are_compared_by_their_contents(
    tmp_path: Path, own_home: Path
) -> None:
    """The switch is written before the first argument in one run, and before an option in the other."""
    program = write(tmp_path, f"import sys\n{STEPS}sys.exit('1000' in open(sys.argv[-1]).read())\n", "train.py")
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    old, new, labels = tmp_path / "a" / "pipeline.config", tmp_path / "b" / "pipeline.config", tmp_path / "labels.csv"
    lines = ["model {", "  num_classes: 3", "}", "train_config {", "  learning_rate_base: 0.08", "  password: hunter2x", "}"]
    old.write_text("\n".join(lines))
    new.write_text("\n".join(lines).replace("0.08", "1000"))
    labels.write_text("1,2\n")
    assert run(program, "--fast", "csv", str(labels), "--config_path", str(old)).returncode == 0
    labels.write_text("1,2\n3,4\n")
    failed = run(program, "csv", str(labels), "--fast", "--config_path", str(new))
    assert failed.returncode == 1
    good, bad = sorted(own_home.iterdir())
    result = load_record(RunFolder(bad))
    assert f"since     the last good run, {good.name}:" in failed.stderr
    assert "learning_rate_base: 0.08 → 1000 (" in failed.stderr and "pipeline.config:5)" in failed.stderr
    found = [each.description for each in find_differences(load_record(RunFolder(good)), result)]
    assert any("labels.csv changed: 4 → 8 bytes" in each or "bytes of the data 4 → 8" in each for each in found), found
    assert not [each for each in found if "csv → " in each or "--fast" in each or "argument" in each]
    assert "hunter2x" not in json.dumps(result)


def run(program: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [*UNSTALL, "run", "--", sys.executable, str(program), *arguments]
    environment = {**os.environ, "COLUMNS": "200", **env}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=240, env=environment)
