"""How well a detector does, on a terminal."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unstall.base.console import make_printable, print_clean, print_line
from unstall.base.formatting import format_count, shorten
from unstall.config.aliases import update_names
from unstall.journal.run_folder import RunFolder

if TYPE_CHECKING:
    from rich.console import Console

CLASSES = 30
MISTAKEN = 6
FIGURES = {
    "AP": ("AP", "IoU 0.50 to 0.95"),
    "AP50": ("AP50", "IoU 0.50"),
    "AP75": ("AP75", "IoU 0.75"),
    "AP_small": ("AP small", "objects below 32² pixels"),
    "AP_medium": ("AP medium", "32² to 96²"),
    "AP_large": ("AP large", "above 96²"),
    "AR_1": ("AR 1", "recall with one detection of a class in an image"),
    "AR_10": ("AR 10", "with ten"),
    "AR_100": ("AR 100", "with a hundred"),
    "AR_small": ("AR small", "objects below 32² pixels"),
    "AR_medium": ("AR medium", "32² to 96²"),
    "AR_large": ("AR large", "above 96²"),
}


def show_score(plain: dict[str, Any], out: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 3, 0, 0), show_header=False)
    for key, (name, meaning) in FIGURES.items():
        table.add_row(name, format_number(plain["figures"][key]), Text(meaning, "dim"))
    print_clean(out, table)
    classes = Table(box=None, padding=(0, 3, 0, 0), header_style="dim")
    for name in ("class", "objects", "AP", "AP50", "AP75", "AR 100"):
        classes.add_column(name, justify="left" if name == "class" else "right")
    for row in plain["classes"][:CLASSES]:
        figures = (format_number(row[key]) for key in ("AP", "AP50", "AP75", "AR_100"))
        classes.add_row(Text(make_printable(row["class"])), f"{row['objects']:,}", *figures)
    if len(plain["classes"]) > CLASSES:
        classes.add_row(f"and {len(plain['classes']) - CLASSES} more")
    print_clean(out, classes)
    for line in format_mistakes(plain["confusion"]):
        print_line(out, Text(make_printable(line)))
    for each in plain["skipped"]:
        print_line(out, Text(f"not read: {make_printable(each['example'])}: {make_printable(each['why'])}"))
    if plain["classes_unknown_to_the_detector"]:
        unknown = ", ".join(plain["classes_unknown_to_the_detector"])
        print_line(out, Text(make_printable(f"the detector does not know: {unknown}")))
    print_line(out, Text(f"{format_count(plain['images'], 'image')} of {plain['data']}, on {plain['backend']}"))


def format_number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def format_mistakes(confusion: dict[str, Any]) -> list[str]:
    """What is most often taken for something else."""
    names, table = [shorten(name) for name in confusion["classes"]], confusion["table"]
    background = len(names) - 1
    pairs = [
        (count, row, column) for row, counts in enumerate(table) for column, count in enumerate(counts) if row != column and count
    ]
    lines = []
    for count, row, column in sorted(pairs, key=lambda pair: -pair[0])[:MISTAKEN]:
        if column == background:
            lines.append(f"{count:,} × {names[row]} not found")
        elif row == background:
            lines.append(f"{count:,} × {names[column]} where there is none")
        else:
            lines.append(f"{count:,} × {names[row]} taken for {names[column]}")
    return lines


# What a training of Unstall's own has left beside its journal: settings, the score of its best weights, pictures.
#
# A program that is only watched has none of it. A file that cannot be read, or is no such file, is as if it were not there.


OF_A_CLASS = ("objects", "AP", "AP50", "AP75", "AR_100")
MAX_CLASSES = 1500
MAX_PICTURES = 6
MAX_PICTURE_BYTES = 120_000  # of each, in the page
JPEG = b"\xff\xd8"  # how its file begins
TRIES = ((900, 80), (700, 70), (500, 60))  # pixels of the longer side, and the quality


def read_settings(run: RunFolder) -> dict[str, Any]:
    return update_names(_read(run.path / "settings.json"))


def read_score(run: RunFolder) -> dict[str, Any] | None:
    """COCO's figures and those of each class, as `unstall evaluate` gives them, and what is most often wrong."""
    result = _read(run.path / "score.json")
    figures, classes = result.get("figures"), result.get("classes")
    if not isinstance(figures, dict) or not isinstance(classes, list):
        return None
    confusion = result.get("confusion")
    return {
        "epoch": result.get("epoch"),
        "images": result.get("images"),
        "data": result.get("data"),
        "figures": [
            {"name": name, "meaning": meaning, "value": _number(figures.get(key))} for key, (name, meaning) in FIGURES.items()
        ],
        "classes": [_of_class(row) for row in classes[:MAX_CLASSES] if isinstance(row, dict)],
        "mistaken": format_mistakes(confusion) if isinstance(confusion, dict) else [],
    }


def list_places(run: RunFolder) -> list[tuple[str, str]]:
    """Where what it has left lies; of a run that is kept in a bucket also where that is, as the disk may be gone tomorrow."""
    named = {
        "best weights": run.best_weights_path,
        "last weights": run.last_weights_path,
        "history": run.history_path,
        "pictures": run.predictions_path,
    }
    there = [(name, str(path)) for name, path in named.items() if path.exists()]
    return [*there, *([("copied to", run.bucket)] if run.bucket else [])]


def _of_class(row: dict[str, Any]) -> dict[str, Any]:
    return {"name": str(row.get("class", "")), **{key: _number(row.get(key)) for key in OF_A_CLASS}}


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) else None


def _read(path: Path) -> dict[str, Any]:
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return plain if isinstance(plain, dict) else {}


def list_pictures(run: RunFolder) -> list[str]:
    """Where they lie: predictions beside what is there. A link may lead to anything, and what it leads to would be shown."""
    try:
        found = [path for path in sorted((run.path / "predictions").glob("*.png")) if not path.is_symlink()]
    except PermissionError:
        return []
    return [str(path) for path in found[:MAX_PICTURES]]


def encode_picture(path: str) -> str | None:
    """A picture as an address that holds it; None where it cannot be read, or is too large and nothing can make it smaller."""
    try:
        stored = Path(path).read_bytes()
    except OSError:
        return None
    if len(stored) <= MAX_PICTURE_BYTES:
        return _address("jpeg" if stored.startswith(JPEG) else "png", stored)
    smaller = next((each for each in _smaller(stored) if len(each) <= MAX_PICTURE_BYTES), None)
    return _address("jpeg", smaller) if smaller is not None else None


def _address(kind: str, contents: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(contents).decode('ascii')}"


def _smaller(stored: bytes) -> Iterator[bytes]:
    """As JPEG, smaller and smaller. By Pillow, which whoever trains has; the watcher alone need not."""
    try:
        from PIL import Image
    except ModuleNotFoundError:
        return
    try:
        picture = Image.open(io.BytesIO(stored)).convert("RGB")
        for side, quality in TRIES:
            out = io.BytesIO()
            picture.thumbnail((side, side))
            picture.save(out, "JPEG", quality=quality)
            yield out.getvalue()
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):  # what Pillow raises for what is no picture
        return
