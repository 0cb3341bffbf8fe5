"""The settings of a run with where each came from, and the detectors that there are, on a terminal."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

from unstall.base.console import make_printable, print_clean, print_line
from unstall.config.toml_file import CONFIG, list_groups

if TYPE_CHECKING:
    from rich.console import Console


def show_settings(plain: dict[str, Any], out: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("setting", "value", "from"):
        table.add_column(name, no_wrap=name in {"setting", "from"}, overflow="fold")
    for heading, names in list_groups().items():
        table.add_row(Text(heading, style="bold"))
        for name in names:
            source = plain["sources"][name]
            value = Text(make_printable(format_value(plain["settings"][name])), style="dim" if source == "default" else "cyan")
            table.add_row(f"  {name}", value, Text(make_printable(source), style="dim"))
    print_clean(out, table)


def format_value(value: Any) -> str:
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def show_models(plain: dict[str, Any], out: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim")  # so that it fits into 80 columns
    for name in ("model", "weights", "image", "batch", "epochs", "optimizer", "lr"):
        table.add_column(name, justify="left" if name in {"model", "optimizer"} else "right", no_wrap=True)
    for row in plain["models"]:
        image = "×".join(map(str, row["image_size"]))
        rest = (str(row[name]) for name in ("batch_size", "epochs", "optimizer"))
        table.add_row(
            Text(row["model"], style="bold"), f"{row['parameters'] / 1e6:.1f} M", image, *rest, f"{row['learning_rate']:g}"
        )
    print_clean(out, table)
    for family, summary in plain["families"].items():
        print_line(out, Text(f"{family}: {summary}", style="dim"))


def show_suggested(plain: dict[str, Any], out: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("setting", "value", "why"):
        table.add_column(name, no_wrap=name == "setting", overflow="fold")
    for name, value in plain["settings"].items():
        table.add_row(
            name,
            Text(make_printable(format_value(value)), style="cyan"),
            Text(make_printable(plain["why"].get(name, "")), style="dim"),
        )
    print_clean(out, table)
    named = "" if plain["file"] == CONFIG else f" --config {shlex.quote(plain['file'])}"
    print_line(out, Text(f"{plain['file']} was written. Next: unstall train{named}"))
