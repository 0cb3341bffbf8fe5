"""Nothing is half-added: a cause, a command, an event or a specimen that lacks a part fails here, with what to add."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

from tests import specimens_index
from unstall import cli, remedies
from unstall.config.detectors import FAMILIES, list_families, list_family_settings
from unstall.data import formats
from unstall.data.check import problems as problem_pages
from unstall.data.check.context import Severity
from unstall.data.check.problems import PROBLEMS
from unstall.data.formats import FORMATS
from unstall.data.synthetic.defects import list_defect_names
from unstall.diagnosis.causes import CAUSES
from unstall.diagnosis.findings import find_consequences, list_worker_causes
from unstall.diagnosis.pages import HEADINGS, list_summaries, read_sections
from unstall.diagnosis.verdict import Safety
from unstall.journal import events
from unstall.remedies import REMEDIES
from unstall.remedies.plan import Kind

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "unstall"
COMMANDS = cli.list_all_commands()
GROUPS = [name for name in COMMANDS if cli.list_inner_names(name)]
DETECTORS = tuple(list_families())
EVENTS = sorted(set(events.KINDS) - {"Event"})
DEFINING = {Path(inspect.getfile(kind)) for kind in events.KINDS.values()} | {SOURCE / "journal" / "events.py"}
VERBS = """
    add avoid call change check clear close decrease disable enable fix free give increase kill limit lower move raise
    reduce remove replace restart retry scale set shrink stop try turn use wait
"""
PAST_WITHOUT_ED = "Began Built Fell Found Left Lost Made Met Ran Read Seen Sent Shown Spoke Taken Undone Written"


@cache
def generator() -> ModuleType:
    """docs/generate.py, which lies outside the package."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def stale_pages() -> dict[Path, str]:
    stale: dict[Path, str] = generator().stale()
    return stale


# --- causes ---


def test_the_docs_have_no_page_of_something_that_is_gone() -> None:
    gone = [f"docs/{path} {why}" for path, why in stale_pages().items() if "belongs to nothing" in why]
    assert not gone, f"{gone}. Remove by: make docs"


@pytest.mark.parametrize("name", CAUSES.names())
def test_a_cause_is_named_by_the_fault(name: str) -> None:
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", name), f"'{name}': a cause's name is snake_case, letters only."
    words = name.split("_")
    assert len(words) > 1 or name.endswith("ing"), f"'{name}': say what is wrong with what, as in 'input_starved'."
    assert words[0] not in VERBS.split(), f"'{name}' begins with '{words[0]}', as a cure does. Name the fault."


@pytest.mark.parametrize("name", CAUSES.names())
def test_a_cause_has_its_headings_and_its_summary(name: str) -> None:
    where = f"src/unstall/diagnosis/causes/{name}.py"
    docstring = inspect.cleandoc(CAUSES.module(name).__doc__ or "")
    summary = list_summaries()[name]
    assert summary.endswith("."), f"{where}: the docstring's first line must be one full sentence. Received: {summary!r}"
    lines = docstring.splitlines()
    underlined = [line for line, under in pairwise(lines) if re.fullmatch("-+", under)]
    assert underlined == list(HEADINGS), f"{where}: expected the headings {HEADINGS}, underlined. Received: {underlined}"
    empty = [heading for heading in HEADINGS if not read_sections(name).get(heading)]
    assert not empty, f"{where}: nothing stands under {empty}."


@pytest.mark.parametrize("name", CAUSES.names())
def test_a_cause_examines_a_journal(name: str) -> None:
    examine = getattr(CAUSES.module(name), "examine", None)
    assert callable(examine), f"src/unstall/diagnosis/causes/{name}.py: add `def examine(journal: Journal) -> Verdict`."
    assert list(inspect.signature(examine).parameters) == ["journal"], f"{name}: examine takes one argument, the journal."


@pytest.mark.parametrize("name", list_worker_causes())
def test_a_cause_that_shows_among_workers_examines_a_run_group(name: str) -> None:
    examine = CAUSES.module(name).examine_workers
    assert list(inspect.signature(examine).parameters) == ["run_group"], (
        f"{name}: examine_workers takes one argument, the run group."
    )
    text = (ROOT / "tests" / "diagnosis" / "causes" / f"test_{name}.py").read_text(encoding="utf-8")
    assert "examine_workers" in text, f"tests/diagnosis/causes/test_{name}.py: add tests of what shows among several workers."


@pytest.mark.parametrize("name", CAUSES.names())
def test_what_follows_from_a_cause_is_a_cause(name: str) -> None:
    unknown = [other for other in find_consequences(name) if other not in CAUSES.names()]
    assert not unknown, f"{name}: EXPLAINS names {unknown}, which are no causes. Name files of diagnosis/causes/."


@pytest.mark.parametrize("name", CAUSES.names())
def test_a_cause_has_a_test_of_found_clear_and_unknown(name: str) -> None:
    path = ROOT / "tests" / "diagnosis" / "causes" / f"test_{name}.py"
    assert path.exists(), f"Add {path.relative_to(ROOT)} with tests that find it, clear it and do not know."
    text = path.read_text(encoding="utf-8")
    lacking = [kind for kind in ("Found", "Clear", "Unknown") if kind not in text]
    assert not lacking, f"{path.relative_to(ROOT)} has no test that gives {', '.join(lacking)}."
    assert re.search(r"^\s*def test_", text, re.MULTILINE), f"{path.relative_to(ROOT)} has no test."


@pytest.mark.parametrize("name", CAUSES.names())
def test_a_cause_has_its_page(name: str) -> None:
    why = stale_pages().get(Path(f"causes/{name}.md"))
    assert why is None, f"docs/causes/{name}.md {why}. Write it by: make docs"


@pytest.mark.parametrize(
    "page",
    [
        "causes/README.md",
        "commands/README.md",
        "detectors/README.md",
        "events.md",
        "formats/README.md",
        "from-tfod-fields.md",
        "preflight/README.md",
        "problems/README.md",
        "remedies/README.md",
        "settings.md",
    ],
)
def test_the_lists_are_fresh(page: str) -> None:
    why = stale_pages().get(Path(page))
    assert why is None, f"docs/{page} {why}. Write it by: make docs"


@pytest.mark.parametrize("name", CAUSES.names())
def test_a_cause_has_a_specimen_and_a_healthy_twin(name: str) -> None:
    specimens = specimens_index.load_all()
    sick = [specimen for specimen in specimens if specimen.is_sick and specimen.cause == name]
    assert sick, f'Add tests/specimens/{name}/sick/….py, a program that really has it, with the header `cause = "{name}"`.'
    near = {specimen.near for specimen in sick}
    twins = [specimen for specimen in specimens if not specimen.is_sick and (specimen.near == name or specimen.name in near)]
    assert twins, f'Add tests/specimens/{name}/healthy/….py, a program that nearly has it, with the header `near = "{name}"`.'


# --- problems of data ---


@pytest.mark.parametrize("name", PROBLEMS.names())
def test_a_problem_has_its_headings_its_severity_and_its_summary(name: str) -> None:
    where = f"src/unstall/data/check/problems/{name}.py"
    module = PROBLEMS.module(name)
    docstring = inspect.cleandoc(module.__doc__ or "")
    summary = docstring.partition("\n")[0]
    assert summary.endswith("."), f"{where}: the docstring's first line must be one full sentence. Received: {summary!r}"
    underlined = [line for line, under in pairwise(docstring.splitlines()) if re.fullmatch("-+", under)]
    assert underlined == list(problem_pages.HEADINGS), f"{where}: expected {problem_pages.HEADINGS}. Received: {underlined}"
    empty = [heading for heading, text in problem_pages.read_sections(name).items() if not text]
    assert not empty, f"{where}: nothing stands under {empty}."
    assert isinstance(module.SEVERITY, Severity), f"{where}: add `SEVERITY = Severity.…`."


@pytest.mark.parametrize("name", PROBLEMS.names())
def test_a_problem_is_named_by_the_fault(name: str) -> None:
    assert re.fullmatch(r"[a-z]+(_[a-z0-9]+)+", name), f"'{name}': say what is wrong with what, as in 'box_inverted'."
    assert name.split("_", maxsplit=1)[0] not in VERBS.split(), f"'{name}' begins as a cure does. Name the fault."


@pytest.mark.parametrize("name", PROBLEMS.names())
def test_a_problem_examines_what_was_checked(name: str) -> None:
    module = PROBLEMS.module(name)
    examine, propose_fixes = getattr(module, "examine", None), getattr(module, "propose_fixes", None)
    assert callable(examine), f"src/unstall/data/check/problems/{name}.py: add `def examine(checked: Checked) -> list[Finding]`."
    assert list(inspect.signature(examine).parameters) == ["checked"], f"{name}: examine takes one argument, what was checked."
    if propose_fixes is not None:
        assert list(inspect.signature(propose_fixes).parameters) == ["checked", "found"], (
            f"{name}: propose_fixes takes (checked, found)."
        )


@pytest.mark.parametrize("name", PROBLEMS.names())
def test_a_problem_has_its_page_its_test_and_its_specimen(name: str) -> None:
    why = stale_pages().get(Path(f"problems/{name}.md"))
    assert why is None, f"docs/problems/{name}.md {why}. Write it by: make docs"
    path = ROOT / "tests" / "data" / "check" / "problems" / f"test_{name}.py"
    assert path.exists(), f"Add {path.relative_to(ROOT)}: what is found, and what nearly is and must not be."
    text = path.read_text(encoding="utf-8")
    assert len(re.findall(r"^def test_", text, re.MULTILINE)) >= 2, f"{path.relative_to(ROOT)} needs a test of silence too."
    assert name in list_defect_names(), (
        f"{name}: make it injectable, in data/synthetic/defects.py or data/synthetic/file_defects.py."
    )


# --- remedies ---


@pytest.mark.parametrize("name", REMEDIES.names())
def test_a_remedy_has_its_headings_its_summary_and_its_page(name: str) -> None:
    where = f"src/unstall/remedies/{name}.py"
    docstring = inspect.cleandoc(REMEDIES.module(name).__doc__ or "")
    summary = docstring.partition("\n")[0]
    assert summary.endswith("."), f"{where}: the docstring's first line must be one full sentence. Received: {summary!r}"
    underlined = [line for line, under in pairwise(docstring.splitlines()) if re.fullmatch("-+", under)]
    assert underlined == list(remedies.HEADINGS), f"{where}: expected {remedies.HEADINGS}, underlined. Received: {underlined}"
    empty = [heading for heading in remedies.HEADINGS if not remedies.read_sections(name).get(heading)]
    assert not empty, f"{where}: nothing stands under {empty}."
    why = stale_pages().get(Path(f"remedies/{name}.md"))
    assert why is None, f"docs/remedies/{name}.md {why}. Write it by: make docs"


@pytest.mark.parametrize("name", REMEDIES.names())
def test_a_remedy_is_named_by_what_it_does(name: str) -> None:
    assert re.fullmatch(r"[a-z]+(_[a-z0-9]+)+", name), f"'{name}': a verb and its object, as in 'lower_learning_rate'."
    assert not name.split("_", maxsplit=1)[0].endswith(("ed", "ing")), f"'{name}': begin with a verb in the imperative."


@pytest.mark.parametrize("name", REMEDIES.names())
def test_a_remedy_plans_for_what_was_found_and_has_its_test(name: str) -> None:
    module = REMEDIES.module(name)
    assert list(inspect.signature(module.plan).parameters) == ["found"], f"{name}: plan takes one argument, what was found."
    assert module.TREATS and all(isinstance(kind, Kind) for kind in module.TREATS), f"{name}: TREATS names kinds of faults."
    assert isinstance(module.SAFETY, Safety), f"{name}: add `SAFETY = Safety.…`."
    assert isinstance(module.UNDO_IF_INEFFECTIVE, bool), f"{name}: say whether it is undone when it did not help."
    path = ROOT / "tests" / "remedies" / f"test_{name}.py"
    assert path.exists(), f"Add {path.relative_to(ROOT)}: what it plans, and where it does not."
    text = path.read_text(encoding="utf-8")
    assert "is None" in text, f"{path.relative_to(ROOT)} has no test in which the remedy does not help."


def test_every_fault_has_a_remedy_and_no_two_have_the_same_turn() -> None:
    for kind in Kind:
        turns = [module.TREATS[kind] for module in remedies.find_remedies(kind)]
        assert turns == list(range(1, len(turns) + 1)) and turns, f"{kind}: expected the turns 1, 2, … Received: {turns}"


# --- specimens ---


@pytest.mark.parametrize("path", specimens_index.paths(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_specimen_has_a_proper_header(path: Path) -> None:
    specimen = specimens_index.load(path)  # raises with what is wrong
    healthy = {other.stem for other in specimens_index.paths() if other.parent.name == "healthy"}
    if specimen.is_sick:
        assert specimen.cause in CAUSES.names(), f"{path.name}: cause = {specimen.cause!r} is no file of diagnosis/causes/."
        assert specimen.near in healthy, f"{path.name}: near = {specimen.near!r} must be a healthy specimen."
    else:
        assert specimen.cause == "", f'{path.name}: a healthy specimen has cause = "". Received: {specimen.cause!r}'
        assert specimen.near in CAUSES.names(), f"{path.name}: near = {specimen.near!r} must be a cause that it nearly has."
    folder = specimen.cause or specimen.near
    assert path.parents[1].name == folder, f"{path.name} belongs into tests/specimens/{folder}/{path.parent.name}."
    unknown = [other for other in specimen.also if other not in CAUSES.names()]
    assert not unknown, f"{path.name}: also = {unknown} are no causes."


@pytest.mark.parametrize("path", specimens_index.paths(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_specimen_uses_unstall_only_if_it_says_so(path: Path) -> None:
    uses = bool(re.search(r"^\s*(import|from) unstall\b", path.read_text(encoding="utf-8"), re.MULTILINE))
    says = specimens_index.load(path).shape != "run"
    assert uses == says, f'{path.name}: a specimen that imports unstall has the header `shape = "guard"`, others do not.'


def test_no_two_specimens_have_one_name() -> None:
    names = [path.stem for path in specimens_index.paths()]
    assert len(names) == len(set(names)), sorted(name for name in set(names) if names.count(name) > 1)


# --- commands ---


@pytest.mark.parametrize("typed", COMMANDS)
def test_a_command_has_help_a_page_and_a_test(typed: str) -> None:
    source = cli.find_source_file(typed).relative_to(ROOT)
    assert cli.read_first_line(typed), f"{source}: the docstring is the help; add one."
    page = generator().command_path(typed)
    why = stale_pages().get(page)
    assert why is None, f"docs/{page} {why}. Write it by: make docs"
    tests = [path for path in (ROOT / "tests").rglob("test_*.py") if "specimens" not in path.parts and path != Path(__file__)]
    words = ", ".join(f'"{word}"' for word in typed.split())
    called = any(words in path.read_text(encoding="utf-8") for path in tests)
    assert called, f"No test calls `unstall {typed}` (with the words {words}). Add one to tests/cli."


@pytest.mark.parametrize("typed", sorted(set(COMMANDS) - set(GROUPS)))
def test_a_command_can_speak_json(typed: str) -> None:
    options = [option for parameter in cli.load(typed).params for option in parameter.opts]
    source = cli.find_source_file(typed).relative_to(ROOT)
    assert "--json" in options, f"{source}: what is printed for a person can be had as JSON; add --json PATH."


# --- formats ---


@pytest.mark.parametrize("name", FORMATS.names())
def test_a_format_has_its_headings_its_summary_and_its_page(name: str) -> None:
    where = f"src/unstall/data/formats/{name}.py"
    lines = inspect.cleandoc(FORMATS.module(name).__doc__ or "").splitlines()
    assert lines[0].endswith("."), f"{where}: the docstring's first line must be one full sentence. Received: {lines[0]!r}"
    underlined = [line for line, under in pairwise(lines) if re.fullmatch("-+", under)]
    assert underlined == list(formats.HEADINGS), (
        f"{where}: expected the headings {formats.HEADINGS}, underlined. Received: {underlined}"
    )
    why = stale_pages().get(Path(f"formats/{name}.md"))
    assert why is None, f"docs/formats/{name}.md {why}. Write it by: make docs"


@pytest.mark.parametrize("name", FORMATS.names())
def test_a_format_has_its_functions_its_test_and_its_fuzzing(name: str) -> None:
    module = FORMATS.module(name)
    assert isinstance(module.SIGNS, str) and module.SIGNS, f"{name}: add SIGNS, what it is known by."
    wanted = {"recognise": ["path"], "read": ["path", "progress", "labels"], "write": ["data", "path", "link", "progress"]}
    for function, parameters in wanted.items():
        taken = list(inspect.signature(getattr(module, function)).parameters)
        assert taken == parameters, f"{name}.{function}: expected the parameters {parameters}. Received: {taken}"
    for path in (ROOT / "tests" / "data" / "formats" / f"test_{name}.py", ROOT / "fuzz" / "drivers" / f"{name}.py"):
        assert path.exists(), f"Add {path.relative_to(ROOT)}."


# --- detectors ---


@pytest.mark.parametrize("name", DETECTORS)
def test_a_detector_has_its_summary_its_settings_and_its_page(name: str) -> None:
    where = f"src/unstall/config/detectors/{name}.py"
    summary = FAMILIES.summary(name)
    assert summary.endswith("."), f"{where}: the docstring's first line must be one full sentence. Received: {summary!r}"
    assert "Paper:" in FAMILIES.page(name), f"{where}: name the paper in the docstring, after 'Paper:'."
    known = {setting.name for setting in list_family_settings(name)}
    wanted = {
        "num_classes",
        "image_size",
        "trainable_backbone_layers",
        "precision",
        "remat",
        "score_threshold",
        "nms_iou_threshold",
        "max_detections",
    }
    assert wanted <= known, f"{where}: the settings lack {sorted(wanted - known)}, which every detector has."
    assert (SOURCE / "detectors" / f"{name}.py").exists(), f"Add src/unstall/detectors/{name}.py with one class of Detector."
    why = stale_pages().get(Path(f"detectors/{name}.md"))
    assert why is None, f"docs/detectors/{name}.md {why}. Write it by: make docs"


@pytest.mark.parametrize("name", DETECTORS)
def test_a_detector_has_a_tiny_variant_and_a_test_that_it_conforms(name: str) -> None:
    tiny = [variant for variant in list_families()[name] if variant.endswith("_tiny")]
    assert len(tiny) == 1, f"src/unstall/config/detectors/{name}.py: add one variant '…_tiny' that learns on two cores."
    path = ROOT / "tests" / "detectors" / f"test_{name}.py"
    assert path.exists(), f"Add {path.relative_to(ROOT)}: see tests/detectors/conformance.py."
    text = path.read_text(encoding="utf-8")
    assert "CHECKS" in text and tiny[0] in text, f"{path.relative_to(ROOT)}: check that {tiny[0]} conforms."


# --- events ---


@cache
def names_used() -> dict[str, set[str]]:
    """Each name that src uses, with how: 'called', or 'named' (as in `journal.of(StepsEnded)`)."""
    used: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        if path in DEFINING:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        for node in ast.walk(tree):
            name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
            if name:
                used.setdefault(name, set()).add("called" if id(node) in called else "named")
    return used


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_is_named_in_the_past_tense(name: str) -> None:
    words = re.findall(r"[A-Z][a-z]*", name)[1:]
    past = any(word.endswith("ed") or word in PAST_WITHOUT_ED.split() for word in words)
    assert past, f"{name}: an event says what happened; its verb must be in the past tense, as in StepsEnded."


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_is_written_somewhere(name: str) -> None:
    assert "called" in names_used().get(name, set()), f"{name}: nothing in src/unstall writes it. Write it, or remove it."
