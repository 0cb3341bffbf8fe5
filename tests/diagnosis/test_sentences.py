"""What verdicts may say: only what was observed. Words that claim more stand in no sentence of a cause."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.diagnosis.builders import T0, journal, started
from unstall.diagnosis.causes import device_memory_exhausted, killed_from_outside, record_corrupt
from unstall.diagnosis.diagnose import cause_names
from unstall.diagnosis.verdict import Found
from unstall.journal.events import ErrorRaised, ProcessEnded, ProgramStarted

CAUSES = Path(__file__).parents[2] / "src" / "unstall" / "diagnosis" / "causes"
# Steps of a loop of one's own in PyTorch or JAX are mostly not seen: that there was none is not known.
CLAIMS_OF_STEPS = re.compile(r"before (?:its|the) first step|first step comes|without a single step")


def sentences(path: Path) -> list[str]:
    """The texts of a module, without its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and node.body and isinstance(node.body[0], ast.Expr)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
    ]


@pytest.mark.parametrize("name", cause_names())
def test_no_sentence_claims_steps_that_may_not_be_seen(name: str) -> None:
    claimed = [text for text in sentences(CAUSES / f"{name}.py") if CLAIMS_OF_STEPS.search(text)]
    assert not claimed, f"{claimed}: say how many steps had ended where they are seen (failures.steps_by_then), else nothing."


def test_a_pytorch_loop_that_ends_says_nothing_of_steps() -> None:
    memory = "CUDA out of memory. Tried to allocate 64.00 GiB. GPU 0 has a total capacity of 139.72 GiB"
    for module, kind, message in (
        (device_memory_exhausted, "torch.OutOfMemoryError", memory),
        (record_corrupt, "OSError", "image file is truncated (12 bytes not processed)"),
    ):
        error = ErrorRaised(at=T0 + 59, kind=kind, message=message, fatal=True)
        verdict = module.examine(journal(started(), ProgramStarted(at=T0, pid=1), error, ProcessEnded(at=T0 + 60, exit_code=1)))
        assert isinstance(verdict, Found)
        assert "step" not in verdict.summary


def test_a_signal_is_told_as_it_was_seen() -> None:
    ended = ProcessEnded(at=T0 + 60, pid=1, signal=15)
    unseen = killed_from_outside.examine(journal(started(), ended))
    inside = killed_from_outside.examine(journal(started(), ProgramStarted(at=T0, pid=1), ended))
    assert isinstance(unseen, Found) and isinstance(inside, Found)
    assert "itself" not in unseen.evidence[0].claim
    assert "was not seen to send it to itself" in inside.evidence[0].claim
    assert "Nothing was wrong" not in unseen.summary
