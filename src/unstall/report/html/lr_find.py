"""The plot of `unstall lr-find`: loss against rate, as a picture, a page, and in characters on a terminal."""

from __future__ import annotations

import base64
import io
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unstall.base.console import print_line
from unstall.base.errors import InvalidInputError

if TYPE_CHECKING:
    from rich.console import Console

ROWS, COLUMNS = 12, 72
HEADROOM = 1.6  # times the first loss; what diverges further is cut off


def write_plot(plain: dict[str, Any], target: Path) -> None:
    try:
        target.write_bytes(plot(plain))
    except OSError as error:
        raise InvalidInputError(f"Cannot write the picture to '{target}': {error.strerror}.") from None


def write_lr_find(plain: dict[str, Any], target: Path) -> None:
    from unstall.report.html.page import write_page

    picture = f"data:image/png;base64,{base64.b64encode(plot(plain)).decode('ascii')}"
    write_page("lr_find.html", target, result=plain, picture=picture)


def plot(plain: dict[str, Any]) -> bytes:
    """PNG."""
    from matplotlib.figure import Figure

    from unstall.report.html.data import INK, name_axis

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
