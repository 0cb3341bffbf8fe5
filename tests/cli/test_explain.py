"""Everything that has a page is explained by its name, and a name means one thing."""

from __future__ import annotations

from pathlib import Path

import pytest

from unstall.base.errors import InvalidInputError
from unstall.cli import explain

DOCS = Path(__file__).parents[2] / "docs"
FOLDERS = {"cause": "causes", "remedy": "remedies", "check": "preflight", "problem": "problems"}


def test_no_two_things_have_one_name() -> None:
    files = [path.stem for kind in explain.KINDS.values() for path in kind.registry.folder.glob("[!_]*.py")]
    files.remove("plan")  # of the remedies: what they have in common
    assert sorted(files) == sorted(explain.list_kinds())


def test_all_that_have_a_page_in_the_docs_are_explained() -> None:
    pages = {path.stem for folder in FOLDERS.values() for path in (DOCS / folder).glob("*.md")} - {"README"}
    assert pages == set(explain.list_kinds())


@pytest.mark.parametrize("name", sorted(explain.list_kinds()))
def test_a_page_is_that_of_the_docs_and_its_plain_form_names_its_kind(name: str) -> None:
    kind = explain.list_kinds()[name]
    assert explain.read_page(name).rstrip() in (DOCS / FOLDERS[kind] / f"{name}.md").read_text(encoding="utf-8")
    plain = explain.read_page_as_plain(name)
    assert plain[kind] == name and plain["summary"] and plain["sections"]


def test_a_name_that_is_like_no_other_is_refused_with_where_they_are_listed() -> None:
    with pytest.raises(InvalidInputError, match=r"There is no cause, remedy, check or problem 'zzz'\. `unstall causes` lists"):
        explain.read_page("zzz")
