"""The whole story of a run: what the terminal says, and beside it the run over time, where it stood, and what it was.

It is the JSON of `unstall report`, and all that its page shows.
"""

from __future__ import annotations

from typing import Any

from unstall.diagnosis.diagnose import Diagnosis
from unstall.journal.reader import Journal
from unstall.report import defects, learned, standing, surroundings
from unstall.report.story import tell
from unstall.report.timeline import Timeline
from unstall.runs import RunFolder


def tell_whole(run: RunFolder, journal: Journal, diagnosis: Diagnosis, timeline: Timeline) -> dict[str, Any]:
    story = timeline.exact(tell(journal, diagnosis, run.name), journal.now)
    return {
        **story,
        "since_last_good": (run.read_story() or {}).get("since_last_good"),  # found out when it ended
        "timeline": timeline.plain(journal.now),
        "stalls": standing.stalls(journal, [verdict["where"] for verdict in story["verdicts"]]),
        "error": standing.error(journal),
        "environment": surroundings.environment(journal),
        "model": surroundings.model(journal),
        "input": surroundings.inputs(journal),
        "settings": learned.settings(run),
        "data_defects": defects.of_run(run),
        "score": learned.score(run),
        "pictures": learned.pictures(run),
    }
