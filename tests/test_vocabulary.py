"""The law of names: the words that the field uses, and no private ones. CONTRIBUTING.md, "Names", says which word is for what.

Looked at are names of modules, classes, functions, parameters, variables and attributes, options of commands, and keys of dictionaries,
which become JSON. A word is a whole part of a name: `few` is found in `FEW_STEPS` and `read_few`, and not in `fewer`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from unstall import cli

ROOT = Path(__file__).parents[1]
TREES = ("src", "tests", "benchmarks", "docs", "demo", "fuzz")
# Each word with what to use instead.
PRIVATE = {
    "anew": "re… (reencode, restart), or recreated",
    "apart": "separate, ungrouped, held_out, or offset",
    "asker": "client",
    "asking": "client",
    "bed": "monitor",
    "beds": "monitors",
    "bedside": "monitor",
    "befalls": "fault",
    "begun": "context, started",
    "calm": "steady",
    "chance": "rng, random_numbers, noise, probability",
    "company": "collectives",
    "contestant": "competitor",
    "course": "curve, lr_schedule, training_run",
    "crew": "run_group, workers, thread_pool",
    "crews": "run_groups",
    "cure": "fix",
    "cures": "actions, fixes",
    "departure": "exit",
    "desk": "board_state",
    "doomed": "to_prune",
    "door": "access",
    "dress": "assets",
    "ending": "exit_code, suffix",
    "endings": "exit_codes, suffixes",
    "fate": "outcome, fault",
    "fates": "outcomes, faults",
    "few": "a limit: min_…, max_…",
    "fewest": "min_…",
    "glance": "status",
    "guest": "secondary_host, joiner",
    "guests": "joiners",
    "hand": "context; by hand: manual",
    "hands": "threads",
    "household": "group",
    "lessons": "datasets",
    "lifeline": "heartbeat",
    "meeting": "rendezvous",
    "membership": "rank, world_size, process_env",
    "memberships": "process_envs",
    "mend": "fix, propose_fixes",
    "mended": "corrected",
    "mending": "fix",
    "middleman": "launcher",
    "patient": "worker_state",
    "pace": "step_times, step_rate",
    "paces": "step_times",
    "probing": "probe",
    "rhythm": "interval",
    "roster": "follower",
    "seldom": "interval",
    "sighting": "snapshot",
    "sightings": "snapshots",
    "stepping": "train_step",
    "tale": "account",
    "teller": "printer, reporter",
    "telling": "reporting, distinctive",
    "told": "what it is: result, text, rows, event",
    "vain": "ineffective",
    "ward": "worker_group",
    "wish": "option, request, setting",
    "wished": "requested",
    "wishes": "options, requests, arguments",
}
PREFIXES = {"most": "max_…", "least": "min_…", "tell": "report_…, print_… or build_…"}
# Names of classes that say that something was done, and not what it is.
CLASSES = frozenset(
    {
        "Told",
        "Begun",
        "Kept",
        "Taken",
        "Came",
        "Heard",
        "Met",
        "Awaited",
        "Seen",
        "Wanted",
        "Given",
        "Doomed",
        "Mended",
        "Followed",
    }
)
# Words of others, and whole names in which the word is an ordinary one.
ALLOWED = {
    "clocks_apart": "a cause: causes are named by the fault, in plain English",
    "most_common": "of collections.Counter",
    "MembershipSeen": "an event: journals that were written keep its name",
}
# In the names of tests, which are sentences, ordinary words are ordinary. These are not.
METAPHORS = frozenset({"bedside", "company", "crew", "crews", "household", "lessons", "lifeline", "sighting", "teller", "ward"})
# Modules whose keys are the names of earlier versions and of other trainers.
OLD_NAMES = frozenset({"aliases", "legacy_names"})


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What the name of a public function of a module begins with: a verb in the imperative. A new one is added here once it was read.
VERBS = _words("""
    add agree allocate announce answer apply approximate ask assign attach attempt attribute begin build check choose
    classify clean clip collect combine compare compile complete compute confirm convert convolve copy correct count create
    crop decode define describe detect diagnose die divide download draw dump embed emit encode end estimate evaluate examine
    exec expand explain export extend fetch find fit fix flatten follow forget format gather get group hide hold import
    inspect install interpolate join judge keep kill leave list load locate lock look main make map match measure meet mine
    move name normalize note number open overfit pack pad pair parse place plan plot predict prefetch preflight prepare print propose
    prune put quote rank rate read recall recognise reconstruct record redact reduce refresh refuse register rematerialize
    remember remove rename render replace replay report reserve resize resolve round run sample save score select send serve
    set share shorten show shrink smooth sort space spawn split spoil start stop strip suggest summarize supervise suppress
    sync tag take thin tidy trace train translate treat try turn unregister unwrap update upload upsample verify wait walk
    watch wrap write
""")
# Beside these: predicates, conversions (`as_plain`, `from_plain`), and a copy with something in it (`with_end_mark`).
PREDICATES = frozenset({"is", "are", "has", "can"})
TRUTHS = frozenset({"bool", "bool | None", "Optional[bool]", "Tensor", "tf.Tensor"})  # what they return
CONVERSIONS = frozenset({"as", "to", "from", "with"})
# What the papers, Keras and torchvision call an operation, an optimizer, a loss or an initializer is its name here, too.
TERMS = _words("""
    adamw area batch_norm batch_norm_frozen binary_cross_entropy channels_last channels_second cross_entropy extent focal
    giou_loss glorot_uniform group_norm he_normal iou max_pool normal precision roi_align sgd top_k uniform variance_scaling
""")
# Of a module of `cli`: click's word for what adds an option to a command. `command` is what every one of them is.
OPTION_DECORATORS = ("_option", "_options")
# The trainer's side of the events of a training, which have the names of the probe's methods: `step_ended`.
PAST_TENSE = "training/loop/instrumentation.py"
# Modules that end in -ing: nouns of the field. A cause, and a problem of data, is named by the fault, in plain English.
NOUNS_IN_ING = frozenset({"training", "formatting", "matching", "planning"})
_REGISTRIES = ("diagnosis/causes", "data/check/problems")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_KEY = re.compile(r"[A-Za-z_]+")
_OTHERS = ("specimens", "journals", "old_runs", "results")


def python_files() -> list[Path]:
    files = (path for tree in TREES for path in (ROOT / tree).rglob("*.py"))
    return sorted(path for path in files if not set(_OTHERS) & set(path.relative_to(ROOT).parts) and path != Path(__file__))


def instead_of(name: str) -> str | None:
    """What to use instead of a name, or of the part of it that is a private word; None: the name is good."""
    if name in ALLOWED:
        return None
    parts = [part.lower() for part in _PART.findall(name)]
    words = METAPHORS if name.startswith("test_") else PRIVATE
    if name in CLASSES or name.lstrip("_") in CLASSES:
        return "a noun that says what it is"
    if len(parts) > 1 and parts[0] in PREFIXES and not name.startswith("test_"):
        return f"'{parts[0]}_' is private; use {PREFIXES[parts[0]]}"
    found = next((part for part in parts if part in words), None)
    return f"'{found}' is private; use {PRIVATE.get(found, 'another word')}" if found else None


def defined(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Names where they are given: what is only used has its name from somewhere else."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            yield node.lineno, node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.lineno, alias.asname) for alias in node.names if alias.asname)


def keys(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Keys of dictionaries, where they are written."""
    for node in ast.walk(tree):
        given = node.keys if isinstance(node, ast.Dict) else []
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            given = [node.slice]
        for key in given:
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and _KEY.fullmatch(key.value):
                yield key.lineno, key.value


def private_names(path: Path) -> Iterator[str]:
    where, tree = path.relative_to(ROOT), ast.parse(path.read_text(encoding="utf-8"))
    has_keys = where.parts[0] == "src" and path.stem not in OLD_NAMES
    names = [(1, path.stem), *defined(tree), *(keys(tree) if has_keys else ())]
    for line, name in sorted(set(names)):
        if (instead := instead_of(name)) is not None:
            yield f"{where}:{line}: {name}: {instead}"


@pytest.mark.parametrize("tree", TREES)
def test_names_are_words_of_the_field(tree: str) -> None:
    files = [path for path in python_files() if path.relative_to(ROOT).parts[0] == tree]
    assert files
    wrong = [each for path in files for each in private_names(path)]
    assert not wrong, 'See "Names" in CONTRIBUTING.md:\n' + "\n".join(wrong)


@pytest.mark.parametrize("typed", cli.list_all_commands())
def test_options_are_words_of_the_field(typed: str) -> None:
    options = [
        option.lstrip("-") for parameter in cli.load(typed).params for option in (*parameter.opts, *parameter.secondary_opts)
    ]
    wrong = [f"--{option}: {why}" for option in options if (why := instead_of(option.replace("-", "_"))) is not None]
    assert not wrong, f"{cli.find_source_file(typed).relative_to(ROOT)}: {wrong}"


def is_imperative(name: str, module: str) -> bool:
    """Whether a public function of a module may be called so."""
    first = name.split("_", maxsplit=1)[0]
    if module.startswith("cli/") and (name == "command" or name.endswith(OPTION_DECORATORS)):
        return True
    if module == PAST_TENSE and name.endswith(("_began", "_ended", "_paused", "_saved", "_failed")):
        return True
    return name in TERMS or first in VERBS | PREDICATES | CONVERSIONS


def public_functions() -> Iterator[tuple[str, int, str]]:
    source = ROOT / "src" / "unstall"
    for path in sorted(source.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
                yield path.relative_to(source).as_posix(), node.lineno, node.name


def test_public_functions_are_verb_phrases() -> None:
    functions = list(public_functions())
    assert len(functions) > 1000
    wrong = [f"src/unstall/{module}:{line}: {name}" for module, line, name in functions if not is_imperative(name, module)]
    assert not wrong, "A function is a verb phrase in the imperative (CONTRIBUTING.md, Names):\n" + "\n".join(wrong)


def predicates() -> Iterator[tuple[str, int, str, str]]:
    """Module, line, name and what it returns, of every function that is named as a predicate."""
    source = ROOT / "src" / "unstall"
    for path in sorted(source.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.lstrip("_").split("_")[0] in PREDICATES:
                returned = "" if node.returns is None else ast.unparse(node.returns)
                yield path.relative_to(source).as_posix(), node.lineno, node.name, returned


def test_predicates_return_whether_it_is_so() -> None:
    """True or False, of one thing or of each in a tensor; None where it is not known."""
    functions = list(predicates())
    assert len(functions) > 300
    wrong = [
        f"src/unstall/{module}:{line}: {name} -> {returned}"
        for module, line, name, returned in functions
        if returned not in TRUTHS and not returned.startswith("TypeGuard[")
    ]
    assert not wrong, "A function named is_…, are_…, has_… or can_… returns a bool (CONTRIBUTING.md, Names):\n" + "\n".join(wrong)


def test_every_verb_is_used() -> None:
    """A verb that no function begins with any more, and a term that none has, is taken out."""
    names = {name for _, _, name in public_functions()}
    assert not VERBS - {name.split("_")[0] for name in names} and not TERMS - names


def test_modules_are_nouns() -> None:
    source = ROOT / "src" / "unstall"
    modules = [path.relative_to(source).with_suffix("").as_posix() for path in source.rglob("*.py")]
    wrong = [
        module
        for module in modules
        if module.endswith(("ing", "ed")) and not module.startswith(_REGISTRIES)
        if re.split(r"[_/]", module)[-1] not in NOUNS_IN_ING | {"speed"}
    ]
    assert len(modules) > 500 and not wrong, "A module is a noun that says what is in it (CONTRIBUTING.md, Names): " + ", ".join(
        wrong
    )


@pytest.mark.parametrize(
    ("name", "module", "is_good"),
    [
        ("load_checkpoint", "a.py", True), ("is_first", "a.py", True), ("as_plain", "a.py", True), ("roi_align", "a.py", True),
        ("checkpoint", "a.py", False), ("of_run", "a.py", False), ("what_is_left", "a.py", False), ("kept", "a.py", False),
        ("command", "cli/run.py", True), ("command", "a.py", False), ("json_option", "cli/__init__.py", True),
        ("step_ended", PAST_TENSE, True), ("step_ended", "a.py", False),
    ],
)  # fmt: skip
def test_what_an_imperative_is(name: str, module: str, is_good: bool) -> None:
    assert is_imperative(name, module) == is_good


def test_what_is_allowed_is_there() -> None:
    """An exception that nothing needs any more is none."""
    there = {name for path in python_files() for name in re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    assert not set(ALLOWED) - there, f"Take these out of ALLOWED: {sorted(set(ALLOWED) - there)}"


@pytest.mark.parametrize(
    ("name", "is_private"),
    [
        ("FEW_STEPS", True), ("fewer", False), ("_crew_of", True), ("Roster", True), ("most_bytes", True), ("most", False),
        ("at_least", False), ("innermost", False), ("Counter.most_common", False), ("TrainingEnded", False), ("pending", False),
        ("test_a_few_are_told_apart", False), ("test_a_crew", True), ("handle", False), ("forward", False), ("reward", False),
    ],
)  # fmt: skip
def test_a_word_is_a_whole_part_of_a_name(name: str, is_private: bool) -> None:
    assert (instead_of(name) is not None) == is_private
