"""`unstall data` as a person meets it, in real processes."""

from __future__ import annotations

from tests.cli.test_cli import as_json, call
from unstall.cli import command_names
from unstall.data.formats import format_names


def test_the_group_lists_its_commands() -> None:
    done = call("data", "--help", COLUMNS="120")
    assert done.returncode == 0
    listed = [line.split()[0] for line in done.stdout.partition("Commands:")[2].splitlines() if line[:3].strip()]
    assert listed == command_names("data")


def test_a_wrong_command_of_the_group_names_the_nearest() -> None:
    done = call("data", "format")
    assert done.returncode == 2
    assert "There is no command 'data format'. Did you mean 'formats'?" in done.stderr


def test_formats_are_listed_for_a_person_and_as_json() -> None:
    listed = as_json("data", "formats")["formats"]
    assert [row["format"] for row in listed] == list(format_names())
    shown = call("data", "formats").stdout
    assert all(row["format"] in shown for row in listed)


def test_a_format_that_is_not_there_is_refused() -> None:
    done = call("data", "formats", "cocoa")
    assert done.returncode == 2
    assert "There is no format 'cocoa'" in done.stderr
