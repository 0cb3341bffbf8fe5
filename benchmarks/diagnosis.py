"""Runs every specimen for real, each in processes of its own, and compares the cause that is named with the true one.

    python -m benchmarks.diagnosis [NAME...] [--sick | --healthy] [--framework NAME] [--gpu] [--attach] [--jobs 1] [--keep FOLDER]
                                   [--out FILE]

For a sick one: the expected cause, the one named first, how sure, whether the line is right, and the seconds from the
onset (which the specimen itself marks) to the verdict. For a healthy one: any verdict at all is a false alarm. With
--attach the hanging ones are started bare and looked at with `unstall attach` once they hang. One that is made for several
workers is started as often, each under its own watcher, and the runs are read together (benchmarks/diagnosis_workers.py).
The file of results keeps the rows of specimens that are not run this time, with the day of each.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.specimens_index import Specimen, load_all

from benchmarks import diagnosis_workers, written

UNSTALL = [sys.executable, "-m", "unstall"]
GRACE_S = 100.0  # a machine that is busy, and imports
ATTACH_AFTER_ONSET_S = 3.0
HANG_SETTLES_S = 45.0  # how long a bare specimen may take to reach its onset


def run_one(specimen: Specimen, keep: Path | None = None) -> dict[str, Any]:
    """Watched from the start, or by the Guard or watch() in the specimen itself."""
    if specimen.workers > 1:
        return run_workers(specimen, keep)
    with tempfile.TemporaryDirectory(prefix="unstall-bench-", ignore_cleanup_errors=True) as scratch:
        home, onset, story = Path(scratch, "home"), Path(scratch, "onset"), Path(scratch, "story.json")
        env = {**os.environ, "UNSTALL_HOME": str(home), "SPECIMEN_ONSET": str(onset), "TF_CPP_MIN_LOG_LEVEL": "2"}
        program = [sys.executable, str(specimen.path)]
        if specimen.shape == "run":
            program = [*UNSTALL, "run", "--quiet", "--on-stall", "stop", "--json", str(story), "--", *program]
        began = time.time()
        ended = _run(program, env, specimen, home)
        plain = _story(story, home)
        row = _row(specimen, plain, _verdict_at(home, plain), _onset(onset, began), ended, time.time() - began)
        if keep is not None and not row["right"]:
            shutil.copytree(home, keep / specimen.name, dirs_exist_ok=True)
        return row


def run_workers(specimen: Specimen, keep: Path | None) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="unstall-bench-", ignore_cleanup_errors=True) as scratch:
        home, onset = Path(scratch, "home"), Path(scratch, "onset")
        began = time.time()
        result, ended = diagnosis_workers.run(specimen, home, onset, GRACE_S)
        row = _row(specimen, result, result.get("found_at"), _onset(onset, began), ended, time.time() - began)
        if keep is not None and not row["right"]:
            shutil.copytree(home, keep / specimen.name, dirs_exist_ok=True)
        return row


def _run(program: list[str], env: dict[str, str], specimen: Specimen, home: Path) -> str:
    """Until it ends by itself; one that hangs is stopped, as its user would, after the time its header asks for."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            program, env=env, cwd=specimen.path.parent, stdout=output, stderr=output, stdin=subprocess.DEVNULL
        )
        limit = specimen.seconds + (GRACE_S if specimen.ends != "hangs" else 20.0)
        until = time.monotonic() + limit
        while process.poll() is None and time.monotonic() < until:
            if specimen.shape != "run" and specimen.ends == "hangs" and _story(Path("/none"), home).get("verdicts"):
                break
            time.sleep(0.5)
        if process.poll() is not None:
            return "by itself"
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if specimen.shape != "run":
            time.sleep(2.0)  # the guard's watcher writes its last story
        return "stopped"


def attach_one(specimen: Specimen) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="unstall-bench-", ignore_cleanup_errors=True) as scratch:
        onset, story = Path(scratch, "onset"), Path(scratch, "story.json")
        env = {**os.environ, "UNSTALL_HOME": scratch, "SPECIMEN_ONSET": str(onset), "TF_CPP_MIN_LOG_LEVEL": "2"}
        process = subprocess.Popen(
            [sys.executable, str(specimen.path)],
            env=env,
            cwd=specimen.path.parent,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
        )
        try:
            until = time.monotonic() + HANG_SETTLES_S
            while not onset.exists() and process.poll() is None and time.monotonic() < until:
                time.sleep(0.2)
            time.sleep(ATTACH_AFTER_ONSET_S)
            began = time.monotonic()
            subprocess.run(
                [*UNSTALL, "attach", str(process.pid), "--json", str(story)], env=env, capture_output=True, check=False
            )
            took = time.monotonic() - began
        finally:
            process.kill()
            process.wait()
        plain = _story(story, Path(scratch))
        row = _row(specimen, plain, None, None, "attached", took)
        row["seconds_to_verdict"] = round(took, 2)
        return row


def _story(path: Path, home: Path) -> dict[str, Any]:
    """What --json wrote, or what the watcher of a Guard left in its run folder."""
    for candidate in (path, *sorted(home.glob("*/story.json"))):
        try:
            story = json.loads(candidate.read_text())
        except (OSError, ValueError):
            continue
        if isinstance(story, dict):
            return story
    return {}


def _verdict_at(home: Path, story: dict[str, Any]) -> float | None:
    """When the cause that stands first at the end was first reached."""
    verdicts = story.get("verdicts") or []
    if not verdicts:
        return None
    for path in home.glob("*/events-watcher-*.jsonl"):
        for line in path.read_text(errors="replace").splitlines():
            if '"VerdictReached"' in line and f'"{verdicts[0]["cause"]}"' in line:
                return float(json.loads(line)["at"])
    return None


def _onset(path: Path, began: float) -> float:
    try:
        return float(path.read_text())
    except (OSError, ValueError):
        return began


def _row(
    specimen: Specimen, story: dict[str, Any], verdict_at: float | None, onset: float | None, ended: str, took: float
) -> dict[str, Any]:
    verdicts = story.get("verdicts")
    named = [verdict["cause"] for verdict in verdicts or []]
    first = verdicts[0] if verdicts else {}
    line = int(first["where"].rpartition(":")[2]) if first.get("where") else None
    is_right = named[:1] == ([specimen.cause] if specimen.cause else [])
    return {
        "specimen": specimen.name,
        "framework": specimen.framework,
        "ends": specimen.ends,
        "expected": specimen.cause,
        "named": named,
        "right": bool(is_right and verdicts is not None),
        "certainty": first.get("certainty"),
        "where": first.get("where"),
        "line_right": None if not specimen.where or not is_right else line in specimen.where,
        "others_allowed": all(name in specimen.also for name in named[1:]),
        "seconds_to_verdict": None if verdict_at is None or onset is None else round(verdict_at - onset, 1),
        "state": story.get("state", "no story"),
        "ended": ended,
        "seconds": round(took, 1),
    }


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    sick, healthy = [row for row in rows if row["expected"]], [row for row in rows if not row["expected"]]
    hangs = [
        row["seconds_to_verdict"]
        for row in sick
        if row["ends"] == "hangs" and row["right"] and row["seconds_to_verdict"] is not None
    ]
    lines = [row["line_right"] for row in sick if row["line_right"] is not None]
    return {
        "sick": len(sick),
        "right_first": sum(row["right"] for row in sick),
        "healthy": len(healthy),
        "false_alarms": sum(bool(row["named"]) for row in healthy),
        "no_story": sum(row["state"] == "no story" for row in rows),
        "lines_right": f"{sum(lines)} of {len(lines)}",
        "median_seconds_to_verdict_on_a_hang": round(statistics.median(hangs), 1) if hangs else None,
        "causes": len({row["expected"] for row in sick if row["right"]}),
    }


def show(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="diagnosis")
    for name in ("specimen", "framework", "expected", "named", "sure", "line", "seconds"):
        table.add_column(name, overflow="fold")
    for row in rows:
        colour = "green" if row["right"] else "red"
        line = "" if row["line_right"] is None else "right" if row["line_right"] else f"wrong: {row['where']}"
        seconds = "" if row["seconds_to_verdict"] is None else f"{row['seconds_to_verdict']:.1f}"
        table.add_row(
            row["specimen"], row["framework"], row["expected"] or "nothing",
            f"[{colour}]{', '.join(row['named']) or 'nothing'}[/]",
            row["certainty"] or "", line, seconds,
        )  # fmt: skip
    console = Console(width=150)
    console.print(table)
    console.print(summary(rows))


def chosen(arguments: argparse.Namespace) -> list[Specimen]:
    specimens = [each for each in load_all() if ("gpu" in each.needs) == arguments.gpu and diagnosis_workers.can_run(each)]
    if arguments.framework:
        specimens = [specimen for specimen in specimens if specimen.framework in arguments.framework]
    if arguments.names:
        specimens = [specimen for specimen in specimens if specimen.name in arguments.names or specimen.cause in arguments.names]
    if arguments.sick or arguments.attach:
        specimens = [specimen for specimen in specimens if specimen.is_sick]
    if arguments.healthy:
        specimens = [specimen for specimen in specimens if not specimen.is_sick]
    if arguments.attach:
        specimens = [specimen for specimen in specimens if specimen.ends == "hangs" and specimen.shape == "run"]
        specimens = [specimen for specimen in specimens if specimen.workers == 1]
    return specimens


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="specimens or causes; all if none is given")
    parser.add_argument("--sick", action="store_true")
    parser.add_argument("--healthy", action="store_true")
    parser.add_argument("--framework", action="append", help="only those of this framework, such as keras-jax; may be repeated")
    parser.add_argument("--gpu", action="store_true", help="those that need a GPU, which are left out otherwise")
    parser.add_argument("--attach", action="store_true")
    parser.add_argument("--keep", type=Path, help="a folder for the journals of the runs that were told wrongly")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", default="benchmarks/results/diagnosis.json")
    arguments = parser.parse_args()
    specimens = chosen(arguments)
    one = attach_one if arguments.attach else functools.partial(run_one, keep=arguments.keep)
    earlier = written.kept(Path(arguments.out))
    existing = {each.name for each in load_all()}
    kept = {row["specimen"]: row for row in earlier.get("rows", []) if row["specimen"] in existing}
    rows: list[dict[str, Any]] = []
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for number, row in enumerate(pool.map(one, specimens), 1):
            rows.append(row)
            kept[row["specimen"]] = {**row, "date": time.strftime("%Y-%m-%d")}
            verdict = ", ".join(row["named"]) or "nothing"
            mark = "ok   " if row["right"] else "WRONG"
            print(
                f"{number:3}/{len(specimens)} {mark} {row['specimen']}: {verdict} ({row['seconds']} s)",
                file=sys.stderr,
                flush=True,
            )
            every = [kept[name] for name in sorted(kept)]
            written.write(arguments.out, {"summary": summary(every), "rows": every}, earlier)
    show(rows)


if __name__ == "__main__":
    main()
