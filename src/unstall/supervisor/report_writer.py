"""The page of a run, written when it has ended: within its time, and without harm if it cannot be."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unstall.diagnosis.findings import Diagnosis
from unstall.supervisor.watch import Watch

MAX_S = 5.0  # the caller waits for the end of the run, not for a page; on a disk that hangs it would wait for ever


def add_exact_sums(watch: Watch, story: dict[str, Any]) -> dict[str, Any]:
    """With the sums of the whole run, where they are known."""
    if watch.is_timeline_broken:
        return story
    return watch.guarded("timeline", lambda: watch.timeline.exact(story, watch.journal.now)) or story


def write_report(watch: Watch, diagnosis: Diagnosis) -> Path | None:
    """Where it is; None if it could not be written in time."""
    written: list[Path] = []

    def write() -> None:
        from unstall.report.html import page
        from unstall.report.story.report import tell_whole

        target = watch.run.report_path
        page.write_run(tell_whole(watch.run, watch.journal, diagnosis, watch.timeline), target, is_private=True)
        written.append(target)

    if watch.is_timeline_broken:
        return None
    _within_time(watch, "report", write)
    return written[0] if written else None


def keep_record(watch: Watch) -> None:
    """What the run was made of, put together once: a comparison need not read its journals again."""
    from unstall.compare.record.store import keep

    _within_time(watch, "record", lambda: keep(watch.run))


def _within_time(watch: Watch, what: str, write: Callable[[], None]) -> None:
    writer = threading.Thread(target=lambda: watch.guarded(what, write), name=f"unstall-{what}", daemon=True)
    writer.start()
    writer.join(MAX_S)


# What changed since the last good run, said with the verdict: within its time, and without harm if it cannot be.


MAX_WHILE_RUNNING_S = 2.0  # the watching waits meanwhile


def since_last_good(watch: Watch, story: dict[str, Any], is_over: bool) -> dict[str, Any] | None:
    """As `compare.since_last_good.compare_with_last_good` has it; None also where there was not time enough."""
    found: list[dict[str, Any]] = []

    def look() -> None:
        from unstall.compare.last_good import compare_with_last_good

        answer = compare_with_last_good(watch.run, story)
        if answer is not None:
            found.append(answer)

    thread = threading.Thread(target=lambda: watch.guarded("compare", look), name="unstall-compare", daemon=True)
    thread.start()
    thread.join(MAX_S if is_over else MAX_WHILE_RUNNING_S)
    return found[0] if found else None
