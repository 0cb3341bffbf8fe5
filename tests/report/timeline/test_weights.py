"""What the project's own trainer tells of its updates, over the run."""

from tests.diagnosis.builders import T0, started
from tests.report.timeline.test_timeline import lines, timeline_of
from unstall.journal.events import EpochEnded, UpdatesMeasured


def test_what_it_tells_of_updates_is_shown_instead_of_the_epochs_means_and_is_no_moment_of_the_run() -> None:
    updates = [
        UpdatesMeasured(
            at=T0 + at, step=at, updates=1, rate=0.1 * at, norm=5.0 * at, norms={"backbone": 3.0 * at, "head": 4.0 * at}
        )
        for at in (1, 2)
    ]
    events = [started(), *updates, EpochEnded(at=T0 + 9, logs={"rate": 0.2, "gradient_norm": 7.5})]
    assert lines("gradient_norm", *events) == {"of all weights": [5.0, 10.0]}
    assert lines("gradients", *events) == {"backbone": [3.0, 6.0], "head": [4.0, 8.0]}
    assert lines("learning_rate", *events) == {"learning rate": [0.1, 0.2]}
    assert timeline_of(*events)["marks"]["shown"] == []
