"""Checks are asked in a process of their own: each answers, and one that crashes or falls silent costs its own answer only."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from unstall.base.registry import Registry
from unstall.config.sources import resolve
from unstall.planning.preflight import checks as check_registry
from unstall.planning.preflight import runner
from unstall.planning.preflight.check import count_by_status
from unstall.planning.preflight.runner import preflight

FAULTY = '''"""Faulty on purpose."""
NEEDS = {needs}
IS_QUICK = True
def look(context):
    {body}
'''


@pytest.fixture
def checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the package whose checks are those that a test writes; real processes ask them."""
    source = Path(check_registry.__file__).parents[2]
    package = tmp_path / "src" / "unstall" / "planning"
    package.mkdir(parents=True)
    for original, copy in ((source.parent, package.parent), (source, package)):
        for entry in original.iterdir():
            if entry.name not in {"planning", "preflight"}:
                (copy / entry.name).symlink_to(entry)
    (package / "preflight" / "checks").mkdir(parents=True)
    for entry in (source / "preflight").glob("*.py"):
        (package / "preflight" / entry.name).write_text(entry.read_text())
    of_checks = Path("preflight", "checks", "__init__.py")
    (package / of_checks).write_text((source / of_checks).read_text())
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "src"))
    monkeypatch.syspath_prepend(str(package / "preflight"))
    monkeypatch.setattr(check_registry, "CHECKS", Registry("checks", "check"))
    check_registry.check_names.cache_clear()
    yield package / "preflight" / "checks"
    check_registry.check_names.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "checks"]:
        del sys.modules[name]


def put(checks: Path, name: str, body: str, needs: tuple[str, ...] = ()) -> None:
    (checks / f"{name}.py").write_text(FAULTY.format(body=body, needs=repr(needs)))


def asked(tmp_path: Path) -> dict[str, dict[str, str]]:
    answers = runner.ask(resolve({}).settings, tmp_path)
    return {answer["check"]: answer for answer in answers}


FITS = "from unstall.planning.preflight.check import CheckOk; return CheckOk('well')"


def test_what_crashes_is_not_known_and_the_others_are_asked_all_the_same(checks: Path, tmp_path: Path) -> None:
    put(checks, "a", FITS)
    put(checks, "b", "raise KeyError('of the check')")
    put(checks, "c", "import os; os.abort()")
    put(checks, "d", FITS)
    put(checks, "e", FITS, needs=("b",))
    put(checks, "f", "from unstall.base.errors import InvalidInputError; raise InvalidInputError('your mistake')")
    found = asked(tmp_path)
    assert {name: answer["status"] for name, answer in found.items()} == {
        "a": "ok", "b": "unknown", "c": "unknown", "d": "ok", "e": "unknown", "f": "error",
    }  # fmt: skip
    assert "KeyError: 'of the check'" in found["b"]["reason"]
    assert "b must be in order first" in found["e"]["reason"] and found["f"]["reason"] == "your mistake"


def test_what_falls_silent_is_given_up(checks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "MAX_SILENT_S", 3.0)
    put(checks, "a", "import time; time.sleep(600)")
    put(checks, "b", FITS)
    found = asked(tmp_path)
    assert found["a"]["status"] == "unknown" and "no sign for 3 s" in found["a"]["reason"]
    assert found["b"]["status"] == "ok"


def test_a_quick_preflight_of_the_embedded_shapes_answers_each_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real checks. That of memory needs a framework, and has tests of its own."""
    quick = tuple(name for name in check_registry.list_quick_names() if name != "memory_plan")
    monkeypatch.setattr(runner, "list_quick_names", lambda: quick)
    found = preflight(resolve({}).settings, tmp_path / "run", is_quick=True)
    assert [check["check"] for check in found["checks"]] == list(quick)
    answers = {check["check"]: check["status"] for check in found["checks"]}
    assert (answers["packages"], answers["paths"], answers["data_set"], answers["weights"]) == ("ok",) * 4
    assert "unknown" not in answers.values()
    assert found["counts"] == count_by_status(found["checks"]) and os.listdir(tmp_path) == []  # noqa: PTH208


def test_checks_come_after_those_that_they_need() -> None:
    names = check_registry.check_names()
    for name in names:
        assert {*check_registry.list_needs(name)} <= set(names[: names.index(name)])
    assert set(check_registry.list_quick_names()) < set(names)


ASKS = """
import sys
from pathlib import Path
from unstall.planning.preflight import runner
from unstall.planning.preflight.runner import preflight
from unstall.config.sources import resolve
runner.quick_names = lambda: ("cores", "packages", "paths", "data_set", "weights")
found = preflight(resolve({}).settings, Path("nowhere"), is_quick=True)
print(found["counts"]["unknown"], sorted({"numpy", "keras", "tensorflow", "jax", "torch"} & set(sys.modules)))
"""


def test_whoever_asks_loads_neither_numpy_nor_a_framework() -> None:
    done = subprocess.run([sys.executable, "-c", ASKS], capture_output=True, text=True, check=True, timeout=240)
    assert done.stdout == "0 []\n"
