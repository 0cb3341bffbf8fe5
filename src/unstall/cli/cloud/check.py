"""Say what this machine is, and what its account may do: unstall cloud check --bucket gs://NAME

Asks the metadata server of Google's machines (elsewhere it says that there is none): machine type, zone, whether it may be taken
away, account and scopes; the quotas of its region; the cards. With --bucket it lists, writes, reads and deletes a small object
there. Ends with 1 where one of these fails.
"""

from __future__ import annotations

import sys

import click

from unstall.cli import json_option, write_answer
from unstall.config.command import Command


@click.command("check", cls=Command, help=__doc__)
@click.option("--bucket", metavar="PLACE", help="gs://NAME or s3://NAME, with a folder or without: is it in reach?")
@click.option("--read-only", is_flag=True, help="Only list and read there: for a bucket of data.")
@json_option("what was found")
def command(bucket: str | None, read_only: bool, json_target: str | None) -> None:
    from unstall.base.errors import InvalidInputError
    from unstall.cloud.check import check_machine
    from unstall.cloud.terminal import show_check
    from unstall.report import json

    json.refuse_unwritable(json_target)
    if read_only and not bucket:
        raise InvalidInputError("--read-only: expected together with --bucket, which it is about.")
    plain = check_machine(bucket, read_only)
    write_answer(plain, json_target, show_check)
    if not plain["works"]:
        sys.exit(1)
