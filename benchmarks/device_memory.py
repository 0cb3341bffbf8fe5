"""Runs the specimens that need a GPU, for real, under `unstall run`, and keeps their journals for the tests.

    python -m benchmarks.device_memory FOLDER [NAME...]

Each run's journal lies in FOLDER/<specimen>/ afterwards. The table shows the expected and the named cause.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.specimens_index import Specimen, load_all

from benchmarks import written
from benchmarks.diagnosis import _row, _story, show

LONGEST_S = 100.0


def run_one(specimen: Specimen, folder: Path) -> dict[str, Any]:
    home, story = folder / "home", folder / "story.json"
    env = {**os.environ, "UNSTALL_HOME": str(home), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "unstall", "run", "--quiet", "--on-stall", "stop", "--json", str(story), "--"]
    began = time.time()
    with (folder / f"{specimen.name}.log").open("wb") as log:
        try:
            subprocess.run(
                [*command, sys.executable, str(specimen.path)],
                env=env, cwd=specimen.path.parent, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                timeout=LONGEST_S, check=False,
            )  # fmt: skip
            ended = "by itself"
        except subprocess.TimeoutExpired:
            ended = "stopped"
    plain = _story(story, home)
    row = _row(specimen, plain, None, None, ended, time.time() - began)
    for run in home.glob("*"):
        kept = folder / specimen.name
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir()
        for journal in run.glob("events-*.jsonl"):
            shutil.copy(journal, kept)
    shutil.rmtree(home, ignore_errors=True)
    story.unlink(missing_ok=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    specimens = [one for one in load_all() if "gpu" in one.needs and (not arguments.names or one.name in arguments.names)]
    rows = []
    for specimen in specimens:
        rows.append(run_one(specimen, arguments.folder))
        print(json.dumps(rows[-1]), flush=True)
    written.write(arguments.folder / "rows.json", {"rows": rows})
    show(rows)


if __name__ == "__main__":
    main()
