"""The plots of `unstall evaluate`: precision against recall, and what is taken for what."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

from unstall.base.errors import InvalidInputError
from unstall.report.html.data import INK, name_axis
from unstall.report.html.page import write_page
from unstall.training.summary import FIGURES, format_mistakes

MAX_CURVES = 12
MAX_IN_TABLE = 30


def write_plots(plain: dict[str, Any], target: Path) -> None:
    try:
        target.write_bytes(draw_plots(plain))
    except OSError as error:
        raise InvalidInputError(f"Cannot write the picture to '{target}': {error.strerror}.") from None


def draw_plots(plain: dict[str, Any]) -> bytes:
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
    picture = f"data:image/png;base64,{base64.b64encode(draw_plots(plain)).decode('ascii')}"
    write_page("score.html", target, result=plain, picture=picture, figures=FIGURES, mistaken=format_mistakes(plain["confusion"]))
