"""What a run was, as plain data: all that can make the next one differ, and how it went. Read from its journals and its folder.

Every section is optional. A journal of an older version, a half one or none gives empty sections, never an error. Sections:

run            name, script, command, began_at, ended_at, seconds, cause,
               outcome (done, failed, stuck, interrupted, running, unknown)
settings       of `unstall train`, by their names
sources        files of the program by name, and small texts that its command line names: sha256, lines, text
named_files    other files that its command line names: sha256, size_bytes
environment    variables that can change a training
versions       of Python, packages and drivers
machine        cores, memory_bytes, cgroup_limit_bytes, hostname, kernel, limits, storage
devices        cards before the start: name, total_bytes, free_bytes_before, foreign (pid, name, bytes)
data           files, bytes, examples, image_px, boxes_per_image, largest, digest
batch          size, shapes, dtypes, bytes, different_shapes
model          name, class, parameters, layers (name, class, output_shape, parameters, activation_bytes), outputs, precision
optimizer      class, learning_rate and other numbers; loss; jit_compile, run_eagerly, steps_per_execution
loss           names, and the place of one's own
input          kind, arguments (workers, threads that were asked for), stages
figures        steps, step_s, parts, peaks, images_per_s, losses, curve, score, memory curve
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from unstall.base.files import write_private
from unstall.base.redact.environment import redact_command
from unstall.base.redact.text import redact_json
from unstall.compare.record import environment, model, outcome
from unstall.compare.record.journal_summary import JournalSummary
from unstall.config.aliases import update_names
from unstall.journal.provenance import read_sources, read_versions
from unstall.journal.reader import JOURNAL_FILES, read_stream
from unstall.journal.run_folder import RunFolder

VERSION = 3  # of the form; a kept record of another one is made anew
# A journal may be damaged, or of another version: one event of an odd form costs its section, not the record.
ODD = (TypeError, ValueError, KeyError, AttributeError, IndexError, ArithmeticError)


def load_record(folder: RunFolder) -> dict[str, Any]:
    """The whole record. That of a run that has ended is kept in its folder, and only read the next time."""
    kept = _kept(folder)
    record = kept if kept is not None else _made(folder)
    here = {**record["run"], "name": folder.name, "path": str(folder.path)}  # it may have been moved since
    return {**record, "run": here, **_copied(folder)}


def save_record(folder: RunFolder) -> None:
    """Writes the record into the folder of a run that has ended. A full disk loses it, and it is made anew when asked for."""
    plain = {"version": VERSION, "journal_bytes": _journal_bytes(folder), "record": _made(folder)}
    aside = folder.record_path.with_name(f".{folder.record_path.name}.new")
    try:
        write_private(aside, redact_json(json.dumps(plain)))
        aside.replace(folder.record_path)
    except OSError:
        return


def _kept(folder: RunFolder) -> dict[str, Any] | None:
    try:
        plain = json.loads(redact_json(folder.record_path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None
    if not isinstance(plain, dict) or plain.get("version") != VERSION or plain.get("journal_bytes") != _journal_bytes(folder):
        return None
    record = plain.get("record")
    return _by_current_names(record) if isinstance(record, dict) and isinstance(record.get("run"), dict) else None


def _by_current_names(record: dict[str, Any]) -> dict[str, Any]:
    """Of `unstall train`, whose settings had other names when it was written; some stand among the optimizer's numbers, too."""
    names = [name for name in ("settings", "optimizer") if isinstance(record.get(name), dict)]
    return {**record, **{name: update_names(record[name]) for name in names}} if record.get("settings") else record


def _journal_bytes(folder: RunFolder) -> int:
    """By which a journal that has grown since is known."""
    try:
        return sum(path.stat().st_size for path in folder.path.glob(JOURNAL_FILES))
    except OSError:
        return -1


def _made(folder: RunFolder) -> dict[str, Any]:
    taken = _taken(folder)
    batch = _or_empty(lambda: model.record_batch(taken), {})
    sections: dict[str, Callable[[], Any]] = {
        "run": lambda: outcome.record_run(folder, taken),
        "settings": lambda: environment.record_settings(folder, taken),
        "environment": lambda: environment.record_environment(taken),
        "versions": lambda: read_versions(taken),
        "machine": lambda: environment.record_machine(taken),
        "devices": lambda: environment.record_devices(taken),
        "data": lambda: environment.record_data(taken),
        "batch": lambda: batch,
        "model": lambda: model.record_model(taken, batch),
        "optimizer": lambda: model.record_optimizer(taken, environment.record_settings(folder, taken)),
        "loss": lambda: model.record_losses(taken),
        "input": lambda: environment.record_inputs(taken),
        "figures": lambda: outcome.record_figures(taken, batch, load_score(folder)),
    }
    record = {name: _or_empty(make, [] if name == "devices" else {}) for name, make in sections.items()}
    record["run"]["command"] = redact_command(record["run"].get("command") or [])
    return record


def _taken(folder: RunFolder) -> JournalSummary:
    taken = JournalSummary()
    try:
        for event in read_stream(folder.path):
            try:
                taken.take(event)
            except ODD:
                continue
    except ODD:  # its time is none: events after it cannot be put in order
        pass
    return taken


def _or_empty(make: Callable[[], Any], empty: Any) -> Any:
    try:
        return make()
    except ODD:
        return empty


def load_score(folder: RunFolder) -> dict[str, Any]:
    """COCO's figures of the best weights, as a training of Unstall's own leaves them."""
    try:
        plain = json.loads(folder.score_path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    found = plain.get("figures") if isinstance(plain, dict) else None
    return found if isinstance(found, dict) else {}


def _copied(folder: RunFolder) -> dict[str, Any]:
    """The sections `sources` and `named_files`."""
    plain = read_sources(folder)
    files, named = plain.get("files"), plain.get("named_files")
    return {"sources": files if isinstance(files, dict) else {}, "named_files": named if isinstance(named, dict) else {}}


def list_sources(folder: RunFolder) -> dict[str, Any]:
    sources: dict[str, Any] = _copied(folder)["sources"]
    return sources
