"""A defect of a data set as a page shows it: what it is, where it stands, and pictures with what is wrong in red."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unstall.report.data_text import place

if TYPE_CHECKING:
    from unstall.data.check import Report


@dataclass(frozen=True)
class Drawn:
    image: Any  # as Pillow has it
    name: str  # of the example
    message: str  # of its first finding


def row_of(report: Report, problem: str, listed: int) -> dict[str, Any]:
    """Words and figures as plain data; of its findings no more than are listed."""
    from unstall.data.check import finding_as_plain, problem_module, severity_of
    from unstall.data.pages import sections

    page, findings = sections(problem_module(problem)), report.found[problem]
    return {
        "name": problem,
        "severity": severity_of(problem).value,
        "count": len(findings),
        "summary": page[""],
        "harm": page["What it does to a training"],
        "do": page["What to do"],
        "listed": [{"place": place(finding_as_plain(finding)), "message": finding.message} for finding in findings[:listed]],
    }


def drawn(report: Report, problem: str, most: int, side: int) -> Iterator[Drawn]:
    """The first images that it was found in, each with all the boxes that it was found at."""
    from unstall.data.drawing import with_boxes

    checked = report.checked
    marked: dict[str, set[int]] = {}
    messages: dict[str, str] = {}
    for finding in report.found[problem]:
        if finding.example in checked.rows and (finding.example in marked or len(marked) < most):
            marked.setdefault(finding.example, set()).update([finding.box] if finding.box is not None else [])
            messages.setdefault(finding.example, finding.message)
    for name, boxes in marked.items():
        example = checked.data.examples[checked.rows[name]]
        yield Drawn(with_boxes(example, checked.data.classes, side, boxes, has_frame=True), name, messages[name])
