"""The line of a table with the class number that ended a program."""

from pathlib import Path

import pytest

from unstall.journal.events import ErrorRaised
from unstall.sensors import label_tables

REFUSED = ErrorRaised(kind="IndexError", message="Target 11 is out of bounds.")
ROWS = [f"images/{number}.jpg,{number % 6}" for number in range(24)]
WRONG = [*ROWS[:12], "images/12.jpg,11", *ROWS[13:]]


def look(folder: Path, *lines: str, name: str = "train.csv", command: tuple[str, ...] = ("python", "train.py")) -> object:
    (folder / name).write_text("\n".join(lines) + "\n")
    origins = [{"name": "options.labels", "type": "str", "text": repr(name)}, {"name": "options.repeat", "text": "4"}]
    return label_tables.look(REFUSED, [{"values": [], "origins": origins}], command, str(folder))


@pytest.mark.parametrize(
    ("lines", "line", "times"),
    [
        (WRONG, 13, 1),
        (["path,class", *WRONG], 14, 1),
        ([*WRONG, "images/24.jpg,11"], 13, 2),
        ([row.replace(",", "\t") for row in WRONG], 13, 1),
        ([row.replace(",", " ") for row in WRONG], 13, 1),
    ],
)
def test_found_where_one_column_has_it_beyond_all_others(lines: list[str], line: int, times: int, tmp_path: Path) -> None:
    found = look(tmp_path, *lines)
    assert found is not None and (found.path, found.line, found.times) == (str(tmp_path / "train.csv"), line, times)  # type: ignore[attr-defined]


def test_found_in_a_file_of_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("\n".join(WRONG))
    found = label_tables.look(REFUSED, [], ["python", "train.py", "list.txt"], str(tmp_path))
    assert found is not None and found.line == 13


@pytest.mark.parametrize(
    "lines",
    [
        ROWS,
        [f"{row},{11 if row == WRONG[12] else 3}" for row in WRONG],  # two columns may be the one
        [f"images/{number}.jpg,{number}" for number in range(24)],  # it lies among the others: the number of the row
        [row.replace(",", ",x") for row in WRONG],
        WRONG[11:14],
        [],
    ],
)
def test_nothing_is_said_where_it_cannot_be_told(lines: list[str], tmp_path: Path) -> None:
    assert look(tmp_path, *lines) is None


def test_no_file_is_read_where_the_error_is_about_something_else(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("\n".join(WRONG))
    assert label_tables.look(ErrorRaised(message="Expected 3 channels"), [], ["python", "train.csv"], str(tmp_path)) is None
