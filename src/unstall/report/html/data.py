"""The plots of `unstall data stats`, as one picture."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unstall.base.errors import InvalidInputError
from unstall.report.html.page import write_page
from unstall.report.terminal.data import SPREADS

if TYPE_CHECKING:
    from unstall.data.check.runner import Report
    from unstall.data.example import DataSet

INK, FILL, SECOND = "#33363d", "#3d7fd9", "#e08a1e"
MAX_CLASSES = 25
MAX_POINTS = 20_000  # of the cloud of box sizes


def write_plots(data: DataSet, plain: dict[str, Any], target: Path) -> None:
    try:
        target.write_bytes(draw_plots(data, plain))
    except OSError as error:
        raise InvalidInputError(f"Cannot write the picture to '{target}': {error.strerror}.") from None


def draw_plots(data: DataSet, plain: dict[str, Any]) -> bytes:
    """PNG."""
    import numpy as np
    from matplotlib.figure import Figure

    from unstall.data.check.context import CheckedData

    table = CheckedData(data, {}).table
    sides = table.boxes[:, 2:] - table.boxes[:, :2]
    sides = sides[np.isfinite(sides).all(axis=1) & (sides > 0).all(axis=1)]
    figure = Figure(figsize=(13, 7.6), dpi=110, layout="constrained")
    axes = figure.subplots(2, 3).ravel()
    _classes(axes[0], plain)
    counts = np.array([example.count for example in data.examples])
    largest = int(counts.max(initial=1))
    axes[1].hist(counts, bins=np.arange(-0.5, min(largest, 60) + 1.5) if largest <= 60 else 60, color=FILL)
    name_axis(axes[1], "Boxes in an image", "boxes", "images")
    if len(sides):
        _logarithmic(axes[2], np.sqrt(sides.prod(axis=1)), "Size of the boxes", "square root of the area, pixels")
        for limit in (32, 96):
            axes[2].axvline(limit, color=SECOND, linewidth=1.2)
        _logarithmic(axes[3], sides[:, 0] / sides[:, 1], "Shape of the boxes", "width over height")
        shown = sides[np.random.default_rng(0).permutation(len(sides))[:MAX_POINTS]]
        axes[4].scatter(shown[:, 0], shown[:, 1], s=3, alpha=0.25, color=FILL, linewidths=0, rasterized=True)
        _logarithmic_axis(axes[4], "x")
        _logarithmic_axis(axes[4], "y")
        name_axis(axes[4], "Width and height", "width, pixels", "height, pixels")
    _anchors(axes[5], plain)
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return out.getvalue()


def _classes(axis: Any, plain: dict[str, Any]) -> None:
    rows = plain["classes"][:MAX_CLASSES][::-1]
    axis.barh([row["class"].replace("$", r"\$")[:24] for row in rows], [row["boxes"] for row in rows], color=FILL)
    more = len(plain["classes"]) - len(rows)
    name_axis(axis, "Boxes of each class" + (f" ({more} more)" if more > 0 else ""), "boxes", "")
    axis.tick_params(axis="y", labelsize=8 if len(rows) > 12 else 10)


def _logarithmic(axis: Any, values: Any, title: str, label: str) -> None:
    import numpy as np

    low, high = float(values.min()), float(values.max())
    axis.hist(values, bins=np.geomspace(low * 0.99, high * 1.01, 50), color=FILL)
    _logarithmic_axis(axis, "x")
    name_axis(axis, title, label, "boxes")


def _logarithmic_axis(axis: Any, which: str) -> None:
    """With numbers that people read: 20, 50, 100."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set(**{f"{which}scale": "log"})
    own = axis.xaxis if which == "x" else axis.yaxis
    own.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    own.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    own.set_minor_formatter(NullFormatter())


def _anchors(axis: Any, plain: dict[str, Any]) -> None:
    fits = plain["anchors"][::-1]
    names = [row["detector"].replace("_v3_large", "").replace("_resnet50_fpn", "") for row in fits]
    axis.barh(names, [row["recall"] for row in fits], color=FILL)
    axis.set_xlim(0, 1)
    axis.tick_params(axis="y", labelsize=8)
    name_axis(axis, "Boxes with an anchor of IoU 0.5", "share", "")


def name_axis(axis: Any, title: str, across: str, up: str) -> None:
    axis.set_title(title, fontsize=11, color=INK, loc="left")
    axis.set_xlabel(across, fontsize=9, color=INK)
    axis.set_ylabel(up, fontsize=9, color=INK)
    axis.spines[["top", "right"]].set_visible(False)


# What was found in a data set as one page that needs nothing else: tables, and pictures of the worst with their boxes.


MAX_PICTURES = 36
PICTURES_OF_ONE = 4  # of one problem
LISTED = 20  # findings of each problem; all are in the JSON
SIDE = 420  # pixels of a picture


def write_check(report: Report, target: Path) -> None:
    from unstall.data.check.context import Severity
    from unstall.data.check.defects import draw_defects, find_row
    from unstall.data.check.runner import as_plain

    left = MAX_PICTURES
    problems = []
    for problem in report.found:
        pictures = [
            {"name": picture.name, "source": as_data_url(picture.image)}
            for picture in draw_defects(report, problem, min(left, PICTURES_OF_ONE), SIDE)
        ]
        left -= len(pictures)
        problems.append({**find_row(report, problem, LISTED), "pictures": pictures})
    counts = {severity.value: report.count(severity) for severity in Severity}
    write_page("data_check.html", target, data=as_plain(report), problems=problems, counts=counts)


def as_data_url(picture: Any, kind: str = "JPEG") -> str:
    out = io.BytesIO()
    picture.save(out, kind, quality=82)
    return f"data:image/{kind.lower()};base64,{base64.b64encode(out.getvalue()).decode('ascii')}"


def write_stats(data: DataSet, plain: dict[str, Any], target: Path) -> None:

    picture = f"data:image/png;base64,{base64.b64encode(draw_plots(data, plain)).decode('ascii')}"
    write_page("data_stats.html", target, result=plain, picture=picture, spreads=SPREADS)
