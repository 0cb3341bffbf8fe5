"""The defects of a data set with small pictures of the worst: told by the process that looked, kept in the folder of the run
that learns from the data, shown on its page.

Only errors and warnings. What is rightly there in many data sets is no defect of a run.
"""

from __future__ import annotations

import io
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unstall.base.files import make_private_folder, write_private, write_whole
from unstall.journal.legacy_names import update_defect
from unstall.journal.run_folder import RunFolder

if TYPE_CHECKING:
    from unstall.data.check.runner import Report

from pathlib import PurePath
from typing import TYPE_CHECKING

from unstall.base.console import make_printable

if TYPE_CHECKING:
    pass

FOLDER, DEFECTS_FILE = "data-defects", "defects.json"  # in a run's folder
SEVERITIES = ("error", "warning")
MAX_PROBLEMS = 30
MAX_PICTURES = 20
PICTURES_OF_ONE = 3  # of one problem
LISTED = 3  # findings of each problem
SIDE = 240  # pixels of a picture
MAX_BYTES = 14_000  # of a picture; all of them must fit into a page of 3 MiB
QUALITIES = (75, 55, 35)
MAX_LETTERS = 600  # of what a problem is, and what to do
MAX_OF_A_PLACE = 200  # letters, and of what was found there
_NAME = re.compile(r"[a-z0-9_]+")  # of a problem
_PICTURE = re.compile(r"[0-9]{1,3}\.jpg")


# --- by the process of the checks, which may load what it needs ---


def describe_defects(report: Report, folder: Path) -> dict[str, Any]:
    """The defects as plain data. Pictures are written to the folder; where it cannot be written, there are none."""
    from unstall.data.check.runner import get_severity

    data = report.checked.data
    grave = [problem for problem in report.found if get_severity(problem).value in SEVERITIES]
    problems = [{**find_row(report, problem, LISTED), "pictures": []} for problem in grave[:MAX_PROBLEMS]]
    try:
        shutil.rmtree(folder, ignore_errors=True)
        if problems:
            folder.mkdir(parents=True)
            _draw(report, problems, folder)
    except OSError:
        pass  # words are better than nothing
    return {
        "data": str(data.path),
        "images": len(data.examples),
        "images_looked_at": len(report.checked.images),
        "problems": problems,
        "folder": str(folder),
    }


def _draw(report: Report, problems: list[dict[str, Any]], folder: Path) -> None:

    count = 0
    for row in problems:
        for picture in draw_defects(report, row["name"], min(MAX_PICTURES - count, PICTURES_OF_ONE), SIDE):
            contents = _as_jpeg(picture.image)
            if contents is None:
                continue
            (folder / f"{count}.jpg").write_bytes(contents)
            row["pictures"].append({"name": picture.name, "message": picture.message, "file": f"{count}.jpg"})
            count += 1


def _as_jpeg(picture: Any) -> bytes | None:
    """As good as there is room for."""
    picture.thumbnail((2 * SIDE, 2 * SIDE))  # with the frame that shows boxes outside of the image
    for quality in QUALITIES:
        out = io.BytesIO()
        picture.save(out, "JPEG", quality=quality)
        if out.tell() <= MAX_BYTES:
            return out.getvalue()
    return None


# --- by the supervisor and the report, which load nothing ---


def keep(run: RunFolder, plain: dict[str, Any]) -> None:
    """In the run's folder, in place of what was kept there before. OSError where the disk does not take it."""
    target = run.path / FOLDER
    shutil.rmtree(target, ignore_errors=True)
    if not plain.get("problems"):
        return
    make_private_folder(target)
    source = Path(plain["folder"])
    for row in plain["problems"]:
        for picture in row["pictures"]:
            try:
                write_private(target / picture["file"], (source / picture["file"]).read_bytes())
            except FileNotFoundError:
                continue  # the cache was tidied up meanwhile
    write_whole(
        target / DEFECTS_FILE, json.dumps({key: value for key, value in plain.items() if key != "folder"}, indent=1) + "\n"
    )


def read_run_defects(run: RunFolder) -> dict[str, Any] | None:
    """None where nothing was found, or nobody looked. What is not as it should be is left out: a run may come from a stranger."""
    folder = run.path / FOLDER
    try:
        plain = json.loads((folder / DEFECTS_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    rows = [update_defect(row) for row in _rows(plain.get("problems"))] if isinstance(plain, dict) else []
    pictures = 0
    problems = []
    for row in [row for row in rows if _NAME.fullmatch(_text(row.get("name")))][:MAX_PROBLEMS]:
        shown = list(_pictures(row, folder))[: MAX_PICTURES - pictures]
        pictures += len(shown)
        problems.append({**_of_problem(row), "pictures": shown})
    if not problems:
        return None
    return {
        "data": _text(plain.get("data")),
        "images": _count(plain.get("images")),
        "images_looked_at": _count(plain.get("images_looked_at")),
        "problems": problems,
    }


def _of_problem(row: dict[str, Any]) -> dict[str, Any]:
    return {
        **{key: _text(row.get(key)) for key in ("name", "summary", "impact", "action")},
        "severity": row["severity"] if row.get("severity") in SEVERITIES else SEVERITIES[-1],
        "count": _count(row.get("count")),
        "listed": [{key: _short(each.get(key)) for key in ("place", "message")} for each in _rows(row.get("listed"))[:LISTED]],
    }


def _pictures(row: dict[str, Any], folder: Path) -> Iterator[dict[str, str]]:
    """Only what lies in the folder itself: a link may lead to anything, and what it leads to would be shown."""
    for picture in _rows(row.get("pictures")):
        file = _text(picture.get("file"))
        if _PICTURE.fullmatch(file) and _is_small_file(folder / file):
            yield {**{key: _short(picture.get(key)) for key in ("name", "message")}, "path": str(folder / file)}


def _is_small_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and path.stat().st_size <= MAX_BYTES


def _rows(value: object) -> list[dict[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _text(value: object, most: int = MAX_LETTERS) -> str:
    text = value if isinstance(value, str) else ""
    return text if len(text) <= most else text[: most - 1] + "…"


def _short(value: object) -> str:
    return _text(value, MAX_OF_A_PLACE)


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


# A defect of a data set as a page shows it: what it is, where it stands, and pictures with what is wrong in red.


@dataclass(frozen=True)
class DefectPicture:
    image: Any  # as Pillow has it
    name: str  # of the example
    message: str  # of its first finding


def find_row(report: Report, problem: str, listed: int) -> dict[str, Any]:
    """Words and figures as plain data; of its findings no more than are listed."""
    from unstall.data.check.problems import read_sections
    from unstall.data.check.runner import convert_finding_to_plain, get_severity

    page, findings = read_sections(problem), report.found[problem]
    return {
        "name": problem,
        "severity": get_severity(problem).value,
        "count": len(findings),
        "summary": page[""],
        "impact": page["What it does to a training"],
        "action": page["What to do"],
        "listed": [
            {"place": place_defect(convert_finding_to_plain(finding)), "message": finding.message}
            for finding in findings[:listed]
        ],
    }


def draw_defects(report: Report, problem: str, most: int, side: int) -> Iterator[DefectPicture]:
    """The first images that it was found in, each with all the boxes that it was found at."""
    from unstall.data.tools.visualization import draw_boxes

    checked = report.checked
    marked: dict[str, set[int]] = {}
    messages: dict[str, str] = {}
    for finding in report.found[problem]:
        if finding.example in checked.rows and (finding.example in marked or len(marked) < most):
            marked.setdefault(finding.example, set()).update([finding.box] if finding.box is not None else [])
            messages.setdefault(finding.example, finding.message)
    for name, boxes in marked.items():
        example = checked.data.examples[checked.rows[name]]
        yield DefectPicture(draw_boxes(example, checked.data.classes, side, boxes, has_frame=True), name, messages[name])


def place_defect(finding: dict[str, Any]) -> str:
    """file:line of a finding, for a person to find it, and the image's name where the annotation's does not tell it."""
    where = finding["file"] if finding["line"] is None else f"{finding['file']}:{finding['line']}"
    field = f": {finding['field']}" if finding["field"] else ""
    return make_printable(f"{where}{field}{_image(finding)}:")


def _image(finding: dict[str, Any]) -> str:
    name = finding["example"]
    is_named = name in {"", finding["file"]} or (
        finding["box"] is not None and PurePath(name).stem == PurePath(finding["file"]).stem
    )
    return "" if is_named else f" ({name})"
