"""Weights of plain JAX loops that nothing changes are found; loops of many kinds that learn, or compute gradients for something else,
have no verdict. The programs are real ones; they are run side by side, as most of their time is a pause between steps."""

from __future__ import annotations

import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.probe.loop.jax_programs import HEALTHY, PREAMBLE, SICK
from tests.probe.watched_programs import facts, line
from tests.programs import run_watched, write
from unstall.diagnosis.findings import diagnose
from unstall.journal.events import ProbeFailed, SignalsSeen, StepsEnded
from unstall.journal.reader import Journal, read_folder

AT_A_TIME = 3
PROGRAMS = {
    **{f"sick: {name}": each for name, each in SICK.items()},
    **{f"healthy: {name}": each for name, each in HEALTHY.items()},
}


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Journal]]:
    """Of all programs, by name."""

    programs = {
        name: write(tmp_path_factory.mktemp("program"), PREAMBLE + textwrap.dedent(each)) for name, each in PROGRAMS.items()
    }

    def watched(pair: tuple[str, Path]) -> tuple[str, tuple[Path, Journal]]:
        name, program = pair
        home = program.parent / "runs"
        seen = run_watched(program, env={"UNSTALL_HOME": str(home)})
        assert seen.code == 0, (name, seen)
        return name, (program.parent, read_folder(next(home.iterdir())))

    with ThreadPoolExecutor(AT_A_TIME) as pool:
        return dict(pool.map(watched, programs.items()))


def named(journal: Journal) -> dict[str, Any]:
    assert not journal.of(ProbeFailed), journal.of(ProbeFailed)
    return {finding.cause: finding.found for finding in diagnose(journal).findings}


@pytest.mark.jax
@pytest.mark.parametrize("name", SICK)
def test_weights_that_nothing_changes_are_found(name: str, journals: dict[str, tuple[Path, Journal]]) -> None:
    folder, journal = journals[f"sick: {name}"]
    found = named(journal)
    assert list(found) == ["weights_frozen"], found
    if "# CUT" in SICK[name]:
        assert found["weights_frozen"].where == line(folder, "CUT")
    last = facts(journal, "weights")[-1]
    assert len(last["unchanged"]) == 4 and any("hidden" in each and "kernel" in each for each in last["unchanged"])


@pytest.mark.jax
@pytest.mark.parametrize("name", HEALTHY)
def test_a_loop_that_is_well_has_no_verdict(name: str, journals: dict[str, tuple[Path, Journal]]) -> None:
    _, journal = journals[f"healthy: {name}"]
    assert not named(journal)
    if name != "pmap":
        assert sum(group.last - group.first + 1 for group in journal.of(StepsEnded)) >= 600


@pytest.mark.jax
def test_weights_that_change_are_seen_to(journals: dict[str, tuple[Path, Journal]]) -> None:
    changed = {name for name in HEALTHY if any(each["changed"] for each in facts(journals[f"healthy: {name}"][1], "weights"))}
    assert {
        "sgd by hand",
        "adam, memory given away",
        "a scan over an epoch",
        "without jit",
        "a frozen part, gradients for all",
    } <= changed


@pytest.mark.jax
def test_weights_that_are_not_found_among_the_arguments_are_told_to_be_not_seen(
    journals: dict[str, tuple[Path, Journal]],
) -> None:
    _, journal = journals["healthy: a derivative within the loss, in sixteen bits"]
    assert "weights" in journal.of(SignalsSeen)[-1].not_seen["jax"]
    _, journal = journals["healthy: sgd by hand"]
    assert "weights" not in journal.of(SignalsSeen)[-1].not_seen["jax"]
