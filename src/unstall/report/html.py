"""Pages: one file each that needs nothing else. What comes from outside is escaped, and a page can load nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unstall.errors import WrongInput
from unstall.journal.writer import finite
from unstall.report import text
from unstall.report.learned import as_data
from unstall.report.score_text import number
from unstall.storage import is_bucket

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

TEMPLATES = Path(__file__).parent / "templates"
SCRIPTS = ("scales.js", "drawing.js", "looking.js", "zooming.js", "page.js")  # in this order, as one


def write_run(story: dict[str, Any], target: Path) -> None:
    """The page of a run."""
    _write(render_run(story), target)


def render_run(story: dict[str, Any]) -> str:
    style, script = _read("run.css"), _script()
    policy = f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:; base-uri 'none'"
    shown = {key: story["timeline"][key] for key in ("began", "seconds", "plots", "marks", "steps")}
    return (
        _environment()
        .get_template("run.html")
        .render(
            story=story,
            timeline=story["timeline"],
            headline=text.headline(story),
            no_verdict=None if story["verdicts"] else text.no_verdict(story),
            is_well=text.is_well(story),
            causes=[verdict["cause"] for verdict in story["verdicts"]],
            not_seen=text.not_seen(story),
            summary=[line for line in text.summary_lines(story) if line[0] != "report"],
            pictures=[picture for path in story["pictures"] if (picture := as_data(path)) is not None],
            style=style,
            script=script,
            policy=policy,
            data=embedded(shown),
        )
    )


def _script() -> str:
    return '"use strict";\n(() => {\n' + "\n".join(_read(f"run/{name}") for name in SCRIPTS) + "})();\n"


def _read(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _digest(contents: str) -> str:
    """By which the page allows its own style and script, and no other."""
    return "sha256-" + base64.b64encode(hashlib.sha256(contents.encode("utf-8")).digest()).decode("ascii")


def embedded(data: Any) -> str:
    """JSON that may stand inside a script element: nothing in it can end the element, or a line of JavaScript."""
    plain = json.dumps(finite(data), allow_nan=False, separators=(",", ":"), default=str)  # ASCII: U+2028 is escaped by this
    return plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def write_page(template: str, target: Path, **values: Any) -> None:
    _write(_environment().get_template(template).render(**values), target)


def _write(page: str, target: Path) -> None:
    """Aside first and then renamed, so that nobody sees half a page."""
    if is_bucket(target):
        target.write_text(page, encoding="utf-8", errors="backslashreplace")
        return
    aside = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        if target.exists() and not target.is_file():  # a pipe or a device
            target.write_text(page, encoding="utf-8", errors="backslashreplace")
            return
        aside.write_text(page, encoding="utf-8", errors="backslashreplace")
        aside.replace(target)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise WrongInput(f"Cannot write the page to '{target}': {error.strerror}.") from None


def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(str(TEMPLATES))
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_finally
    )
    environment.filters.update(
        code=_with_code, duration=text.duration, size=text.size, amount=_amount, clock=_clock, figure=number
    )
    return environment


def _finally(value: object) -> object:
    """What a template is about to write. Only plain texts are touched: markup is ours."""
    return text.without_codes(value) if type(value) is str else value


def _with_code(words: str) -> Markup:
    """What stands between backticks is code; all else is escaped."""
    from markupsafe import Markup

    parts = [
        Markup("<code>{}</code>").format(part) if number % 2 else Markup.escape(part)
        for number, part in enumerate(text.without_codes(words).split("`"))
    ]
    return Markup("").join(parts)


def _amount(value: float | None, unit: str = "") -> str:
    if value is None:
        return "–"
    if unit == "B":
        return text.size(value)
    if unit == "s":
        return f"{value * 1000:.3g} ms" if value < 1 else f"{value:.3g} s"
    return f"{value:.1f} %" if unit == "%" else f"{value:,.0f}" if value == int(value) and value < 1e9 else f"{value:.4g}"


def _clock(seconds: float) -> str:
    """Time from the begin of the run: 0:07, 12:30, 3:02:11."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
