"""The watcher process of a Guard or a watch(): follows a program that is not its child until that program ends."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from unstall.base.processes import is_alive
from unstall.journal.run_folder import RunFolder


def main(run_path: str, pid: int, quiet: bool) -> None:
    from unstall.journal.events import ProcessEnded
    from unstall.journal.writer import JournalWriter
    from unstall.storage.uploader import upload_run
    from unstall.supervisor.run.program import Printer, RunOptions
    from unstall.supervisor.watch import TICK_S, Watch

    run = RunFolder(Path(run_path))
    watch = Watch(run, pid, JournalWriter(run.journal_path("watcher", os.getpid()), keeps_lost=True))
    printer = Printer(run, RunOptions(quiet=quiet))
    with upload_run(run, printer.complain):
        while is_alive(pid):
            diagnosis = watch.tick()
            if diagnosis is not None:
                printer.print_if_new(watch, diagnosis)
            time.sleep(TICK_S)
        # How it ended only its parent knows.
        printer.print_new_at_end(watch, watch.finish([ProcessEnded(at=time.time(), pid=pid)]))


if __name__ == "__main__":
    if os.fork():
        os._exit(0)  # the middleman: the program waits for nothing but this
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3] == "quiet")
