"""Writes the pages that come from the code: causes, remedies, commands, detectors, formats, problems of data, checks, settings,
events, fields of the TF Object Detection API.

python docs/generate.py            writes them
python docs/generate.py --check    writes nothing; fails and names each page that is not what the code says
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType

from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parent))
import versions_page
from unstall import cli, detectors, remedies
from unstall.base import errors
from unstall.config import toml_file
from unstall.config.detectors import list_families
from unstall.data import formats
from unstall.data.check import problems as problem_pages
from unstall.data.check.problems import PROBLEMS
from unstall.data.check.runner import get_severity
from unstall.diagnosis.causes import CAUSES
from unstall.diagnosis.findings import find_consequences
from unstall.diagnosis.pages import build_page, list_summaries
from unstall.journal import events
from unstall.planning.preflight import checks as preflight_checks
from unstall.tfod import conversion as tfod

DOCS = Path(__file__).parent
# Folders that hold generated pages only
WRITTEN_IN_FULL = ("causes", "commands", "detectors", "formats", "preflight", "problems", "remedies")
HELP_WIDTH = 100


def pages() -> dict[Path, str]:
    """Path under docs/ to text."""
    result = {
        Path("causes/README.md"): causes_page(),
        Path("commands/README.md"): commands_page(),
        Path("detectors/README.md"): detectors_page(),
        Path("events.md"): events_page(),
        Path("from-tfod-fields.md"): _from("src/unstall/tfod") + tfod.build_page(),
        Path("formats/README.md"): formats_page(),
        Path("preflight/README.md"): preflight_page(),
        Path("problems/README.md"): problems_page(),
        Path("settings.md"): settings_page(),
        Path("remedies/README.md"): remedies_page(),
        Path("versions.md"): _from("benchmarks/results/versions.json") + versions_page.page(),
    }
    result |= {
        Path(f"problems/{name}.md"): _from(f"src/unstall/data/check/problems/{name}.py") + problem_pages.build_page(name)
        for name in PROBLEMS.names()
    }
    result |= {
        Path(f"preflight/{name}.md"): _from(f"src/unstall/planning/preflight/checks/{name}.py")
        + preflight_checks.build_page(name)
        for name in preflight_checks.check_names()
    }
    result |= {
        Path(f"causes/{name}.md"): _from(f"src/unstall/diagnosis/causes/{name}.py") + build_page(name) for name in CAUSES.names()
    }
    result |= {
        Path(f"remedies/{name}.md"): _from(f"src/unstall/remedies/{name}.py") + remedies.build_page(name)
        for name in remedies.REMEDIES.names()
    }
    result |= {command_path(typed): command_page(typed) for typed in cli.list_all_commands()}
    result |= {
        Path(f"formats/{name}.md"): _from(f"src/unstall/data/formats/{name}.py") + formats.build_page(name)
        for name in formats.FORMATS.names()
    }
    result |= {
        Path(f"detectors/{name}.md"): _from(f"src/unstall/config/detectors/{name}.py") + detectors.build_page(name)
        for name in list_families()
    }
    return {path: text.rstrip() + "\n" for path, text in result.items()}


def _from(source: str) -> str:
    return f"<!-- Written by docs/generate.py from {source}: change it there. -->\n\n"


# --- pages of folders ---


def _index(source: str, title: str, said: str, columns: str, rows: Iterable[str]) -> str:
    """The page of a folder: what its things are, and a table of them."""
    line = "| " + " | ".join("---" for _ in columns.split(" | ")) + " |"
    return "\n".join([f"{_from(source)}# {title}", "", said, "", f"| {columns} |", line, *(f"| {row} |" for row in rows)])


def _in_cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def causes_page() -> str:
    said = f"Unstall can name {len(CAUSES.names())} causes. `unstall explain CAUSE` prints the same page in a terminal."
    rows = []
    for name, summary in list_summaries().items():
        follows = ", ".join(f"[{other}]({other}.md)" if other in CAUSES.names() else other for other in find_consequences(name))
        rows.append(f"[{name}]({name}.md) | {_in_cell(summary)} | {follows}")
    return _index("src/unstall/diagnosis/causes", "The causes", said, "cause | what it is | explains", rows)


def _linked(summaries: Mapping[str, str], cells: Callable[[str, str], str]) -> list[str]:
    """A row for each: its name, which leads to its page, and the cells after it."""
    return [f"[{name}]({name}.md) | {cells(name, _in_cell(summary))}" for name, summary in summaries.items()]


def remedies_page() -> str:
    said = (
        "What `unstall train` does about a fault of its own run, in turns, the first that can help. What is *auto* is done and\n"
        "reported; what is to be *asked* for is said with the command. `unstall explain REMEDY` prints the page in a terminal."
    )
    rows = []
    for name, summary in remedies.list_summaries().items():
        module = remedies.REMEDIES.module(name)
        treats = ", ".join(f"{kind.value} ({turn})" for kind, turn in module.TREATS.items())
        rows.append(f"[{name}]({name}.md) | {treats} | {module.SAFETY.value} | {_in_cell(summary)}")
    return _index("src/unstall/remedies", "The remedies", said, "remedy | treats | safety | what it does", rows)


def problems_page() -> str:
    said = (
        f"`unstall data check` can find {len(PROBLEMS.names())} defects of a data set. An *error* stops a run, gives a NaN or\n"
        "is left out in silence; a *warning* is learned wrong; an *info* is rightly there in many data sets."
    )
    rows = _linked(problem_pages.list_summaries(), lambda name, summary: f"{get_severity(name).value} | {summary}")
    return _index("src/unstall/data/check/problems", "The problems of data", said, "problem | severity | what it is", rows)


def preflight_page() -> str:
    said = (
        f"`unstall preflight` asks {len(preflight_checks.check_names())} things before the first step, `unstall train` the "
        "quick ones. Each is *ok*, a\n*warning* or an *error*, with its reason and its fix; one that cannot know, or fails, "
        "is *unknown*, and\nnever counted as *ok*."
    )
    quick = {True: "yes", False: "no"}
    rows = _linked(
        preflight_checks.list_summaries(), lambda name, summary: f"{summary} | {quick[preflight_checks.is_quick(name)]}"
    )
    return _index(
        "src/unstall/planning/preflight/checks", "The checks before a training", said, "check | what it says | quick", rows
    )


def formats_page() -> str:
    said = "Each is recognised by itself, read and written. `unstall data formats FORMAT` prints the same page in a terminal."
    rows = _linked(formats.list_summaries(), lambda name, summary: summary)
    return _index("src/unstall/data/formats", "The formats", said, "format | what it is", rows)


def detectors_page() -> str:
    said = "The same code on TensorFlow, JAX and PyTorch. `unstall.detectors.create_model(VARIANT, …)` makes one."
    about = detectors.list_summaries()
    rows = [
        f"[{family}]({family}.md) | {_in_cell(about[family])} | {', '.join(f'`{name}`' for name in names)}"
        for family, names in list_families().items()
    ]
    return _index("src/unstall/config/detectors", "The detectors", said, "family | what it is | variants", rows)


# --- settings ---


def settings_page() -> str:
    lines = [
        _from("src/unstall/config/settings.py") + "# The settings of a training",
        "",
        "As options of `unstall train`, `preflight`, `plan` and `lr-find` (`--batch-size 8`), or in a settings file",
        "(`batch_size = 8`), which `unstall init` writes. What holds without them < the recipe of the model < the file <",
        "options: later ones win, and `unstall train --show-settings` says where each came from. A file that has a setting under",
        "the name of an earlier version loads, with a note that says the new one; so does a run folder.",
    ]
    for heading, names in toml_file.list_groups().items():
        lines += [
            "",
            f"## {heading[0].upper()}{heading[1:]}",
            "",
            "| setting | what it is | allowed | without it |",
            "| --- | --- | --- | --- |",
        ]
        for name in names:
            usual = toml_file.get_default(name)
            shown = "" if usual is None or usual == {} else f"`{toml_file.as_toml(usual)}`"
            lines.append(f"| `{name}` | {_in_cell(toml_file.get_meaning(name))} | {toml_file.describe_allowed(name)} | {shown} |")
    return "\n".join(lines)


# --- commands ---


def help_text(*arguments: str) -> str:
    """What the command really prints."""
    result = CliRunner().invoke(cli.group, [*arguments, "--help"], prog_name="unstall", terminal_width=HELP_WIDTH)
    if result.exit_code:
        raise SystemExit(f"`unstall {' '.join(arguments)} --help` failed: {result.output}{result.exception}")
    return result.output.rstrip()


def command_path(typed: str) -> Path:
    """`unstall data check` has its page in commands/data_check.md."""
    return Path(f"commands/{typed.replace(' ', '_')}.md")


def command_page(typed: str) -> str:
    source = cli.find_source_file(typed).relative_to(cli.FOLDER)
    said = help_text(*typed.split())
    links = [f"* [unstall {typed} {name}]({command_path(f'{typed} {name}').name})" for name in cli.list_inner_names(typed)]
    below = "\n".join(["", *links, ""]) if links else ""
    return _from(f"src/unstall/cli/{source}") + f"# unstall {typed}\n\n{cli.read_first_line(typed)}\n\n```\n{said}\n```\n{below}"


def commands_page() -> str:
    rows = [
        f"| [unstall {typed}]({command_path(typed).name}) | {_in_cell(cli.read_first_line(typed))} |"
        for typed in cli.list_all_commands()
    ]
    exits = inspect.cleandoc(errors.__doc__ or "")
    return "\n".join(
        [
            _from("src/unstall/cli") + "# The commands",
            "",
            "| command | what it does |",
            "| --- | --- |",
            *rows,
            "",
            "Each takes `--json PATH`: what it prints for a person, as plain data; `-` is standard output.",
            "",
            "```",
            help_text(),
            "```",
            "",
            "## Exit codes",
            "",
            "`unstall run` ends as the program ended: with its exit code, or of the same signal. Otherwise:",
            "",
            "```",
            exits,
            "```",
        ]
    )


# --- events ---


def events_page() -> str:
    """All events: those of events.py under the headings that its comments make, then those of its other files."""
    homes = {kind.__module__ for name, kind in events.KINDS.items() if name != "Event"} - {events.__name__}
    result = [_from("src/unstall/journal") + "# The events", "", inspect.cleandoc(events.__doc__ or ""), ""]
    result += _events_of(events)
    for home in sorted(homes):
        module = importlib.import_module(home)
        result += [f"## {(module.__doc__ or '').partition('.')[0]}", "", *_events_of(module)]
    return "\n".join(result)


def _events_of(module: ModuleType) -> list[str]:
    source = inspect.getsource(module)
    lines = source.splitlines()
    headings = {number: match[1] for number, line in enumerate(lines, 1) if (match := re.match(r"# --- (.+?) -+$", line))}
    shown = 0
    result = []
    for node in ast.parse(source).body:
        if not isinstance(node, ast.ClassDef) or node.name not in events.KINDS or node.name == "Event":
            continue
        for number in sorted(headings):
            if shown < number < node.lineno:
                result += [f"## {headings[number][0].upper()}{headings[number][1:]}", ""]
                shown = number
        result += _event(node, lines)
    return result


def _event(node: ast.ClassDef, lines: list[str]) -> list[str]:
    result = [f"### {node.name}", ""]
    said = ast.get_docstring(node)
    if said:
        result += [said, ""]
    fields = [statement for statement in node.body if isinstance(statement, ast.AnnAssign)]
    if not fields:
        return result
    result += ["| field | type | meaning |", "| --- | --- | --- |"]
    for statement in fields:
        after = lines[statement.lineno - 1].partition("  # ")[2]
        kind = _in_cell(ast.unparse(statement.annotation))
        result.append(f"| `{ast.unparse(statement.target)}` | `{kind}` | {_in_cell(after)} |")
    return [*result, ""]


# --- writing and checking ---


def stale() -> dict[Path, str]:
    """Path to what is wrong with it: absent, old, or made from nothing that there is."""
    wanted = pages()
    wrong = {}
    for path, text in wanted.items():
        target = DOCS / path
        if not target.exists():
            wrong[path] = "is not there"
        elif target.read_text(encoding="utf-8") != text:
            wrong[path] = "is not what the code says"
    for folder in WRITTEN_IN_FULL:
        for target in sorted((DOCS / folder).glob("*.md")):
            if target.relative_to(DOCS) not in wanted:
                wrong[target.relative_to(DOCS)] = "belongs to nothing in the code"
    return wrong


def write() -> int:
    """How many pages were changed."""
    wanted = pages()
    changed = stale()
    for path in changed:
        if path in wanted:
            (DOCS / path).parent.mkdir(parents=True, exist_ok=True)
            (DOCS / path).write_text(wanted[path], encoding="utf-8")
        else:
            (DOCS / path).unlink()
    return len(changed)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail and name each stale page")
    if not parser.parse_args().check:
        print(f"{write()} of {len(pages())} pages written")
        return 0
    wrong = stale()
    for path, why in wrong.items():
        print(f"docs/{path} {why}", file=sys.stderr)
    if wrong:
        print(f"{len(wrong)} stale pages. Write them again: make docs (or python docs/generate.py)", file=sys.stderr)
        return 1
    print(f"{len(pages())} generated pages are fresh")
    return 0


if __name__ == "__main__":
    sys.exit(main())
