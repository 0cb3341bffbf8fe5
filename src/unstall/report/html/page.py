"""Pages: one file each that needs nothing else. What comes from outside is escaped, and a page can load nothing."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unstall.base.errors import InvalidInputError
from unstall.base.formatting import format_duration, format_size, strip_codes
from unstall.base.redact.text import redact, redact_json
from unstall.journal.writer import replace_not_finite
from unstall.report.json import write_text
from unstall.report.terminal import story as story_text
from unstall.training.summary import encode_picture, format_number

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

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


# The page itself.


@dataclass(frozen=True)
class OnBoard:
    """Of a page that the board shows: it follows its run, and leads back to the list."""

    is_live: bool
    note: str | None = None  # what is said where there is no verdict


def write_run(story: dict[str, Any], target: Path, is_private: bool = False) -> None:
    """The page of a run. `is_private`: in its folder, where nobody but the owner reads it."""
    _write(render_run(story), target, is_private)


def render_run(story: dict[str, Any], board: OnBoard | None = None) -> str:
    story = redact(story)
    page_assets = load_run_assets() if board is None else load_board_run_assets()
    shown = {key: story["timeline"][key] for key in ("began", "seconds", "plots", "marks", "steps")}
    return (
        _environment()
        .get_template("run.html")
        .render(
            story=story,
            timeline=story["timeline"],
            headline=story_text.format_headline(story),
            no_verdict=None if story["verdicts"] or (board is not None and board.note) else story_text.explain_no_verdict(story),
            outcome=story_text.format_outcome(story),
            causes=[verdict["cause"] for verdict in (*story["verdicts"], *story["earlier"])],
            not_seen=story_text.format_not_seen(story),
            damaged=story_text.describe_damage(story),
            summary=[
                *story_text.format_summary(story),
                *(line for line in story_text.format_places(story) if line[0] != "report"),
            ],
            pictures=[picture for path in story["pictures"] if (picture := encode_picture(path)) is not None],
            source_of=encode_picture,
            assets=page_assets,
            board=board,
            icon=load_icon(story["state"] == "stuck"),
            data=embed_json(shown),
        )
    )


def load_macros(template: str) -> Any:
    """What a template defines, to be called."""
    return _environment().get_template(template).module


def render(template: str, **values: Any) -> str:
    return _environment().get_template(template).render(**values)


def embed_json(data: Any) -> str:
    """JSON that may stand inside a script element: nothing in it can end the element, or a line of JavaScript."""
    plain = redact_json(json.dumps(replace_not_finite(data), allow_nan=False, separators=(",", ":"), default=str))
    # All of it is ASCII, so U+2028 is escaped, too.
    return plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def write_page(template: str, target: Path, **values: Any) -> None:
    _write(render(template, **values), target)


def _write(page: str, target: Path, is_private: bool = False) -> None:
    try:
        write_text(target, page, errors="backslashreplace", is_private=is_private)
    except OSError as error:
        raise InvalidInputError(f"Cannot write the page to '{target}': {error.strerror}.") from None


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(str(TEMPLATES))
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_finally
    )
    environment.filters.update(
        code=_with_code, duration=format_duration, size=format_size, amount=_amount, clock=_clock, figure=format_number
    )
    return environment


def _finally(value: object) -> object:
    """What a template is about to write. Only plain texts are touched: markup is ours."""
    return strip_codes(value) if type(value) is str else value


def _with_code(words: str) -> Markup:
    """What stands between backticks is code; all else is escaped."""
    from markupsafe import Markup

    parts = [
        Markup("<code>{}</code>").format(part) if number % 2 else Markup.escape(part)
        for number, part in enumerate(strip_codes(words).split("`"))
    ]
    return Markup("").join(parts)


def _amount(value: float | None, unit: str = "") -> str:
    if value is None:
        return "–"
    if unit == "B":
        return format_size(value)
    if unit == "s":
        return f"{value * 1000:.3g} ms" if value < 1 else f"{value:.3g} s"
    return f"{value:.1f} %" if unit == "%" else f"{value:,.0f}" if value == int(value) and value < 1e9 else f"{value:.4g}"


def _clock(seconds: float) -> str:
    """Time from the begin of the run: 0:07, 12:30, 3:02:11."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
