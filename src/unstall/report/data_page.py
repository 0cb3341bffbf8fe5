"""What was found in a data set as one page that needs nothing else: tables, and pictures of the worst with their boxes."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unstall.report.data_text import SPREADS, place
from unstall.report.html import write_page

if TYPE_CHECKING:
    from unstall.data.check import Report
    from unstall.data.example import DataSet, Finding

MOST_PICTURES = 36
PICTURES_OF_ONE = 4  # of one problem
LISTED = 20  # findings of each problem; all are in the JSON
SIDE = 420  # pixels of a picture


def write_check(report: Report, target: Path) -> None:
    from unstall.data.check import as_plain, problem_module, severity_of
    from unstall.data.checked import Severity
    from unstall.data.pages import sections

    plain = as_plain(report)
    left = MOST_PICTURES
    problems = []
    for problem, findings in report.found.items():
        pictures = _pictures(report, findings, min(left, PICTURES_OF_ONE))
        left -= len(pictures)
        told = sections(problem_module(problem))
        row = next(row for row in plain["problems"] if row["problem"] == problem)
        problems.append(
            {
                "name": problem,
                "severity": severity_of(problem).value,
                "count": len(findings),
                "summary": told[""],
                "harm": told["What it does to a training"],
                "do": told["What to do"],
                "listed": [{"place": place(finding), "message": finding["message"]} for finding in row["findings"][:LISTED]],
                "pictures": pictures,
            }
        )
    counts = {severity.value: report.count(severity) for severity in Severity}
    write_page("data_check.html", target, data=plain, problems=problems, counts=counts)


def as_data_url(picture: Any, kind: str = "JPEG") -> str:
    out = io.BytesIO()
    picture.save(out, kind, quality=82)
    return f"data:image/{kind.lower()};base64,{base64.b64encode(out.getvalue()).decode('ascii')}"


def _pictures(report: Report, findings: list[Finding], most: int) -> list[dict[str, str]]:
    """The first findings of each image, the images in the order they were found."""
    from unstall.data.drawing import with_boxes

    checked = report.checked
    marked: dict[str, set[int]] = {}
    for finding in findings:
        if finding.example in checked.rows and (finding.example in marked or len(marked) < most):
            marked.setdefault(finding.example, set()).update([finding.box] if finding.box is not None else [])
    pictures = []
    for name, boxes in marked.items():
        example = checked.data.examples[checked.rows[name]]
        picture = with_boxes(example, checked.data.classes, SIDE, boxes, has_frame=True)
        pictures.append({"name": name, "source": as_data_url(picture)})
    return pictures


def write_stats(data: DataSet, told: dict[str, Any], target: Path) -> None:
    from unstall.report.data_plots import plots

    picture = f"data:image/png;base64,{base64.b64encode(plots(data, told)).decode('ascii')}"
    write_page("data_stats.html", target, told=told, picture=picture, spreads=SPREADS)
