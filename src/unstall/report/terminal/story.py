"""The story on a terminal: a few lines that say the state, the cause, the evidence and what to do."""

from __future__ import annotations

import signal as signals
from typing import TYPE_CHECKING, Any

from unstall.base.console import create_grid, print_clean
from unstall.base.formatting import clean_text, format_approximate_duration, format_count, format_duration, format_size
from unstall.config.aliases import update_names
from unstall.report.story.outcome import (
    CLEAR,
    EVERY_CAUSE,
    FOUND,
    QUESTIONS,
    UNEXPLAINED,
    UNKNOWN,
    describe_known_end,
    describe_own_exit,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

COLOUR = {
    "stuck": "bold red",
    "killed": "bold red",
    "failed": "bold red",
    "idle": "yellow",
    "slow": "yellow",
    "interrupted": "yellow",
    "repaired": "green",
    "starting": "green",
    "training": "green",
    "done": "green",
    "running": "green",
}
OUTCOME_COLOUR = {FOUND: "red", CLEAR: "green", UNKNOWN: "yellow"}
SHORT = {"interrupted": "stopped"}  # labels have room for 8 letters
MAX_NOT_SEEN = 4
# Of verdicts that the end of the run does not show any more; those of a stall by whether training steps were made after it.
PASSED = {False: "said while it ran, and no longer so", True: "said while it ran; no training step was seen after it"}
STOPPED = (
    "its process is stopped, by a signal (SIGSTOP, Ctrl-Z) or a debugger; by whom was not seen. It goes on with "
    "`kill -CONT PID`, or `fg` in its shell"
)
SLOW_STEP_S, LONG_RUN_S = 1.0, 600.0  # from here on somebody wonders whether it is stuck
QUEUED_CORES = 0.5
WORTH_SAYING = 1.1  # times as fast
ACCELERATORS = {
    "none": "no GPU is used: there is no NVIDIA GPU in this machine",
    "unused": "no GPU is used, although one is there",
}
CERTAINTY = {"certain": "bold", "likely": "", "possible": "dim"}
PHASES = {
    "train": "in step {step}",
    "loop": "in step {step}",
    "first_step": "in the first step",
    "fit": "before the first step",
    "validate": "in a validation",
    "predict": "in a prediction",
    "save": "while saving",
}


def show(story: dict[str, Any], out: Console, summary: bool = False) -> None:
    """Verdicts, or that there is none; with the summary of the run if wanted."""
    from rich.text import Text

    from unstall.report.story.threads import format_lines  # which takes its words for times from here

    table, story = create_grid(), clean_text(story)
    state = story["state"]
    colour = COLOUR.get(state, "bold")
    colour = OUTCOME_COLOUR[UNKNOWN] if colour == OUTCOME_COLOUR[CLEAR] and format_outcome(story) == UNKNOWN else colour
    table.add_row(Text(SHORT.get(state, state), style=colour), format_headline(story))
    for index, verdict in enumerate(story["verdicts"]):
        add_verdict(table, verdict, "cause" if index == 0 else "also")
    if not story["verdicts"]:
        table.add_row("verdict", Text(explain_no_verdict(story), style=OUTCOME_COLOUR[format_outcome(story)]))
    for index, line in enumerate(format_lines(_threads(story), is_over=bool(story.get("ended")))):
        table.add_row("where" if index == 0 else "", Text(line))
    for index, line in enumerate(describe_damage(story)):
        table.add_row("damaged" if index == 0 else "", Text(line, style="yellow"))
    for index, line in enumerate(describe_since_last_good(story)):
        table.add_row("since" if index == 0 else "", Text(line, style="bold" if index else ""))
    for index, line in enumerate(format_not_seen(story)):
        table.add_row("not seen" if index == 0 else "", Text(line, style="dim"))
    for label, line in format_summary(story) if summary else []:
        table.add_row(label, Text(line))
    print_clean(out, table)
    for label, path in format_places(story) if summary else []:
        out.print(Text.assemble((f"{label:<8}", "dim"), f"  {path}"), soft_wrap=True)


def _threads(story: dict[str, Any]) -> list[dict[str, Any]]:
    return [] if story["verdicts"] else story.get("threads") or []


def describe_since_last_good(story: dict[str, Any]) -> list[str]:
    """What changed since the last good run and explains the verdict, the most first; empty where nothing is known to."""
    since = story.get("since_last_good")
    return [f"the last good run, {since['run']}:", *(f"· {line}" for line in since["lines"])] if since else []


def format_outcome(story: dict[str, Any]) -> str:
    """Stories that were kept before they had one say by their verdicts and their state how it was."""
    known = story.get("outcome")
    if known:
        return str(known)
    return FOUND if story["verdicts"] or describe_known_end(story) else UNKNOWN if story["state"] in UNEXPLAINED else CLEAR


def explain_no_verdict(story: dict[str, Any]) -> str:
    """What is said where no cause was found."""
    if known := describe_known_end(story) or describe_own_exit(story):
        return known
    seen_signals = ", ".join(story.get("seen") or [])
    if format_outcome(story) == UNKNOWN:
        return _cannot_tell(story, seen_signals)
    return f"nothing wrong in what could be seen ({seen_signals})" if seen_signals else "nothing wrong in what could be seen"


def _cannot_tell(story: dict[str, Any], seen_signals: str) -> str:
    state = story["state"]
    if state == "stuck" and story["progress"].get("stopped"):
        return STOPPED
    if question := QUESTIONS.get(state):
        dead = "; ".join(f"thread {words}" for words in story.get("dead_threads") or [])
        known = dead if state == "stuck" else format_failure(story.get("failure"))
        return f"cannot tell {question}: {known}" if known else f"cannot tell {question}"
    reason = story.get("reason") or UNEXPLAINED.get(state, UNEXPLAINED["unknown"])
    return (
        f"cannot tell: {reason} (what was seen: {seen_signals})" if seen_signals and _needed(story) else f"cannot tell: {reason}"
    )


def format_failure(failure: dict[str, Any] | None) -> str:
    """KeyError: 'image', at data.py:12 in load"""
    if not failure:
        return ""
    kind = str(failure["kind"]).rpartition(".")[2]
    words = f"{kind}: {failure['message']}" if failure["message"] else kind
    return f"{words.rstrip('.')}, at {failure['where']}" if failure["where"] else words


def describe_damage(story: dict[str, Any]) -> list[str]:
    """What of its journals could not be read, a line for each file."""
    return [_unread(row) for row in story.get("unread") or []]


def _unread(row: dict[str, Any]) -> str:
    file = f"{row['run']}/{row['file']}" if "run" in row else row["file"]
    if row["why"]:
        return f"{file} could not be read: {row['why']}"
    lines = format_count(row["lines"], "line")
    return f"{file}: nothing of it could be read, {lines}" if row["is_all"] else f"{file}: {lines} could not be read"


def format_headline(story: dict[str, Any]) -> str:
    progress, ended = story["progress"], story["ended"]
    if ended is not None:
        return _describe_end(ended, progress, story["state"] == "interrupted")
    if story["state"] == "unknown":
        return _why_unknown(story)
    if (progress.get("idle_s") or 0.0) > (progress["stalled_s"] or 0.0) and not progress["stalled_in"]:
        at_least = format_duration(progress["idle_s"])
        return f"it has waited at the same line for {at_least} or longer and uses {progress['cpu_cores'] * 100:.0f} % of one core"
    if progress["stalled_s"] is not None:
        phase, step = progress["stalled_in"] or "", progress["stalled_step"]
        if not phase:
            uses = f" and uses {progress['cpu_cores'] * 100:.0f} % of one core" if progress["cpu_cores"] is not None else ""
            return f"it has stood still for {format_duration(progress['stalled_s'])}{uses}"
        place = (
            "in a step"
            if phase in {"train", "loop"} and step < 0
            else PHASES.get(phase, "outside the training").format(step=step)
        )
        if story["state"] == "interrupted":  # the process lives on, and no longer stands there
            return f"interrupted after {format_duration(progress['stalled_s'])} without progress, {place}"
        return f"{format_duration(progress['stalled_s'])}, {place}"
    parts = []
    if progress["step"] is not None:
        parts.append(f"step {progress['step'] + 1:,}")
    elif (printed := story.get("printed")) and printed["step"] is not None:
        parts.append(f"step {_figure(printed['step'])}, as it prints")
    if progress["cpu_cores"] is not None:
        parts.append(f"{progress['cpu_cores'] * 100:.0f} % of one core")
    return ", ".join(parts) or "the program runs"


def _why_unknown(story: dict[str, Any]) -> str:
    unread = story["unread"]
    if not unread:
        return "its journal is empty"
    if not story["events"]:
        return "nothing in its journal could be read"
    return f"{unread[0]['file'] if len(unread) == 1 else 'a part of its journal'} could not be read, in which its end may stand"


def _describe_end(ended: dict[str, Any], progress: dict[str, Any], is_interrupted: bool) -> str:
    took = f" after {format_duration(progress['seconds'])}" if progress["seconds"] else ""
    since = f" since step {progress['from_step']:,}" if progress.get("from_step") else ""
    more = " or more" if progress.get("has_more_steps") else ""
    steps = f", {format_count(progress['step'] + 1, 'step')}{more}{since}" if progress["step"] is not None else ""
    if ended["signal"] is not None:
        by = " by Unstall, as asked," if ended["stopped_by_unstall"] else ""
        if is_interrupted and ended["signal"] == signals.SIGINT:
            return f"by Ctrl-C (SIGINT){took}{steps}"
        return f"ended{by} by {signals.Signals(ended['signal']).name}{took}{steps}"
    if ended["exit_code"] is None:
        return f"{took.strip()}{steps}"
    return f"exit code {ended['exit_code']}{took}{steps}"


def add_verdict(table: Table, verdict: dict[str, Any], label: str) -> None:
    from rich.text import Text

    head = Text(verdict["cause"], style=f"bold {OUTCOME_COLOUR[FOUND]}")
    head.append(f" ({verdict['certainty']})", style=CERTAINTY.get(verdict["certainty"], ""))
    if verdict["where"]:
        head.append(f"  {verdict['where']}", style="bold")
    table.add_row(label, head)
    table.add_row("", Text(verdict["summary"]))
    for index, evidence in enumerate(verdict["evidence"]):
        table.add_row("evidence" if index == 0 else "", Text("· " + evidence["claim"]))
    actions = [Text(remedy["action"]) for remedy in verdict["remedies"]]
    for index, row in enumerate([*_changes(verdict), *actions]):
        table.add_row("do" if index == 0 else "", row)
    table.add_row("", Text(f"more: unstall explain {verdict['cause']}", style="dim"))


def _changes(verdict: dict[str, Any]) -> list[Text]:
    """Changes of the user's lines, as a diff; a verdict of an earlier version has none."""
    from rich.text import Text

    rows = []
    for change in verdict.get("changes") or ():
        when = f", {change['when']}" if change["when"] else ""
        if when or change["where"] != verdict["where"]:
            rows.append(Text(f"at {change['where']}{when}:"))
        rows += [Text(f"- {line}", style="red") for line in change["before"]]
        rows += [Text(f"+ {line}", style="green") for line in change["after"]]
    return rows


def format_not_seen(story: dict[str, Any]) -> list[str]:
    """What the user can let us see; and all that we could not, where something is wrong that no cause explains."""
    if story["state"] == "unknown":
        return []  # how a run is to be started does not mend its journal
    needed = _needed(story)
    is_unexplained = (
        not story["verdicts"] and not describe_known_end(story) and story["state"] in {"stuck", "slow", "failed", "killed"}
    )
    rows = needed or [row for row in story["unknown"] if row["fix"] or is_unexplained]
    missing = [row["missing"] + (f": {row['fix']}" if row["fix"] else "") for row in rows[:MAX_NOT_SEEN]]
    return missing if needed else [*(_signals(row) for row in story.get("not_seen") or ()), *missing]


def _signals(row: dict[str, Any]) -> str:
    """'TensorFlow 2.4.1: function traces'."""
    return f"{row['framework']} {row['version']}".rstrip() + f": {', '.join(row['signals'])}"


def _needed(story: dict[str, Any]) -> list[dict[str, str]]:
    """What is missing without which there is no answer."""
    return [row for row in story["unknown"] if row.get("causes") == EVERY_CAUSE]


def format_summary(story: dict[str, Any]) -> list[tuple[str, str]]:
    """What the run was, in a line each, with a label."""
    lines = []
    time = story["time"]
    if story["progress"]["step"] is not None and time["total"]:
        shares = [
            f"{name} {_share(time[name], time['total'])}"
            for name in ("input", "compute", "validation", "checkpoint", "compile", "stuck", "away", "other")
            if name not in {"stuck", "away"} or time.get(name)
        ]
        lines.append(("time", " · ".join(shares) + f"  of {format_duration(time['total'])}"))
    lines += [("speed" if index == 0 else "", line) for index, line in enumerate(describe_speed(story))]
    memory = story["memory"]
    if memory["host_peak_bytes"]:
        text = f"{format_size(memory['host_peak_bytes'])} at most, of {format_size(memory['host_limit_bytes'] or 0)}"
        for device in memory["devices"]:
            text += f"; {device['name']}: {format_size(device['peak_bytes'])} of {format_size(device['total_bytes'])}"
        lines.append(("memory", text))
    numbers = story["numerics"]
    if numbers["first_loss"] is not None:
        first, last, broke = numbers["first_loss"], numbers["last_loss"], numbers["not_finite_since_step"]
        text = f"loss {first:.4g} → {last:.4g}" if last is not None else f"loss {first:.4g}, read once"
        if broke is not None:
            is_broken = numbers.get("is_finite_now") is False
            text = f"loss {first:.4g}, not finite since step {broke:,}" if is_broken else f"{text}, not finite in step {broke:,}"
        lines.append(("numbers", text))
    if story.get("printed"):
        lines.append(("printed", format_printed(story["printed"])))
    for index, words in enumerate(story.get("failed_threads") or []):
        lines.append(("threads" if index == 0 else "", f"thread {words}"))
    for no_steps, words in PASSED.items():
        passed = [each["cause"] for each in story.get("earlier", []) if each.get("no_steps_after", False) is no_steps]
        if passed:
            lines.append(("earlier", f"{', '.join(passed)}: {words}"))
    lines += [("repairs" if index == 0 else "", format_repair(repair)) for index, repair in enumerate(story.get("repairs", []))]
    return lines


def describe_speed(story: dict[str, Any]) -> list[str]:
    """What a step of a long training without a verdict takes, on what, and how long the whole run will take."""
    found = story.get("speed")
    if not found or story["verdicts"] or (found["step_s"] < SLOW_STEP_S and (found["run_s"] or 0.0) < LONG_RUN_S):
        return []
    first = f"a step takes {_seconds(found['step_s'])}"
    if found["compute_fraction"] is not None:
        first += f", {found['compute_fraction'] * 100:.0f} % of it computing"
    if found["cores_used"] is not None:
        of = f" of {found['cores_usable']:g}" if found["cores_usable"] else ""
        first += f"; the program keeps {found['cores_used']:.1f}{of} cores busy"
    lines = [first]
    if found["cores_queued"] is not None and found["cores_queued"] >= QUEUED_CORES:
        lines.append(f"the machine is busy: {found['cores_queued']:.1f} threads of the program wait for a free core")
    if words := ACCELERATORS.get(found["accelerator"]):
        lines.append(words)
    if found["faster_without_waiting"] is not None and found["faster_without_waiting"] >= WORTH_SAYING:
        lines.append(f"without the wait for input it would be {found['faster_without_waiting']:.1f} times as fast")
    if found["epoch_s"] is not None:
        run = f", the whole run {format_approximate_duration(found['run_s'])}" if found["run_s"] else ""
        is_over = story["ended"] is not None or not found["left_s"]
        lines.append(
            f"an epoch takes {format_approximate_duration(found['epoch_s'])}{run}"
            + ("" if is_over else f", {format_approximate_duration(found['left_s'])} of it to go")
        )
    return lines


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s" if seconds < 100 else format_duration(seconds)


def format_printed(printed: dict[str, Any]) -> str:
    """'step 20 of 100 · epoch 3 of 50 · 12 steps/s · loss 2.3 → 0.4': what the program said itself."""
    parts = [
        f"{name} {_figure(printed[name])}" + (f" of {_figure(printed[of])}" if printed[of] else "")
        for name, of in (("step", "steps_per_epoch"), ("epoch", "epochs"))
        if printed[name] is not None
    ]
    if printed["steps_s"]:
        parts.append(f"{printed['steps_s']:.3g} steps/s")
    if printed["is_finite_now"] is False:
        first = f"{printed['first_loss']:.4g}, now " if printed["first_loss"] is not None else ""
        parts.append(f"loss {first}not finite")
    elif printed["last_loss"] is not None and printed["first_loss"] is not None:
        parts.append(f"loss {printed['first_loss']:.4g} → {printed['last_loss']:.4g}")
    if printed["skipped_bytes"]:
        parts.append(f"{format_size(printed['skipped_bytes'])} of its output not read")
    return " · ".join(parts)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


def format_places(story: dict[str, Any]) -> list[tuple[str, str]]:
    """The name of the run and the path of its page, each in one line however long it is: they are copied."""
    return [(label, str(story[label])) for label in ("run", "report") if story.get(label)]


def format_repair(repair: dict[str, Any]) -> str:
    """3: device_memory_exhausted in step 1,234: micro_batch_size 8 → 4; it helped."""
    if not repair["attempt"]:
        return f"before the first step: {format_changes(repair)}"
    outcome = "it helped" if repair["helped"] else "undone, it did not help" if repair["undone"] else "not seen to help yet"
    return f"{repair['attempt']}: {repair['cause']} in step {repair['step']:,}: {format_changes(repair)}; {outcome}"


def format_changes(repair: dict[str, Any]) -> str:
    """micro_batch_size 8 → 4, or that the run was resumed."""
    parts = [f"{name} {_short(repair['before'].get(name))} → {_short(value)}" for name, value in repair["change"].items()]
    return ", ".join(parts) or ("begun again" if repair["verb"] == "restart" else f"resume {format_resume_place(repair)}")


def format_resume_place(repair: dict[str, Any]) -> str:
    """Who goes on from a checkpoint goes on from some step; only a guest of another machine's run does not know which."""
    if repair["from_step"] > 0 or repair["verb"] != "resume from":
        return f"from step {repair['from_step']:,}"
    return "from the beginning" if "learning_rate" in update_names(repair["change"]) else "from the newest checkpoint of worker 0"


def _short(value: Any) -> str:
    if isinstance(value, list):
        return f"{len(value)} of them" if value else "none"
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _share(seconds: float | None, total: float) -> str:
    return "not measured" if seconds is None else f"{100 * seconds / total:.0f} %"
