"""The pages written by hand are true as far as a test can tell: links lead somewhere, commands and options exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import unstall
from unstall import cli
from unstall.diagnosis.findings import cause_names

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
HANDWRITTEN = [page for page in PAGES if page.parent in {ROOT, ROOT / "docs"} and page.name != "events.md"]


def names(pages: list[Path]) -> list[str]:
    return [str(page.relative_to(ROOT)) for page in pages]


@pytest.mark.parametrize("name", names(PAGES))
def test_every_link_leads_somewhere(name: str) -> None:
    page = ROOT / name
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    broken = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not broken, f"{name} links to {broken}, which are not there."


@pytest.mark.parametrize("name", names(HANDWRITTEN))
def test_every_command_that_is_shown_exists(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    shown = re.findall(r"(?:`|\$ |sudo )unstall ([a-z]+)(?: ([a-z]+))?", text)
    typed = {f"{first} {second}".strip() if cli.inner_names(first) else first for first, second in shown}
    wrong = sorted(typed - set(cli.all_commands()))
    assert not wrong, f"{name} shows `unstall {wrong}`. Commands: {', '.join(cli.all_commands())}."


@pytest.mark.parametrize("name", names(HANDWRITTEN))
def test_every_option_of_ours_that_is_shown_exists(name: str) -> None:
    known = {option for typed in cli.all_commands() for parameter in cli.load(typed).params for option in parameter.opts}
    text = (ROOT / name).read_text(encoding="utf-8")
    calls = [call.partition(" -- ")[0] for call in re.findall(r"unstall [a-z]+ [^`\n#]*", text)]
    shown = {option for call in calls for option in re.findall(r"--[a-z-]+", call)}
    assert shown <= known, f"{name} shows {sorted(shown - known)}, which no command takes."


def test_every_cause_that_is_explained_in_the_pages_exists() -> None:
    for page in HANDWRITTEN:
        explained = re.findall(r"unstall explain ([a-z]\w+)", page.read_text(encoding="utf-8"))
        wrong = sorted(set(explained) - set(cause_names()))
        assert not wrong, f"{page.name} explains {wrong}, which are no causes."


def test_the_file_map_names_every_folder_and_file_at_the_top() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8").partition("## File map")[2].partition("```\n")[2].partition("```")[0]
    mapped = {line.split()[0].rstrip("/") for line in text.splitlines() if line.strip()}
    source = [path for path in (ROOT / "src" / "unstall").iterdir() if path.suffix == ".py" or any(path.glob("*.py"))]
    source = [path for path in source if path.name != "__main__.py"]
    missing = sorted(path.name for path in source if path.name not in mapped)
    missing += [name for name in ("demo", "tests", "benchmarks", "docs", "Makefile", ".ci/run") if name not in mapped]
    assert not missing, f"README.md, file map: say in five to eight words what {missing} are."


def test_the_public_names_are_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in unstall.__all__ if name != "__version__" and f"unstall.{name}(" not in text] == []


def test_the_version_is_the_same_everywhere() -> None:
    assert f'version = "{unstall.__version__}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f"## [{unstall.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
