"""A corrected copy of a data set: each problem proposes what would put its findings right, and it is done on a copy.

It goes in rounds. In each, an example is changed by one problem at most, those of whole images first; then what has become of
the data is examined anew, until nothing is left that can be mended. So a box that is inverted and too wide is first turned,
then cut.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from unstall.base.console import Progress
from unstall.base.errors import InvalidInputError
from unstall.data.check.context import CheckedData, ImageFacts
from unstall.data.check.fixes import Fix
from unstall.data.check.images import look_at_bytes
from unstall.data.check.problems import PROBLEMS
from unstall.data.check.runner import Report, convert_finding_to_plain, examine
from unstall.data.example import DataSet, Example, Finding, ImageSource
from unstall.data.formats import FORMATS
from unstall.journal.writer import replace_not_finite

MAX_ROUNDS = 8  # each mends one thing of an example; none has more wrong with it


@dataclass
class CorrectedData:
    """The corrected data set, what was changed, and what was left as it was."""

    data: DataSet
    changes: list[tuple[Finding, str]] = field(default_factory=list)
    left: dict[str, list[Finding]] = field(default_factory=dict)


def refuse_unsafe(source: Path, target: Path) -> None:
    """The original is never touched."""
    inside, of = target.resolve(), source.resolve()
    folder = of if of.is_dir() else of.parent
    if inside == folder or folder in inside.parents:
        raise InvalidInputError(
            f"Expected a folder outside the data set for the corrected copy. Received: '{target}', which lies in '{folder}'."
        )
    if inside in folder.parents:
        raise InvalidInputError(
            f"Expected a folder of its own for the corrected copy. Received: '{target}', which holds the data set."
        )
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InvalidInputError(
            f"Expected an empty folder, or none yet, for the corrected copy. Received: '{target}', which is not empty."
        )


def correct(report: Report, scratch: Path) -> CorrectedData:
    """`scratch` takes images that are encoded anew; it must live until the copy has been written."""
    checked, corrected = report.checked, CorrectedData(report.checked.data)
    found = report.found
    for turn in range(MAX_ROUNDS):
        proposals = _one_for_each_example(checked, found)
        if not proposals:
            break
        corrected.changes += [(fix.finding, fix.what) for fix in proposals]
        checked = _applied(checked, proposals, scratch, turn)
        found = examine(checked, PROBLEMS.names())
    corrected.data = checked.data
    corrected.left = {problem: findings for problem, findings in report.found.items() if not _can_fix(problem)}
    changed = {finding.problem for finding, _ in corrected.changes}
    reported = {finding.problem for finding in report.checked.data.findings}  # by the reader: no longer there to be examined
    corrected.left |= {problem: report.found[problem] for problem in reported - changed if problem in report.found}
    for problem, findings in found.items():
        corrected.left.setdefault(problem, findings)
    return corrected


def _can_fix(problem: str) -> bool:
    return hasattr(PROBLEMS.module(problem), "propose_fixes")


def _one_for_each_example(checked: CheckedData, found: dict[str, list[Finding]]) -> list[Fix]:
    """Those of whole images first. Several boxes of an image may be mended at once, by the same problem."""
    proposed: list[Fix] = []
    for problem, findings in found.items():
        if _can_fix(problem):
            propose: Callable[[CheckedData, list[Finding]], list[Fix]] = PROBLEMS.module(problem).propose_fixes
            proposed += propose(checked, findings)
    proposed.sort(key=_of_one_box)
    taken: dict[int, str] = {}
    result = []
    for fix in proposed:
        if fix.row is None or taken.setdefault(fix.row, fix.finding.problem) == fix.finding.problem:
            result.append(fix)
    return result


def _of_one_box(fix: Fix) -> int:
    return 0 if fix.leaves_out_image else 1 if fix.box is None and fix.leaves_out_box is None else 2


def _applied(checked: CheckedData, proposals: list[Fix], scratch: Path, turn: int) -> CheckedData:
    by_row: dict[int, list[Fix]] = {}
    for fix in proposals:
        if fix.row is not None:
            by_row.setdefault(fix.row, []).append(fix)
    examples: list[Example] = []
    facts: dict[int, ImageFacts] = {}
    for row, example in enumerate(checked.data.examples):
        fixes = by_row.get(row, [])
        if any(fix.leaves_out_image for fix in fixes):
            continue
        known = checked.images.get(row)
        for fix in fixes:
            example = _changed(example, fix)  # noqa: PLW2901
            if fix.image is not None:
                known = look_at_bytes(fix.image)
                path = scratch / f"{turn}_{row}{Path(example.name).suffix}"
                path.write_bytes(fix.image)
                example = replace(example, image=ImageSource(path))  # noqa: PLW2901
        gone = [fix.leaves_out_box for fix in fixes if fix.leaves_out_box is not None]
        if known is not None:
            facts[len(examples)] = known
        examples.append(_without(example, gone) if gone else example)
    # What the reader found belongs to the files of the original.
    return CheckedData(replace(checked.data, examples=examples, findings=()), facts)


def _changed(example: Example, fix: Fix) -> Example:
    if fix.boxes is not None:
        example = replace(example, boxes=fix.boxes, areas=None)
    if fix.box is not None:
        boxes, areas = example.boxes.copy(), None if example.areas is None else example.areas.copy()
        boxes[fix.box[0]] = fix.box[1]
        if areas is not None:
            areas[fix.box[0]] = np.nan
        example = replace(example, boxes=boxes, areas=areas)
    if fix.size is not None:
        example = replace(example, width=fix.size[0], height=fix.size[1])
    return replace(example, name=fix.name) if fix.name is not None else example


def _without(example: Example, gone: list[int]) -> Example:
    keep = np.ones(example.count, bool)
    keep[gone] = False
    return replace(
        example,
        boxes=example.boxes[keep],
        classes=example.classes[keep],
        crowd=example.crowd[keep],
        difficult=example.difficult[keep],
        truncated=example.truncated[keep],
        box_lines=None if example.box_lines is None else example.box_lines[keep],
        outlines=None if example.outlines is None else example.outlines[keep],
        keypoints=None if example.keypoints is None else example.keypoints[keep],
        areas=None if example.areas is None else example.areas[keep],
    )


# --- the list of what was changed ---


def convert_changes_to_plain(corrected: CorrectedData, target: Path) -> dict[str, Any]:
    return {
        "copy": str(target),
        "changes": [
            {"problem": finding.problem, "change": what, **convert_finding_to_plain(finding)}
            for finding, what in corrected.changes
        ],
        "left_as_it_was": [
            {"problem": problem, "count": len(findings), "findings": [convert_finding_to_plain(finding) for finding in findings]}
            for problem, findings in corrected.left.items()
        ],
    }


def format_changes(corrected: CorrectedData) -> str:
    lines = [f"{len(corrected.changes):,} changes", ""]
    lines += [f"{finding.origin} [{finding.problem}] {what}. {finding.message}" for finding, what in corrected.changes]
    if corrected.left:
        lines += ["", "Left as it was:", ""]
        lines += [
            f"{finding.origin} [{finding.problem}] {finding.message}" for all_of in corrected.left.values() for finding in all_of
        ]
    return "\n".join(lines) + "\n"


def write_copy(report: Report, target: Path, progress: Progress | None = None) -> dict[str, Any]:
    """The corrected copy in the data set's own format, with `changes.json` and `changes.txt` beside it."""
    original = report.checked.data
    refuse_unsafe(original.path, target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".mending-") as scratch:
            corrected = correct(report, Path(scratch))
            target.mkdir(exist_ok=True)
            lost = FORMATS.module(original.format).write(corrected.data, target, progress=progress)
        plain = convert_changes_to_plain(corrected, target)
        plain["not_held_by_the_format"] = dict(lost)
        (target / "changes.json").write_text(
            json.dumps(replace_not_finite(plain), indent=2, default=str) + "\n", encoding="utf-8"
        )
        (target / "changes.txt").write_text(format_changes(corrected), encoding="utf-8", errors="replace")
    except OSError as error:
        raise InvalidInputError(f"Cannot write the corrected copy to '{target}': {error.strerror or error}.") from None
    return plain
