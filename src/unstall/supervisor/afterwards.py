"""What is looked at when a program has ended with an error: a path that it could not find."""

from __future__ import annotations

import os

from unstall.diagnosis.failures import fatal_error
from unstall.diagnosis.stacks import program_folder
from unstall.journal.events import Event
from unstall.journal.reader import Journal
from unstall.signals import paths


def look(journal: Journal) -> list[Event]:
    error = fatal_error(journal)
    if error is None:
        return []
    looked = paths.look(error, program_folder(journal), dict(os.environ))
    return [looked] if looked is not None else []
