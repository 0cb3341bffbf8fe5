"""What changed in a source: lines with their place, without what cannot matter."""

from __future__ import annotations

from unstall.compare.differences.source_diff import Change, find_changes, find_file_changes

BEFORE = "import keras\n\nBATCH = 16  # images\nRATE = 0.001\n\nmodel.fit(x, batch_size=BATCH)\n"


def test_a_line_that_became_another_is_told_with_its_place() -> None:
    (change,) = find_file_changes("train.py", BEFORE, BEFORE.replace("16", "32"))
    assert change.where == "train.py:3"
    assert (change.before, change.after) == (("BATCH = 16",), ("BATCH = 32",))


def test_neighbouring_lines_are_changes_of_their_own() -> None:
    after = BEFORE.replace("16", "32").replace("0.001", "0.01")
    assert [change.where for change in find_file_changes("train.py", BEFORE, after)] == ["train.py:3", "train.py:4"]


def test_comments_blanks_and_docstrings_are_no_change() -> None:
    after = '"""Trains."""\n' + BEFORE.replace("  # images", "   # of a step").replace("\n\n", "\n\n\n\n")
    assert find_file_changes("train.py", BEFORE, after) == []


def test_a_line_that_is_gone_is_told_at_what_follows_it() -> None:
    (change,) = find_file_changes("train.py", BEFORE, BEFORE.replace("RATE = 0.001\n", ""))
    assert change.after == ()
    assert "gone: RATE = 0.001" in change.words


def test_a_file_that_is_no_python_is_compared_as_text() -> None:
    (change,) = find_file_changes("run.yaml", "batch: [16\n", "batch: [32\n")
    assert change.words == "batch: [16 → batch: [32"


def test_a_new_file_is_one_change() -> None:
    (change,) = find_changes({}, {"losses.py": {"sha256": "1", "lines": 40, "text": "x = 1\n" * 40}})
    assert change.words == "new: (40 lines)"


def test_the_same_contents_are_not_looked_at() -> None:
    files = {"train.py": {"sha256": "1", "lines": 1, "text": "a"}}
    assert find_changes(files, {"train.py": {"sha256": "1", "lines": 1, "text": "b"}}) == []


def test_a_value_is_found_by_what_it_is_worth() -> None:
    change = Change("train.py", 1, ("rate=1e-3",), ("rate=0.01",))
    assert change.turns(0.001, 0.01)
    assert not change.turns(0.01, 0.001)
    assert not change.turns(1, 3)
