"""`unstall run`, read aloud: start the program, watch it until it ends, say what was found, end as it ended."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import unstall
from unstall.base.console import create_console
from unstall.base.errors import UnstallError
from unstall.base.formatting import clean_text, strip_codes
from unstall.base.redact.environment import redact_command
from unstall.diagnosis.findings import Diagnosis
from unstall.diagnosis.verdict import Certainty
from unstall.journal import run_folder
from unstall.journal.events import RunStarted
from unstall.journal.writer import JournalWriter
from unstall.report import json as json_report
from unstall.report.story.run import build_story
from unstall.report.terminal import repairs
from unstall.report.terminal import story as story_text
from unstall.sensors.printed_output.reader import PrintedOutput
from unstall.storage.uploader import upload_run
from unstall.supervisor.launch import LaunchedProgram, resolve_command
from unstall.supervisor.recorder import Recorder
from unstall.supervisor.watch import TICK_S, Watch

STEADY = 2  # a verdict on a run that moves is told when it has been reached so many times in a row


@dataclass(frozen=True)
class RunOptions:
    quiet: bool = False
    stop_on_stall: bool = False
    json_target: str | None = None
    confirm: bool = False
    board: bool = False
    reads_output: bool = True


def supervise(command: Sequence[str], options: RunOptions) -> int:
    command = resolve_command(command)
    json_report.refuse_unwritable(options.json_target)
    run_folder.get_home()  # one that cannot be is refused, rather than the run put elsewhere
    run = run_folder.create(choose_label(command))
    if options.board:
        show_on_board(run, options)
    try:
        writer = JournalWriter(run.journal_path("watcher", os.getpid()), keeps_lost=True)
        launched, watch = start(command, run, "run", writer, reads_output=options.reads_output)
    except UnstallError:
        run.remove_if_empty()
        raise
    printer = Printer(run, options)
    printer.output = watch.output
    with upload_run(run, printer.complain):
        _watch_to_the_end(launched, watch, printer, run, options)
    return launched.end_as_it_ended()


def _watch_to_the_end(
    launched: LaunchedProgram, watch: Watch, printer: Printer, run: run_folder.RunFolder, options: RunOptions
) -> None:
    while launched.wait(TICK_S) is None:
        watch.note(*launched.take_new_signals())
        diagnosis = watch.tick()
        if diagnosis is not None and printer.print_if_new(watch, diagnosis) and options.stop_on_stall and printer.is_stuck:
            launched.stop()
    assert launched.ended is not None
    if launched.output is not None:
        launched.output.drain()
    diagnosis = watch.finish([*launched.take_new_signals(), launched.ended])
    if options.confirm and diagnosis.findings:
        from unstall.supervisor.run.confirm import confirm

        printer.complain("making experiments on the program, in a run of their own …")
        confirm(run, command=launched.command)
        diagnosis = watch.examine()
    printer.print_end(watch, diagnosis)


def show_on_board(run: run_folder.RunFolder, options: RunOptions) -> None:
    """Before the program is started: from then on signals are passed on to it, and a board must not begin with them held back."""
    from unstall.board import launcher

    launcher.show(run, is_quiet=options.quiet)


def start(
    command: Sequence[str],
    run: run_folder.RunFolder,
    mode: str,
    writer: JournalWriter,
    mask: Iterable[int] | None = None,
    prints_on_stderr: bool = False,
    variables: Mapping[str, str] | None = None,
    reads_output: bool = False,
) -> tuple[LaunchedProgram, Watch]:
    """A program with its watch; the journal of the watch begins with this program, whatever others the run has had."""
    began = time.time()
    launched = LaunchedProgram(command, run, mask, prints_on_stderr, variables, reads_output)
    version, folder = unstall.__version__, str(Path.cwd())
    writer.write(
        RunStarted(at=began, mode=mode, command=redact_command(command), folder=folder, pid=launched.pid, version=version)
    )
    recorder = Recorder(run, launched.pid, writer.write, command, folder, os.environ)
    output = launched.output
    printed = None if output is None else output.reader()
    watch = Watch(run, launched.pid, writer, since=began, recorder=recorder, output=printed)
    if output is not None:
        watch.note(*output.failures)
    return launched, watch


class Printer:
    """Says each verdict once, when it is sure enough, and the summary at the end. Only on standard error."""

    def __init__(self, run: run_folder.RunFolder, options: RunOptions) -> None:
        self._run = run
        self._options = options
        self._printed: set[str] = set()
        self._seen_counts: dict[str, int] = {}
        self._has_had_verdicts = False
        self.is_stuck = False
        self.output = PrintedOutput()  # what is read of the program, which our own words are no part of

    def print_if_new(self, watch: Watch, diagnosis: Diagnosis, is_steady: bool = False) -> bool:
        """`is_steady`: what it found was found before, by whoever asks."""
        story = build_story(watch.journal, diagnosis, self._run.name)
        self._run.write_story(story)
        self._keep_json(story)  # before anything else: whoever sees the verdict may end everything
        self.is_stuck = story["state"] == "stuck"
        found = [(finding.cause, finding.found.certainty) for finding in diagnosis.findings]
        fresh = [cause for cause, certainty in found if self._is_worth_saying(cause, certainty, is_steady)]
        self._seen_counts = {finding.cause: self._seen_counts.get(finding.cause, 0) + 1 for finding in diagnosis.findings}
        if not fresh:
            return self.is_stuck and bool(diagnosis.findings)
        self._printed.update(fresh)
        story["since_last_good"] = describe_since_last_good(watch, story, is_over=False)
        self._run.write_story(story)
        self._keep_json(story)
        if not self._options.quiet:
            self._print(story)
        return True

    def _is_worth_saying(self, cause: str, certainty: Certainty, is_steady: bool) -> bool:
        steady = is_steady or self.is_stuck or self._seen_counts.get(cause, 0) + 1 >= STEADY
        return cause not in self._printed and certainty >= Certainty.LIKELY and steady

    def print_repair(self, watch: Watch, diagnosis: Diagnosis) -> None:
        """The newest one, or that there will be none any more."""
        story = build_story(watch.journal, diagnosis, self._run.name)
        self._run.write_story(story)
        self._keep_json(story)
        self.is_stuck, self._seen_counts = False, {}
        if not self._options.quiet:
            self._print(story, repair=True)

    def print_end(self, watch: Watch, diagnosis: Diagnosis) -> None:
        story = self._final_story(watch, diagnosis)
        if not self._options.quiet:
            self._print(story, summary=True)
        if self._options.json_target:
            try:
                json_report.write(story, self._options.json_target)
            except (UnstallError, OSError) as error:  # said, but the exit code stays the program's own
                self.complain(f"{error} The story is in {self._run.story_path}.")

    def _keep_json(self, story: dict[str, Any]) -> None:
        """From the first verdict on, with each change: we may be killed before the end. A failure to write is told at the end."""
        self._has_had_verdicts = self._has_had_verdicts or bool(story["verdicts"])
        if self._has_had_verdicts and self._options.json_target and json_report.can_be_rewritten(self._options.json_target):
            with contextlib.suppress(UnstallError, OSError):
                json_report.write(story, self._options.json_target)

    def print_new_at_end(self, watch: Watch, diagnosis: Diagnosis) -> None:
        """For a program that is not ours to sum up: only what has not been said yet."""
        story = self._final_story(watch, diagnosis)
        fresh = [finding for finding in diagnosis.findings if finding.cause not in self._printed]
        if fresh and not self._options.quiet:
            self._print(story)

    def _final_story(self, watch: Watch, diagnosis: Diagnosis) -> dict[str, Any]:
        """Kept before the page is written, which may fail, and again with the place of the page."""
        story = add_exact_sums(watch, build_story(watch.journal, diagnosis, self._run.name))
        self._run.write_story(story)
        self._keep_json(story)
        keep_record(watch)
        story["since_last_good"] = describe_since_last_good(watch, story, is_over=True)
        self._run.write_story(story)
        report = write_report(watch, diagnosis)
        if report is not None:
            story["report"] = str(report)
            self._run.write_story(story)
        return story

    def _print(self, story: dict[str, Any], summary: bool = False, repair: bool = False) -> None:
        self.output.print_own(lambda: self._print_now(story, summary, repair))

    def _print_now(self, story: dict[str, Any], summary: bool, repair: bool) -> None:
        try:
            out = create_console("stderr")
            out.print()
            out.rule("[bold]unstall[/bold]", style="dim")
            if repair:
                repairs.show_newest(clean_text(story), out)
            else:
                story_text.show(story, out, summary=summary)
        except OSError:
            return  # standard error is closed: the story is in the run folder

    def complain(self, words: str) -> None:
        if sys.stderr is None:
            return
        with contextlib.suppress(OSError):
            self.output.print_own(lambda: _write_line(f"unstall: {strip_codes(words)}"))


def _write_line(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def choose_label(command: Sequence[str]) -> str:
    """A short name for a run: the script's, or the program's."""
    for part in command:
        if part.endswith(".py"):
            return Path(part).stem
    return Path(command[0]).name


# The end of a run: its page, its record and what changed since the last good run, each within its time, and without harm if it
# cannot be had.


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
        from unstall.report.story.report import build_full_story

        target = watch.run.report_path
        page.write_run(build_full_story(watch.run, watch.journal, diagnosis, watch.timeline), target, is_private=True)
        written.append(target)

    if watch.is_timeline_broken:
        return None
    _within_time(watch, "report", write)
    return written[0] if written else None


def keep_record(watch: Watch) -> None:
    """What the run was made of, put together once: a comparison need not read its journals again."""
    from unstall.compare.record.store import save_record

    _within_time(watch, "record", lambda: save_record(watch.run))


def _within_time(watch: Watch, what: str, write: Callable[[], None]) -> None:
    writer = threading.Thread(target=lambda: watch.guarded(what, write), name=f"unstall-{what}", daemon=True)
    writer.start()
    writer.join(MAX_S)


# What changed since the last good run, said with the verdict: within its time, and without harm if it cannot be.


MAX_WHILE_RUNNING_S = 2.0  # the watching waits meanwhile


def describe_since_last_good(watch: Watch, story: dict[str, Any], is_over: bool) -> dict[str, Any] | None:
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
