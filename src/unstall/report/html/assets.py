"""What a page wears: its style, its script, and the policy that allows these two by their hashes and nothing else."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TEMPLATES = Path(__file__).parent / "templates"
OF_A_RUN = tuple(
    f"run/{name}.js" for name in ("scales", "drawing", "looking", "zooming", "theme", "page")
)  # in this order, as one
OF_THE_LIST = ("run/theme.js", "board/morphing.js", "board/list.js")
FOLLOWING = ("board/morphing.js", "board/following.js")
# A dot, in the page itself: what is served must not ask for more. It turns red when a run stands still.
ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Ccircle cx='8' cy='8' r='7' fill='COLOUR'/%3E%3C/svg%3E"
)
RED, GREEN = "%23c4261b", "%23187a3e"


@dataclass(frozen=True)
class PageAssets:
    style: str
    script: str
    policy: str


def load_run_assets() -> PageAssets:
    """A page that is a file: it can load nothing at all."""
    return _made(("run.css",), OF_A_RUN)


def load_board_run_assets() -> PageAssets:
    return _made(("run.css", "board/bar.css"), OF_A_RUN + FOLLOWING, is_served=True)


def load_list_assets() -> PageAssets:
    return _made(("run.css", "board/bar.css", "board/list.css"), OF_THE_LIST, is_served=True)


def load_page_assets() -> tuple[str, str]:
    """The style of the run's page, and the policy of a page without a script."""
    style = _read("run.css")
    return style, f"default-src 'none'; style-src '{_digest(style)}'; base-uri 'none'"


def load_icon(is_alarming: bool) -> str:
    return ICON.replace("COLOUR", RED if is_alarming else GREEN)


@cache
def _made(styles: tuple[str, ...], scripts: tuple[str, ...], is_served: bool = False) -> PageAssets:
    """A page that is served may ask its own server, for itself again."""
    style = "".join(_read(name) for name in styles)
    script = '"use strict";\n(() => {\n' + "\n".join(_read(name) for name in scripts) + "})();\n"
    served = "connect-src 'self'; form-action 'none'; " if is_served else ""
    own = f"style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:"
    return PageAssets(style, script, f"default-src 'none'; {own}; {served}base-uri 'none'")


def _read(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _digest(contents: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(contents.encode("utf-8")).digest()).decode("ascii")
