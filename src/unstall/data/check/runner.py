"""Looks at a whole data set: every image, every box, every problem."""

from __future__ import annotations

import importlib
import pkgutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType
from typing import Any

from unstall.base.progress import Progress
from unstall.data.check import problems
from unstall.data.check.context import CheckedData, Severity
from unstall.data.check.images import look_at_all
from unstall.data.example import DataSet, Finding

_GRAVEST_FIRST = list(Severity)


@cache
def problem_names() -> tuple[str, ...]:
    return tuple(sorted(info.name for info in pkgutil.iter_modules(problems.__path__)))


@cache
def problem_module(name: str) -> ModuleType:
    return importlib.import_module(f"{problems.__name__}.{name}")


def severity_of(problem: str) -> Severity:
    severity: Severity = problem_module(problem).SEVERITY
    return severity


@dataclass(frozen=True)
class Report:
    """What was found, the gravest first."""

    checked: CheckedData
    found: dict[str, list[Finding]]  # by problem; only those that were found
    seconds: float

    @property
    def breaks(self) -> bool:
        return any(severity_of(problem) is Severity.BREAKS for problem in self.found)

    def count(self, severity: Severity) -> int:
        return sum(len(findings) for problem, findings in self.found.items() if severity_of(problem) is severity)


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
    return Report(checked, examine(checked, problem_names(), progress), time.perf_counter() - began)


def examine(checked: CheckedData, names: Sequence[str], progress: Progress | None = None) -> dict[str, list[Finding]]:
    found = {}
    for number, name in enumerate(names):
        findings = problem_module(name).examine(checked)
        if findings:
            found[name] = findings
        if progress is not None:
            progress("examining", number + 1, len(names))
    return dict(sorted(found.items(), key=lambda item: (_GRAVEST_FIRST.index(severity_of(item[0])), -len(item[1]), item[0])))


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
        "breaks": report.breaks,
        "problems": [
            {
                "problem": problem,
                "severity": severity_of(problem).value,
                "count": len(findings),
                "findings": [finding_as_plain(finding) for finding in findings],
            }
            for problem, findings in report.found.items()
        ],
    }


def finding_as_plain(finding: Finding) -> dict[str, Any]:
    return {
        "message": finding.message,
        "file": finding.origin.file,
        "line": finding.origin.line,
        "field": finding.origin.field,
        "example": finding.example,
        "box": finding.box,
    }
