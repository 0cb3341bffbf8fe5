"""The pages written by hand are true as far as a test can tell: links lead somewhere, commands and options exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import unstall
from tests.test_layers import ROOMS
from unstall import cli
from unstall.diagnosis.causes import CAUSES

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "unstall"
README, ARCHITECTURE = ROOT / "README.md", ROOT / "ARCHITECTURE.md"
MAX_README_LINES = 150
MAX_README_WORDS = 900
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
    shown = re.findall(r"(?:`|\$ |sudo )unstall ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?", text)
    typed = {f"{first} {second}".strip() if cli.list_inner_names(first) else first for first, second in shown}
    wrong = sorted(typed - set(cli.list_all_commands()))
    assert not wrong, f"{name} shows `unstall {wrong}`. Commands: {', '.join(cli.list_all_commands())}."


@pytest.mark.parametrize("name", names(HANDWRITTEN))
def test_every_option_of_ours_that_is_shown_exists(name: str) -> None:
    known = {option for typed in cli.list_all_commands() for parameter in cli.load(typed).params for option in parameter.opts}
    text = (ROOT / name).read_text(encoding="utf-8")
    calls = [call.partition(" -- ")[0] for call in re.findall(r"unstall [a-z][a-z-]* [^`\n#]*", text)]
    shown = {option for call in calls for option in re.findall(r"--[a-z-]+", call)}
    assert shown <= known, f"{name} shows {sorted(shown - known)}, which no command takes."


def test_every_cause_that_is_explained_in_the_pages_exists() -> None:
    for page in HANDWRITTEN:
        explained = re.findall(r"unstall explain ([a-z]\w+)", page.read_text(encoding="utf-8"))
        wrong = sorted(set(explained) - set(CAUSES.names()))
        assert not wrong, f"{page.name} explains {wrong}, which are no causes."


def test_the_readme_counts_the_causes_that_there_are() -> None:
    counts = re.findall(r"\b(\d+) causes\b", README.read_text(encoding="utf-8"))
    assert counts and set(counts) == {str(len(CAUSES.names()))}


@pytest.mark.parametrize("name", names(HANDWRITTEN))
def test_every_heading_that_is_linked_to_exists(name: str) -> None:
    page = ROOT / name
    links = re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", page.read_text(encoding="utf-8"))
    wrong = [
        f"{path}#{anchor}"
        for path, anchor in links
        if "://" not in path and anchor not in anchors(page.parent / path if path else page)
    ]
    assert not wrong, f"{name} links to {wrong}, and there is no such heading."


def anchors(page: Path) -> set[str]:
    """What GitHub makes of the headings of a page: lower case, without punctuation, blanks as hyphens."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", names(HANDWRITTEN))
def test_every_benchmark_that_is_named_exists(name: str) -> None:
    named = set(re.findall(r"python -m benchmarks\.(\w+)", (ROOT / name).read_text(encoding="utf-8")))
    there = {path.stem for path in (ROOT / "benchmarks").glob("*.py")} | {
        path.parent.name for path in (ROOT / "benchmarks").glob("*/__main__.py")
    }
    wrong = sorted(named - there)
    assert not wrong, f"{name} names the benchmarks {wrong}, which are not there."


def test_every_result_of_a_benchmark_has_its_figure() -> None:
    text = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("benchmarks.md", "cloud.md", "throughput.md"))
    lacking = sorted(path.name for path in (ROOT / "benchmarks" / "results").glob("*.json") if path.name not in text)
    assert not lacking, f"docs/benchmarks.md: give the figures of {lacking}, with the command that measures them."


# --- the front door ---


def test_the_readme_is_short() -> None:
    text = README.read_text(encoding="utf-8")
    lines, words = len(text.splitlines()), len(text.split())
    assert lines <= MAX_README_LINES, f"README.md has {lines} lines. Expected at most {MAX_README_LINES}: move details to docs/."
    assert words <= MAX_README_WORDS, f"README.md has {words} words. Expected at most {MAX_README_WORDS}: move details to docs/."


def test_the_public_names_are_in_the_readme() -> None:
    text = README.read_text(encoding="utf-8")
    assert [name for name in unstall.__all__ if name != "__version__" and f"unstall.{name}(" not in text] == []


# --- the architecture ---


def test_the_file_map_names_every_folder_and_file_at_the_top() -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8").partition("## File map")[2].partition("```\n")[2].partition("```")[0]
    mapped = {line.split()[0].rstrip("/") for line in text.splitlines() if line.strip()}
    source = [path for path in SOURCE.iterdir() if path.suffix == ".py" or any(path.glob("*.py"))]
    source = [path for path in source if path.name != "__main__.py"]
    missing = sorted(path.name for path in source if path.name not in mapped)
    missing += [name for name in ("demo", "tests", "benchmarks", "docs", "Makefile", ".ci/run") if name not in mapped]
    assert not missing, f"ARCHITECTURE.md, file map: say in five to eight words what {missing} are."
    gone = sorted(name for name in mapped if not any((base / name).exists() for base in (ROOT, SOURCE)))
    assert not gone, f"ARCHITECTURE.md, file map: {gone} are not there."


def test_every_room_has_its_section_in_the_order_of_the_layers() -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    assert re.findall(r"^### (\w+)/$", text, flags=re.MULTILINE) == list(ROOMS)
    assert f"{', '.join(ROOMS)}." in " ".join(text.split()), (
        "ARCHITECTURE.md, the rooms: write the order as tests/test_layers.py has it."
    )


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_module_and_folder_that_is_named_exists(name: str) -> None:
    """`errors.py` is looked for in the room of its section; `base/errors.py` in src/unstall; `tests/…` in the repository."""
    wrong = []
    for section in re.split(r"^(?=##+ )", (ROOT / name).read_text(encoding="utf-8"), flags=re.MULTILINE):
        room = re.match(r"### (\w+)/\n", section)
        bases = [SOURCE, ROOT, *([SOURCE / room[1]] if room else [])]
        for named in re.findall(r"`((?:src|tests|fuzz)/[\w./]+|[\w./]+(?:\.py|/))`", section):
            if not any((base / named).exists() for base in bases):
                wrong.append(f"{section.splitlines()[0].strip('# ')}: {named}")
    assert not wrong, f"{name} names modules or folders that are not there: {wrong}"


def test_the_version_is_the_same_everywhere() -> None:
    assert f'version = "{unstall.__version__}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f"## [{unstall.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


NOT_OURS = {"json.py", "resource.py", "train.py", "version.py"}  # files of programs, packages and the standard library


def test_the_files_that_the_source_speaks_of_exist() -> None:
    there = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py")}
    gone = [
        f"{path.relative_to(ROOT)}: `{name}`"
        for path in sorted(SOURCE.rglob("*.py"))
        for name in re.findall(r"`([a-z_/]+\.py)`", path.read_text(encoding="utf-8"))
        if name not in NOT_OURS and not any(f"/{each}".endswith(f"/{name}") for each in there)
    ]
    assert not gone, f"{gone}: there are no such files."
