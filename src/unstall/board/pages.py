"""The list as a page, and what has changed in it since. Markup of a row is made once for each change of the row."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from unstall.board.catalogue import Catalogue
from unstall.board.rows import TONES, Row, find_script
from unstall.report.html import page

if TYPE_CHECKING:
    from markupsafe import Markup

ICONS = {
    "stuck": "✖", "failed": "✗", "killed": "✗", "idle": "◦", "slow": "▲", "interrupted": "‖", "repaired": "↻", "training": "▶",
    "running": "▶", "starting": "◌", "done": "✓", "ended": "–", "unknown": "?",
}  # fmt: skip


class ListPage:
    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._markup: dict[str, tuple[Row, Markup]] = {}

    def whole(self) -> str:
        rows = self._catalogue.look()
        shown = [{**row, "markup": self._marked(row)} for row in rows]
        return page.render("board/list.html", rows=shown, folder=str(self._catalogue.folder), **self._around(rows))

    def since(self, version: str) -> dict[str, Any]:
        """What a page that has seen `version` does not know yet: markup of rows by name, runs that are gone, the order."""
        rows = self._catalogue.look()
        number = self._number(version)
        changed, gone = self._catalogue.changed_since(number)
        around = self._around(rows)
        macros = page.load_macros("board/row.html")
        return {
            "version": around["version"],
            "build": around["build"],
            "rows": {row["run"]: str(self._marked(row)) for row in changed},
            "gone": gone,
            "order": [row["run"] for row in rows] if changed or gone else None,
            "alarm": str(macros.alarm(around["stuck"])),
            "counts": str(macros.counted(around["counts"], len(rows))),
            "title": around["title"],
            "icon": around["icon"],
        }

    def _number(self, version: str) -> int:
        """0, of which everything is new, for what another process has said, or nobody."""
        era, _, number = version.partition(".")
        return int(number) if era == self._catalogue.era and number.isdecimal() and len(number) < 18 else 0

    def _around(self, rows: list[Row]) -> dict[str, Any]:
        stuck = [
            {"run": row["run"], "address": build_address(row["run"]), "distributed": row["distributed"]}
            for row in rows
            if row["tone"] == "alarm"
            and not (row["distributed"] or {}).get("blocked_by")  # who is held is told with who holds it
        ]
        counts = Counter(row["state"] for row in rows)
        return {
            "stuck": stuck,
            "counts": {state: counts[state] for state in TONES if counts[state]},
            "title": _title(len(stuck), sum(row["is_live"] for row in rows)),
            "icon": page.load_icon(bool(stuck)),
            "assets": page.load_list_assets(),
            "version": f"{self._catalogue.era}.{self._catalogue.number}",
            "build": build(),
        }

    def _marked(self, row: Row) -> Markup:
        known = self._markup.get(row["run"])
        if known is not None and known[0] is row:
            return known[1]
        changed = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row["changed_at"]))
        shown = {**row, "icon": ICONS[row["state"]], "address": build_address(row["run"]), "script": find_script(row)}
        made: Markup = page.load_macros("board/row.html").run_row({**shown, "changed_iso": changed})
        self._markup[row["run"]] = (row, made)
        return made


def build_address(name: str) -> str:
    return f"run/{quote(name, safe='', errors='surrogateescape')}"


def build() -> str:
    """Of the list's own script: a page of another version loads itself anew."""
    return hashlib.sha256(page.load_list_assets().script.encode("utf-8")).hexdigest()[:12]


def _title(stuck: int, live: int) -> str:
    if stuck:
        return f"✖ {stuck} stuck – Unstall"
    return f"{live} live – Unstall" if live else "Runs – Unstall"
