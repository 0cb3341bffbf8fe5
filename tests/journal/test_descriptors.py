"""Our files are out of the program's way: it gets the numbers that it would get alone, and never our lines."""

import os
import resource
from pathlib import Path

import pytest

from tests.programs import run_bare, run_watched, write
from unstall.journal.events import WarningShown
from unstall.journal.writer import JournalWriter, move_descriptor_up, read_identity, reserve_standard_numbers

# Each lets the probe open its journal (a warning is an event) at an awkward moment.
AWKWARD = {
    "closed its output before": "import os, warnings\nos.close(1)\nwarnings.warn('x')\nprint('into the void')\n",
    "asks for the next number": "import warnings\nwarnings.warn('x')\nprint(open('/dev/null').fileno())\n",
    "closes all and opens its own": """
import os, warnings
warnings.warn('one')
os.closerange(3, 2000)
own = [open(f'own{number}.txt', 'w') for number in range(600)]
warnings.warn('two')
for file in own:
    file.write('mine')
    file.close()
print({open(f'own{number}.txt').read() for number in range(600)})
""",
}


@pytest.mark.parametrize("name", AWKWARD)
def test_a_program_meets_none_of_our_files(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = write(tmp_path, AWKWARD[name])
    assert run_watched(program) == run_bare(program)


def test_the_journal_goes_on_after_the_program_has_closed_it(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "events.jsonl")
    writer.write(WarningShown(message="one"))
    assert writer._file is not None and writer._file >= 512
    number = writer._file
    os.close(number)
    with (tmp_path / "own.txt").open("w") as own:
        os.dup2(own.fileno(), number)  # the program's own file under the number that was ours
        writer.write(WarningShown(message="two"))
        os.close(number)
    assert (tmp_path / "own.txt").read_text() == ""
    assert [line.count('"message"') for line in (tmp_path / "events.jsonl").read_text().splitlines()] == [1, 1]


def test_where_the_limit_allows_no_high_number_a_lower_one_is_taken(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    file = os.open(tmp_path / "file", os.O_CREAT | os.O_WRONLY)
    before = read_identity(file)
    resource.setrlimit(resource.RLIMIT_NOFILE, (400, hard))
    try:
        moved = move_descriptor_up(file)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert 64 <= moved < 400
    assert read_identity(moved) == before and read_identity(file) is None
    os.close(moved)


def test_standard_numbers_stay_closed_while_they_are_taken() -> None:
    kept = os.dup(0)
    os.close(0)
    try:
        with reserve_standard_numbers():
            file = os.open(os.devnull, os.O_RDONLY)
            assert file > 2
            os.close(file)
        assert read_identity(0) is None
    finally:
        os.dup2(kept, 0)
        os.close(kept)
