"""Looks at a whole data set: every image, every box, every problem."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from unstall.base.console import Progress
from unstall.data.check.context import CheckedData, Severity
from unstall.data.check.images import look_at_all
from unstall.data.check.problems import PROBLEMS
from unstall.data.example import DataSet, Finding

_GRAVEST_FIRST = list(Severity)


def get_severity(problem: str) -> Severity:
    severity: Severity = PROBLEMS.module(problem).SEVERITY
    return severity


@dataclass(frozen=True)
class Report:
    """What was found, the gravest first."""

    checked: CheckedData
    found: dict[str, list[Finding]]  # by problem; only those that were found
    seconds: float

    @property
    def has_errors(self) -> bool:
        return any(get_severity(problem) is Severity.ERROR for problem in self.found)

    def count(self, severity: Severity) -> int:
        return sum(len(findings) for problem, findings in self.found.items() if get_severity(problem) is severity)


def check(data: DataSet, with_images: bool = True, progress: Progress | None = None) -> Report:
    began = time.perf_counter()
    images = {}
    if with_images:
        total, done = len(data.examples), 0

        def advance(count: int) -> None:
            nonlocal done
            done += count
            if progress is not None:
                progress("looking at images", done, total)

        images = look_at_all(data.examples, advance)
    elif data.examples and all(example.image is None for example in data.examples):  # annotations alone, as was asked
        data = replace(data, findings=tuple(finding for finding in data.findings if finding.problem != "image_missing"))
    checked = CheckedData(data, images)
    return Report(checked, examine(checked, PROBLEMS.names(), progress), time.perf_counter() - began)


def examine(checked: CheckedData, names: Sequence[str], progress: Progress | None = None) -> dict[str, list[Finding]]:
    found = {}
    for number, name in enumerate(names):
        findings = PROBLEMS.module(name).examine(checked)
        if findings:
            found[name] = findings
        if progress is not None:
            progress("examining", number + 1, len(names))
    return dict(sorted(found.items(), key=lambda item: (_GRAVEST_FIRST.index(get_severity(item[0])), -len(item[1]), item[0])))


def as_plain(report: Report) -> dict[str, Any]:
    """Every finding, as plain data."""
    data = report.checked.data
    return {
        "path": str(data.path),
        "format": data.format,
        "images": len(data.examples),
        "images_looked_at": len(report.checked.images),
        "boxes": data.box_count,
        "classes": list(data.classes),
        "seconds": round(report.seconds, 3),
        "has_errors": report.has_errors,
        "problems": [
            {
                "problem": problem,
                "severity": get_severity(problem).value,
                "count": len(findings),
                "findings": [convert_finding_to_plain(finding) for finding in findings],
            }
            for problem, findings in report.found.items()
        ],
    }


def convert_finding_to_plain(finding: Finding) -> dict[str, Any]:
    return {
        "message": finding.message,
        "file": finding.origin.file,
        "line": finding.origin.line,
        "field": finding.origin.field,
        "example": finding.example,
        "box": finding.box,
    }
