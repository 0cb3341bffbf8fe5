"""Nothing is half-added: a check that lacks its headings, its page or its test fails here, with what to add."""

from __future__ import annotations

import inspect
import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests.test_completeness import ROOT, stale_pages
from unstall.planning.preflight.checks import CHECKS, HEADINGS, check_names, list_summaries, read_sections


@pytest.mark.parametrize("name", check_names())
def test_a_check_has_its_headings_and_its_summary(name: str) -> None:
    where = f"src/unstall/planning/preflight/checks/{name}.py"
    summary = list_summaries()[name]
    assert summary.endswith("."), f"{where}: the docstring's first line must be one full sentence. Received: {summary!r}"
    underlined = [line for line, under in pairwise(CHECKS.page(name).splitlines()) if re.fullmatch("-+", under)]
    assert underlined == list(HEADINGS), f"{where}: expected the headings {HEADINGS}, underlined. Received: {underlined}"
    empty = [heading for heading in HEADINGS if not read_sections(name).get(heading)]
    assert not empty, f"{where}: nothing stands under {empty}."


@pytest.mark.parametrize("name", check_names())
def test_a_check_looks_at_a_context_and_says_whether_it_is_quick(name: str) -> None:
    where = f"src/unstall/planning/preflight/checks/{name}.py"
    module = CHECKS.module(name)
    assert list(inspect.signature(module.look).parameters) == ["context"], (
        f"{where}: add `def look(context: Context) -> CheckResult`."
    )
    assert isinstance(module.IS_QUICK, bool) and isinstance(module.NEEDS, tuple), f"{where}: add NEEDS and IS_QUICK."


@pytest.mark.parametrize("name", check_names())
def test_a_check_has_its_page_and_its_test(name: str) -> None:
    why = stale_pages().get(Path(f"preflight/{name}.md"))
    assert why is None, f"docs/preflight/{name}.md {why}. Write it by: make docs"
    path = ROOT / "tests" / "planning" / "preflight" / "checks" / f"test_{name}.py"
    assert path.exists(), f"Add {path.relative_to(ROOT)}: what is ok, and what is a warning or an error."
    text = path.read_text(encoding="utf-8")
    assert "CheckOk" in text and ("CheckWarning" in text or "CheckError" in text), (
        f"{path.relative_to(ROOT)}: test what is ok and what is not."
    )
