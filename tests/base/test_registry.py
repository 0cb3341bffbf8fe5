"""A package as a registry: its modules are the entries, found and described without being imported."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from unstall.base.errors import InvalidInputError
from unstall.base.registry import Registry

FILES = {
    "__init__.py": "",
    "apple.py": '"""An apple.\n\nIt grows on a tree.\n"""\nCOLOUR = "red"\n',
    "import_.py": '"""Named like a keyword."""\n',
    "needs_more.py": '"""It cannot be imported here."""\nimport a_package_that_is_not_there\n',
    "shared.py": "",
    "sweet/__init__.py": '"""A package is an entry, too."""\n',
}


@pytest.fixture
def fruits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    for name, text in FILES.items():
        path = tmp_path / "fruits_for_a_test" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return Registry("fruits_for_a_test", "fruit", exclude=("shared",))


def test_the_entries_are_the_files_but_those_that_are_excluded(fruits: Registry) -> None:
    assert fruits.names() == ("apple", "import", "needs_more", "sweet")


def test_an_entry_is_imported_by_its_name(fruits: Registry) -> None:
    assert fruits.module("apple").COLOUR == "red"
    assert fruits.module("import").__name__ == "fruits_for_a_test.import_"


def test_pages_and_summaries_need_no_import(fruits: Registry) -> None:
    assert fruits.page("apple") == "An apple.\n\nIt grows on a tree."
    assert fruits.summaries() == {
        "apple": "An apple.",
        "import": "Named like a keyword.",
        "needs_more": "It cannot be imported here.",
        "sweet": "A package is an entry, too.",
    }
    assert not any(name.startswith("fruits_for_a_test") for name in sys.modules)


def test_a_wrong_name_is_refused_with_the_most_similar_one(fruits: Registry) -> None:
    for ask in (fruits.module, fruits.page, fruits.refuse_unknown):
        with pytest.raises(InvalidInputError) as refused:
            ask("aple")
        assert str(refused.value) == ("There is no fruit 'aple'. Did you mean 'apple'? Fruits: apple, import, needs_more, sweet.")
    with pytest.raises(InvalidInputError, match=r"^There is no fruit 'zzz'\. `fruits` lists all 5\.$"):
        Registry("fruits_for_a_test", "fruit", listing="`fruits` lists all {count}.").refuse_unknown("zzz")


def test_a_module_that_is_no_package_is_no_registry(fruits: Registry) -> None:
    with pytest.raises(TypeError, match="expected a package"):
        Registry("fruits_for_a_test.apple", "fruit").names()
