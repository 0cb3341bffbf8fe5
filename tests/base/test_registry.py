"""A package as a registry: its modules are the entries, found and described without being imported."""

from __future__ import annotations

import sys
from collections.abc import Iterator
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
    "sour_cherry.py": "",
    "sweet/__init__.py": '"""A package is an entry, too."""\n',
}


@pytest.fixture
def fruits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    for name, text in FILES.items():
        path = tmp_path / "fruits_for_a_test" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield Registry("fruits_for_a_test", "fruit", exclude=("shared",))
    for name in [name for name in sys.modules if name.startswith("fruits_for_a_test")]:
        del sys.modules[name]


def test_the_entries_are_the_files_but_those_that_are_excluded(fruits: Registry) -> None:
    assert fruits.names() == ("apple", "import", "needs_more", "sour_cherry", "sweet")


def test_an_entry_is_imported_by_its_name(fruits: Registry) -> None:
    assert fruits.module("apple").COLOUR == "red"
    assert fruits.module("import").__name__ == "fruits_for_a_test.import_"


def test_pages_and_summaries_need_no_import(fruits: Registry) -> None:
    assert fruits.page("apple") == "An apple.\n\nIt grows on a tree."
    assert fruits.summaries() == {
        "apple": "An apple.",
        "import": "Named like a keyword.",
        "needs_more": "It cannot be imported here.",
        "sour_cherry": "",
        "sweet": "A package is an entry, too.",
    }
    assert not any(name.startswith("fruits_for_a_test") for name in sys.modules)


def test_a_wrong_name_is_refused_with_the_most_similar_one(fruits: Registry) -> None:
    for ask in (fruits.module, fruits.page, fruits.refuse_unknown):
        with pytest.raises(InvalidInputError) as refused:
            ask("aple")
        assert str(refused.value) == (
            "There is no fruit 'aple'. Did you mean 'apple'? Fruits: apple, import, needs_more, sour_cherry, sweet."
        )
    with pytest.raises(InvalidInputError, match=r"^There is no fruit 'zzz'\. `fruits` lists all 6\.$"):
        Registry("fruits_for_a_test", "fruit", listing="`fruits` lists all {count}.").refuse_unknown("zzz")


def test_names_may_have_hyphens_where_files_have_underscores(fruits: Registry) -> None:
    typed = Registry(fruits.package, "fruit", hyphens=True)
    assert typed.names() == ("apple", "import", "needs-more", "shared", "sour-cherry", "sweet")
    assert typed.module("sour-cherry").__name__ == "fruits_for_a_test.sour_cherry"
    with pytest.raises(InvalidInputError, match=r"There is no fruit 'red sour_cherry'\. Did you mean 'sour-cherry'\?"):
        typed.refuse_unknown("sour_cherry", within="red")


def test_a_module_that_is_no_package_is_no_registry(fruits: Registry) -> None:
    with pytest.raises(TypeError, match="expected a package"):
        Registry("fruits_for_a_test.apple", "fruit").names()
