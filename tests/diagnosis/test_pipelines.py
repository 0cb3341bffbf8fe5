"""What runs is told by what was written, through TensorFlow's rewriting."""

from tests.diagnosis.builders import journal, started
from tests.diagnosis.pipeline_events import measured, node, stage
from unstall.diagnosis.pipelines import read_pipelines

WRITTEN = [
    stage("TFRecord", 10),
    stage("ParallelMap", 11, ("decoding",), function="parse"),
    stage("Shuffle", 12, buffer_size=100),
    stage("Map", 13, ("augmenting",), function="augment"),
    stage("Batch", 14),
]
RUN = [
    node("TFRecord", 500, 0.5),
    node("ParallelMapV2", 500, 2.0, at_a_time=2),
    node("ShuffleAndRepeat", 400, 0.1, buffered=100),
    node("MapAndBatch", 25, 7.0),
    node("Prefetch", 25, 0.1),
    node("Root", 25),
]


def test_the_second_map_that_runs_is_the_second_that_was_written() -> None:
    (pipeline,) = read_pipelines(journal(started(), measured(10, RUN, WRITTEN)))
    hardest, share = pipeline.hardest() or (None, 0.0)
    assert hardest is not None
    assert hardest.where == "train.py:13"
    assert hardest.words == "augmenting in augment"
    assert 0.7 < share < 0.75


def test_stages_are_told_once_and_kept_for_later_measurements() -> None:
    (pipeline,) = read_pipelines(journal(started(), measured(10, RUN, WRITTEN), measured(20, RUN)))
    assert len(pipeline.events) == 2
    assert [stage.where for stage in pipeline.worked()][:2] == ["train.py:10", "train.py:11"]


def test_work_since_an_earlier_measurement() -> None:
    later = [{**each, "seconds": each["seconds"] + 1.0} for each in RUN]
    events = (measured(10, RUN, WRITTEN), measured(20, later))
    (pipeline,) = read_pipelines(journal(started(), *events))
    assert all(abs(stage.seconds - 1.0) < 1e-9 for stage in pipeline.worked(since=events[0]))


def test_a_stage_that_a_library_added_has_no_line() -> None:
    (pipeline,) = read_pipelines(journal(started(), measured(10, RUN, [{"name": "TFRecord", "does": []}])))
    assert all(stage.where is None for stage in pipeline.worked())


def test_validation_is_a_pipeline_of_its_own() -> None:
    both = journal(started(), measured(10, RUN, WRITTEN, role="validate"))
    assert read_pipelines(both) == []
    assert len(read_pipelines(both, "validate")) == 1
