"""What was found in a data set as one page that needs nothing else: tables, and pictures of the worst with their boxes."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unstall.report.data_text import SPREADS
from unstall.report.html import write_page

if TYPE_CHECKING:
    from unstall.data.check import Report
    from unstall.data.example import DataSet

MOST_PICTURES = 36
PICTURES_OF_ONE = 4  # of one problem
LISTED = 20  # findings of each problem; all are in the JSON
SIDE = 420  # pixels of a picture


def write_check(report: Report, target: Path) -> None:
    from unstall.data.check import as_plain
    from unstall.data.checked import Severity
    from unstall.report.defects_shown import drawn, row_of

    left = MOST_PICTURES
    problems = []
    for problem in report.found:
        pictures = [
            {"name": picture.name, "source": as_data_url(picture.image)}
            for picture in drawn(report, problem, min(left, PICTURES_OF_ONE), SIDE)
        ]
        left -= len(pictures)
        problems.append({**row_of(report, problem, LISTED), "pictures": pictures})
    counts = {severity.value: report.count(severity) for severity in Severity}
    write_page("data_check.html", target, data=as_plain(report), problems=problems, counts=counts)


def as_data_url(picture: Any, kind: str = "JPEG") -> str:
    out = io.BytesIO()
    picture.save(out, kind, quality=82)
    return f"data:image/{kind.lower()};base64,{base64.b64encode(out.getvalue()).decode('ascii')}"


def write_stats(data: DataSet, told: dict[str, Any], target: Path) -> None:
    from unstall.report.data_plots import plots

    picture = f"data:image/png;base64,{base64.b64encode(plots(data, told)).decode('ascii')}"
    write_page("data_stats.html", target, told=told, picture=picture, spreads=SPREADS)
