"""The laws that need no training to be tested: what may be imported where, and how large and how forgiving code may be."""

from __future__ import annotations

import ast
import json
import pkgutil
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import unstall
from unstall.cli import list_all_commands, name_module

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "unstall"
A_RUN = ROOT / "tests" / "journals" / "gpu_exhausted_batch_jax"
FRAMEWORKS = frozenset({"keras", "tensorflow", "tf_keras", "jax", "jaxlib", "torch", "numpy"})
STARTS_ALONE = [
    "unstall",
    "unstall.supervisor.run.program",
    "unstall.supervisor.attach.snapshot",
    "unstall.supervisor.sidecar",
    "unstall.supervisor.train.training_run",
    "unstall.supervisor.train.setup",
    "unstall.planning.preflight.runner",
    "unstall.report.story.report",
    "unstall.report.terminal.story",
    "unstall.board.launcher",
    "unstall.board.launcher",
    *(name_module(typed) for typed in list_all_commands()),
]
OF_SOME_TRAININGS = frozenset({
    "unstall.supervisor.output.streams", "unstall.supervisor.run.confirm", "unstall.supervisor.train.preemption",
    "unstall.supervisor.train.several_workers", "unstall.supervisor.train.stragglers", "unstall.training.distributed.heartbeat",
    "unstall.training.distributed.rendezvous", "unstall.training.distributed.startup",
})  # fmt: skip
MAX_LINES = 400
MAX_FUNCTION_LINES = 60
MAX_CATCH_ALLS = 3
# What runs inside the watched program, and what may be imported there at module level.
INSIDE = [
    *SOURCE.glob("probe/**/*.py"),
    *SOURCE.glob("journal/**/*.py"),
    *SOURCE.glob("base/redact/*.py"),
    SOURCE / "base" / "errors.py",
    SOURCE / "base" / "files.py",
    SOURCE / "__init__.py",
]
OLDEST_PYTHON = (3, 7)  # of a program that is watched
GENERIC_SINCE_3_9 = frozenset({
    "list", "dict", "tuple", "set", "frozenset", "type", "deque", "defaultdict", "OrderedDict", "Callable", "Iterator", "Iterable",
    "Sequence", "Mapping",
})  # fmt: skip
NEWER_NAMES = frozenset({
    "removeprefix", "removesuffix", "is_relative_to", "end_lineno", "unparse", "prod", "cached_property", "get_native_id", "fmean",
})  # fmt: skip
LIGHT = (
    "unstall.journal",
    "unstall.probe",
    "unstall.base.errors",
    "unstall.base.files",
    "unstall.base.redact",
)
LIGHT_NAMES = frozenset({"__version__"})  # of `from unstall import …`


def frameworks_after(code: str) -> list[str]:
    return find_loaded(FRAMEWORKS, code)


def find_loaded(names: frozenset[str], code: str) -> list[str]:
    """Those of the modules that a fresh interpreter has loaded after running the code."""
    report = f"\nimport json, sys\nprint(json.dumps(sorted({set(names)!r} & set(sys.modules))))"
    done = subprocess.run([sys.executable, "-c", code + report], capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    loaded: list[str] = json.loads(done.stdout.splitlines()[-1])
    return loaded


# --- imports ---


@pytest.mark.parametrize("module", STARTS_ALONE)
def test_the_watching_half_starts_where_no_framework_does(module: str) -> None:
    loaded = frameworks_after(f"import {module}")
    assert not loaded, f"`import {module}` loads {loaded}. See who: python -X importtime -c 'import {module}'"


def test_what_only_some_trainings_need_is_not_loaded_for_all() -> None:
    """Several workers, notices of preemption, and what a program prints, which is not read of our own worker."""
    code = "import unstall.cli.train, unstall.supervisor.train.training_run, unstall.training.loop.worker"
    loaded = find_loaded(OF_SOME_TRAININGS, code)
    assert not loaded, (
        f"`unstall train` loads {loaded} also where nobody has asked for it. Import it in the function that needs it."
    )
    assert find_loaded(OF_SOME_TRAININGS, "\n".join(f"import {name}" for name in OF_SOME_TRAININGS)) == sorted(OF_SOME_TRAININGS)


def modules_of_the_package() -> list[str]:
    names = [info.name for info in pkgutil.walk_packages(unstall.__path__, "unstall.")]
    return [name for name in names if not name.endswith(("__main__", ".sitecustomize"))]


def is_learning(module: str) -> bool:
    """The learning half computes with NumPy; it takes a backend only in the function that needs one."""
    light = ("unstall.data.augment.names", "unstall.data.check.problems", "unstall.data.formats")
    return module not in light and module.startswith(("unstall.data.", "unstall.tfod.", "unstall.planning.autoconfig"))


# Of detectors and training, what is used where no framework is loaded.
LIGHT_OF_LEARNING = (
    "unstall.training.checkpoint.integrity",
    "unstall.training.distributed.collectives",
    "unstall.training.distributed.engines",
    "unstall.training.distributed.heartbeat",
    "unstall.training.distributed.rendezvous",
    "unstall.training.distributed.startup",
    "unstall.training.loop.instrumentation",
    "unstall.training.summary",
    "unstall.training.tensorboard",
)


def is_of_keras(module: str) -> bool:
    """Detectors are made of Keras's layers, their norms too, and so load Keras, and with it the backend that the user has chosen."""
    heavy = ("unstall.detectors.", "unstall.training.", "unstall.backends.ops", "unstall.backends.torch_nn")
    return module.startswith(heavy) and not module.startswith(LIGHT_OF_LEARNING)


def test_no_module_of_tests_loads_a_framework_when_it_is_collected() -> None:
    """Tests without a backend run in one process, and some of them look at what is loaded. (Specifications are `…_spec.py`.)"""
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in sorted((ROOT / "tests").rglob("test_*.py"))]
    loaded = frameworks_after(f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n" + "\n".join(f"import {name}" for name in names))
    assert not set(loaded) - {"numpy"}, f"Collecting the tests loads {loaded}. Move what is tested into a module that needs none."


def test_no_module_of_the_watching_half_loads_a_framework() -> None:
    names = [name for name in modules_of_the_package() if not is_learning(name) and not is_of_keras(name)]
    assert len(names) > 40 and "unstall.detectors" in names
    loaded = frameworks_after("\n".join(f"import {name}" for name in names))
    assert not loaded, f"Importing all of the watching half loads {loaded}. Import it in the function that needs it."


def test_no_module_of_the_learning_half_loads_a_backend() -> None:
    names = [name for name in modules_of_the_package() if is_learning(name)]
    assert names
    loaded = set(frameworks_after("\n".join(f"import {name}" for name in names))) - {"numpy"}
    assert not loaded, f"Importing all of the learning half loads {loaded}. Import it in the function that needs it."


def test_no_detector_names_a_backend() -> None:
    """What runs on three backends must not ask which one it is: that is for unstall/backends, and for the files that are named
    after a backend or choose one of these."""
    named = re.compile(r"\b(import|from) (tensorflow|jax|jaxlib|torch|tf_keras)\b|backend\.backend\(|config\.backend\(")
    of_a_backend = re.compile(r"_(jax|torch|tensorflow)(_\w+)?$|^(cuda_graphs|export|backend)$")
    files = [path for folder in ("detectors", "training") for path in (SOURCE / folder).rglob("*.py")]
    files = [path for path in files if not of_a_backend.search(path.stem)]
    assert len(files) > 50
    wrong = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if named.search(line)
    ]
    assert not wrong, "\n".join(wrong)


def test_a_detector_on_one_backend_loads_no_other() -> None:
    """Who has installed JAX alone can train with it: a module imports a backend at its top only where it is named after that one."""
    of_a_backend = re.compile(r"_(jax|torch|tensorflow)(_\w+)?$|^cuda_graphs$")
    files = [path for room in ("backends", "detectors", "training") for path in (SOURCE / room).rglob("*.py")]
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno} imports {name}"
        for path in files
        if not of_a_backend.search(path.stem)
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        for name in imported_names(node)
        if name.partition(".")[0] in {"jax", "jaxlib", "torch", "tensorflow", "tf_keras"}
    ]
    assert not wrong, "Import it in the function that needs it:\n" + "\n".join(wrong)


def imported_names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


CALL = """
import unstall.cli
try:
    unstall.cli.group({arguments!r})
except SystemExit as end:
    assert not end.code
"""


@pytest.mark.parametrize(
    "command",
    [
        "causes",
        "explain generator_blocked",
        "explain lower_learning_rate",
        "runs",
        "runs --prune --state failed --dry-run",
        "attach PID",
        "run -- PYTHON -c pass",
        "train --show-settings",
        "train --list-models",
        "report RUN --out PAGE",
    ],
)
def test_no_command_loads_a_framework(command: str, tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as sleeper:
        try:
            words = {"PID": str(sleeper.pid), "PYTHON": sys.executable, "RUN": str(A_RUN), "PAGE": str(tmp_path / "page.html")}
            arguments = [words.get(word, word) for word in command.split()]
            loaded = frameworks_after(CALL.format(arguments=arguments))
        finally:
            sleeper.kill()
    assert not loaded, f"`unstall {command}` loads {loaded}."


def test_a_board_that_shows_a_run_loads_no_framework() -> None:
    ask = "board_state.body('/', {}) and board_state.body('/rows', {}) and board_state.body('/run/gpu_exhausted_batch_jax', {})"
    code = "from pathlib import Path\nfrom unstall.board.access import AccessControl\nfrom unstall.board.server import BoardState"
    assert not frameworks_after(
        f"{code}\nboard_state = BoardState(Path({str(A_RUN.parent)!r}), AccessControl(None), '')\nassert {ask}"
    )


def test_what_writes_pages_is_imported_when_one_is_written() -> None:
    code = (
        "import sys, unstall.supervisor.run.program, unstall.cli.report, unstall.report.html.page; print('jinja2' in sys.modules)"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"


@pytest.mark.parametrize("path", INSIDE, ids=lambda path: str(path.relative_to(SOURCE)))
def test_what_runs_inside_the_program_is_light_and_old_fashioned(path: Path) -> None:
    """The program's interpreter may be older than ours, and must not get our libraries."""
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=OLDEST_PYTHON)
    newer = [f"line {node.lineno}: {ast.unparse(node)}" for node in run_time_nodes(tree) if is_newer_than_the_oldest(node)]
    assert not newer, f"{path.relative_to(ROOT)}: {newer}. Inside the program: what Python 3.7 can do, too."
    heavy = sorted({name for name in imported_at_module_level(tree) if not is_light(name)})
    assert not heavy, f"{path.relative_to(ROOT)} imports {heavy} at module level. Inside the program: standard library only."


@pytest.mark.parametrize("path", INSIDE, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_framework_is_touched_only_if_the_program_has_imported_it(path: Path) -> None:
    wrong = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and "sys.modules" not in ast.unparse(node):
            names = [name for inner in ast.walk(node) for name in names_of(inner)]
            wrong += [f"line {node.lineno}, {node.name} imports {name}" for name in names if not is_ours_or_standard(name)]
    assert not wrong, f"{path.relative_to(ROOT)}: {wrong}. Ask sys.modules first: only what the program has imported itself."


def run_time_nodes(tree: ast.Module) -> Iterator[ast.expr]:
    """Expressions that are evaluated when it runs: no annotations, and nothing under `if TYPE_CHECKING`."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
            continue
        annotations = [getattr(node, name, None) for name in ("annotation", "returns")]
        waiting += [child for child in ast.iter_child_nodes(node) if child not in annotations]
        if isinstance(node, ast.expr):
            yield node


def is_newer_than_the_oldest(node: ast.expr) -> bool:
    """An alias such as `dict[str, int]`, or a name of the standard library that Python 3.7 does not have."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Name) and node.value.id in GENERIC_SINCE_3_9 and isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.Call):
        return any(keyword.arg == "missing_ok" for keyword in node.keywords)
    return isinstance(node, ast.Attribute) and node.attr in NEWER_NAMES


def imported_at_module_level(tree: ast.Module) -> Iterator[str]:
    """Names of modules, those under `if TYPE_CHECKING` excepted: they are not imported when it runs."""
    waiting: list[ast.stmt] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
        elif isinstance(node, ast.Try | ast.If | ast.With):
            waiting += [child for child in ast.walk(node) if isinstance(child, ast.stmt) and child is not node]
        else:
            yield from names_of(node)


def names_of(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module == "unstall":
        return [f"unstall.{alias.name}" for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


def is_light(name: str) -> bool:
    if name.startswith("unstall."):
        return name.removeprefix("unstall.") in LIGHT_NAMES or name.startswith(LIGHT)
    return is_ours_or_standard(name)


def is_ours_or_standard(name: str) -> bool:
    top = name.partition(".")[0]
    return top in sys.stdlib_module_names or top in {"unstall", "sitecustomize"}


# --- speed, in CPU time: a busy machine does not make these fail ---


@pytest.mark.parametrize(("arguments", "max_s"), [(["-c", "import unstall"], 0.1), (["-m", "unstall", "--help"], 0.3)])
def test_it_starts_quickly(arguments: list[str], max_s: float) -> None:
    seconds = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(seconds) < max_s, f"python {' '.join(arguments)}: {min(seconds):.2f} s of CPU, of {max_s} s allowed."


def test_import_takes_little_time() -> None:
    code = "import time; began = time.perf_counter(); import unstall; print(time.perf_counter() - began)"
    seconds = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5)]
    assert min(seconds) < 0.1, f"import unstall: {min(seconds):.3f} s, of 0.1 s allowed."


# --- form ---


def python_files() -> list[Path]:
    return sorted(path for tree in ("src", "tests", "benchmarks", "docs", "demo", "fuzz") for path in (ROOT / tree).rglob("*.py"))


def test_files_and_functions_are_short() -> None:
    long = []
    for path in python_files():
        text = path.read_text(encoding="utf-8")
        name = path.relative_to(ROOT)
        if (count := len(text.splitlines())) > MAX_LINES:
            long.append(f"{name}: {count} lines, at most {MAX_LINES}")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                count = (node.end_lineno or node.lineno) - node.lineno + 1
                if count > MAX_FUNCTION_LINES:
                    long.append(f"{name}:{node.lineno} {node.name}: {count} lines, at most {MAX_FUNCTION_LINES}")
    assert not long, "Divide these:\n" + "\n".join(long)


def catches_all(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or bool({"Exception", "BaseException"} & set(re.findall(r"\w+", ast.unparse(handler.type))))


def test_few_places_catch_everything_and_each_says_why() -> None:
    places = []
    for path in sorted(SOURCE.rglob("*.py")):
        lines = path.read_text(encoding="utf-8").splitlines()
        for node in ast.walk(ast.parse("\n".join(lines))):
            if isinstance(node, ast.ExceptHandler) and catches_all(node):
                places.append(f"{path.relative_to(ROOT)}:{node.lineno}: {lines[node.lineno - 1].strip()}")
    shown = "\n".join(places)
    assert len(places) <= MAX_CATCH_ALLS, f"{len(places)} places catch everything, at most {MAX_CATCH_ALLS}:\n{shown}"
    silent = [place for place in places if "#" not in place]
    assert not silent, "Say in a comment on the line why everything is caught:\n" + "\n".join(silent)
