"""The pages and pictures of what a command has found: `data check`, `data stats`, `lr-find` and `evaluate`."""

from __future__ import annotations

import base64
import io
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unstall.base.console import print_line
from unstall.base.errors import InvalidInputError
from unstall.report.html.page import write_page
from unstall.report.terminal.data import SPREADS
from unstall.training.summary import FIGURES, format_mistakes

if TYPE_CHECKING:
    from rich.console import Console

    from unstall.data.check.runner import Report
    from unstall.data.example import DataSet

INK, FILL, SECOND = "#33363d", "#3d7fd9", "#e08a1e"
MAX_CLASSES = 25
MAX_POINTS = 20_000  # of the cloud of box sizes


def write_data_plots(data: DataSet, plain: dict[str, Any], target: Path) -> None:
    try:
        target.write_bytes(draw_data_plots(data, plain))
    except OSError as error:
        raise InvalidInputError(f"Cannot write the picture to '{target}': {error.strerror}.") from None


def draw_data_plots(data: DataSet, plain: dict[str, Any]) -> bytes:
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

    picture = f"data:image/png;base64,{base64.b64encode(draw_data_plots(data, plain)).decode('ascii')}"
    write_page("data_stats.html", target, result=plain, picture=picture, spreads=SPREADS)


# The plot of `unstall lr-find`: loss against rate, as a picture, a page, and in characters on a terminal.


ROWS, COLUMNS = 12, 72
HEADROOM = 1.6  # times the first loss; what diverges further is cut off


def write_lr_find_plot(plain: dict[str, Any], target: Path) -> None:
    try:
        target.write_bytes(draw_lr_find_plot(plain))
    except OSError as error:
        raise InvalidInputError(f"Cannot write the picture to '{target}': {error.strerror}.") from None


def write_lr_find(plain: dict[str, Any], target: Path) -> None:
    from unstall.report.html.page import write_page

    picture = f"data:image/png;base64,{base64.b64encode(draw_lr_find_plot(plain)).decode('ascii')}"
    write_page("lr_find.html", target, result=plain, picture=picture)


def draw_lr_find_plot(plain: dict[str, Any]) -> bytes:
    """PNG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5), dpi=110, layout="constrained")
    axis = figure.subplots()
    rates, curve = plain["learning_rates"], plain["smoothed"]
    axis.plot(rates, plain["losses"], color=INK, alpha=0.25, linewidth=1, label="each step")
    axis.plot(rates, curve, color=INK, linewidth=2, label="smoothed")
    suggested = plain["suggestion"]["learning_rate"]
    if suggested is not None:
        axis.axvline(suggested, color="tab:green", linestyle="--", label=f"suggested: {suggested:g}")
    axis.set_xscale("log")
    axis.set_ylim(*_range(curve))
    axis.legend(frameon=False)
    name_axis(axis, f"{plain['model']}: loss at rising rates", "learning rate", "loss")
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return out.getvalue()


def show_lr_find(plain: dict[str, Any], out: Console) -> None:
    from rich.text import Text

    for line in draw_curve(plain["learning_rates"], plain["smoothed"], plain["suggestion"]["learning_rate"]):
        print_line(out, Text(line, style="cyan"))
    found = plain["suggestion"]
    print_line(out, Text(f"{plain['model']}, {plain['optimizer']}, batch {plain['batch_size']}: {found['why']}"))
    if found["learning_rate"] is not None:
        print_line(out, Text(f"suggested: --learning-rate {found['learning_rate']:g}", style="bold green"))


def draw_curve(rates: list[float], curve: list[float], suggested: float | None) -> list[str]:
    """Loss upwards, the logarithm of the rate to the right; a line marks what is suggested."""
    if len(rates) < 2:
        return []
    low, high = _range(curve)
    first, last = math.log10(rates[0]), math.log10(rates[-1])

    def column_of(rate: float) -> int:
        return round((math.log10(rate) - first) / (last - first) * (COLUMNS - 1))

    cells = [[" "] * COLUMNS for _ in range(ROWS)]
    if suggested is not None and rates[0] <= suggested <= rates[-1]:
        for row in cells:
            row[column_of(suggested)] = "┊"
    for rate, loss in zip(rates, curve, strict=True):
        if math.isfinite(loss):
            height = min(1.0, max(0.0, (loss - low) / (high - low)))
            cells[ROWS - 1 - round(height * (ROWS - 1))][column_of(rate)] = "•"
    labels = [f"{high:8.3g}", *[" " * 8] * (ROWS - 2), f"{low:8.3g}"]
    lines = [f"{label} │{''.join(row)}".rstrip() for label, row in zip(labels, cells, strict=True)]
    ends = f"{rates[0]:.1e}", f"{rates[-1]:.1e}"
    return [*lines, f"{'loss':>8} └{'─' * COLUMNS}", f"{'rate':>8}  {ends[0]}{ends[1]:>{COLUMNS - len(ends[0])}}"]


def _range(curve: list[float]) -> tuple[float, float]:
    finite = [loss for loss in curve if math.isfinite(loss)] or [0.0, 1.0]
    low, high = min(finite), min(max(finite), HEADROOM * finite[0])
    return (low, high) if high > low else (low, low + 1.0)


# The plots of `unstall evaluate`: precision against recall, and what is taken for what.


MAX_CURVES = 12
MAX_IN_TABLE = 30


def write_evaluation_plots(plain: dict[str, Any], target: Path) -> None:
    try:
        target.write_bytes(draw_evaluation_plots(plain))
    except OSError as error:
        raise InvalidInputError(f"Cannot write the picture to '{target}': {error.strerror}.") from None


def draw_evaluation_plots(plain: dict[str, Any]) -> bytes:
    """PNG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 6), dpi=110, layout="constrained")
    left, right = figure.subplots(1, 2)
    _curves(left, plain["curves"])
    _table(right, plain["confusion"])
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return out.getvalue()


def _curves(axis: Any, curves: dict[str, Any]) -> None:
    shown = [(name, curve) for name, curve in curves["classes"].items() if curve is not None][:MAX_CURVES]
    for name, curve in shown if len(curves["classes"]) > 1 else ():
        axis.plot(curves["recall"], curve, linewidth=1, alpha=0.75, label=_plain(name))
    for name, curve in curves["mean"].items():
        if curve is not None:
            axis.plot(
                curves["recall"],
                curve,
                color=INK,
                linewidth=2.2,
                linestyle="-" if name == "AP50" else "--",
                label=f"mean, {name}",
            )
    axis.set_xlim(0, 1)
    axis.set_ylim(0, 1.02)
    if axis.lines:
        axis.legend(fontsize=8, frameon=False, loc="lower left")
    name_axis(axis, "Precision against recall (classes at IoU 0.50)", "recall", "precision")


def _table(axis: Any, confusion: dict[str, Any]) -> None:
    import numpy as np

    names, counts = confusion["classes"], np.array(confusion["table"], np.float64)
    if len(names) > MAX_IN_TABLE:  # the most frequent, and the background
        often = np.sort(np.argsort(-counts[:-1].sum(axis=1), kind="stable")[: MAX_IN_TABLE - 1])
        often = np.append(often, len(names) - 1)
        names, counts = [names[place] for place in often], counts[np.ix_(often, often)]
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axis.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    if len(names) <= 12:
        for row, column in np.ndindex(*counts.shape):
            colour = "white" if shares[row, column] > 0.5 else INK
            axis.text(column, row, f"{counts[row, column]:.0f}", ha="center", va="center", fontsize=8, color=colour)
    ticks = [_plain(name)[:18] for name in names]
    axis.set_xticks(range(len(names)), ticks, rotation=60, ha="right", fontsize=8)
    axis.set_yticks(range(len(names)), ticks, fontsize=8)
    caption = f"scores from {confusion['score_threshold']:g}, IoU from {confusion['iou_threshold']:g}"
    name_axis(axis, f"What is there, and what was said ({caption})", "said", "there")


def _plain(name: str) -> str:
    """A name as it is: matplotlib would set what stands between dollars as mathematics."""
    return name.replace("$", r"\$")


# How well a detector does, as one page that needs nothing else.


def write_score(plain: dict[str, Any], target: Path) -> None:
    picture = f"data:image/png;base64,{base64.b64encode(draw_evaluation_plots(plain)).decode('ascii')}"
    write_page("score.html", target, result=plain, picture=picture, figures=FIGURES, mistaken=format_mistakes(plain["confusion"]))
