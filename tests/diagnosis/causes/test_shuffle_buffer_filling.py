"""shuffle_buffer_filling: the buffer grows, no batch comes out, and it will take long."""

from tests.diagnosis.builders import T0, journal, started, steps
from tests.diagnosis.pipeline_events import measured, node, stage
from unstall.diagnosis.causes import shuffle_buffer_filling
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Found, Unknown
from unstall.journal.events import FrameworkLoaded, PipelineMeasured, ProbeFailed

STAGES = [stage("TensorSlice", 10), stage("Map", 11, ("decoding",), function="decode"), stage("Shuffle", 12, buffer_size=20_000)]


def filling(at: float, buffered: int, batches: int = 0) -> PipelineMeasured:
    nodes = [
        node("TensorSlice", buffered),
        node("ParallelMapV2", buffered, seconds=at, at_a_time=2),
        node("Shuffle", batches * 32, buffered=buffered),
        node("BatchV2", batches),
        node("Root", batches),
    ]
    return measured(at, nodes, STAGES if at < 6 else None, since=0.0)


def test_found_while_it_fills_with_what_is_left() -> None:
    verdict = shuffle_buffer_filling.examine(journal(started(), *(filling(at, at * 100) for at in (5, 10, 15, 20)), now=21))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert verdict.effect is Effect.SLOWS
    assert verdict.where == "train.py:12"
    assert "2,000 of 20,000 elements after 20 s" in verdict.summary
    assert "3 min" in verdict.summary
    assert "slow, not stuck" in verdict.summary
    assert any("decoding in decode (train.py:11)" in evidence.claim for evidence in verdict.evidence)


def test_clear_when_the_buffer_will_be_full_soon() -> None:
    assert isinstance(
        shuffle_buffer_filling.examine(journal(started(), *(filling(at, at * 900) for at in (5, 10, 15)), now=16)), Clear
    )


def test_nothing_is_said_before_the_speed_is_known() -> None:
    assert isinstance(shuffle_buffer_filling.examine(journal(started(), filling(5, 10), now=6)), Clear)


def test_a_buffer_larger_than_the_data_fills_with_the_data() -> None:
    small = [stage("TensorSlice", 10), stage("Shuffle", 12, buffer_size=20_000, elements=1_500)]
    events = [
        measured(at, [node("TensorSlice", at * 100), node("Shuffle", 0, buffered=at * 100), node("Root", 0)], small, since=0.0)
        for at in (5, 10, 14)
    ]
    assert isinstance(shuffle_buffer_filling.examine(journal(started(), *events, now=15)), Clear)


def test_found_afterwards_when_it_took_much_of_the_run() -> None:
    events = [*(filling(at, at * 200) for at in range(5, 66, 10)), steps(0, 50, at=110, each_s=0.2), filling(110, 0, batches=50)]
    verdict = shuffle_buffer_filling.examine(journal(started(), *events, now=115))
    assert isinstance(verdict, Found)
    assert "was filling its buffer for 65 s or longer: 13,000 of 20,000" in verdict.summary


def test_clear_when_the_run_has_made_up_for_it() -> None:
    events = [
        *(filling(at, at * 200) for at in range(5, 66, 10)),
        steps(0, 9000, at=2000, each_s=0.2),
        filling(2000, 0, batches=9000),
    ]
    assert isinstance(shuffle_buffer_filling.examine(journal(started(), *events, now=2001)), Clear)


def test_clear_when_batches_come_out() -> None:
    events = [filling(5, 20_000, batches=3), filling(20, 20_000, batches=60)]
    assert isinstance(shuffle_buffer_filling.examine(journal(started(), *events, now=21)), Clear)


def test_unknown_where_tensorflow_does_not_measure() -> None:
    loaded = FrameworkLoaded(at=T0 + 1, name="tensorflow", version="2.12")
    failed = ProbeFailed(at=T0 + 5, probe="pipeline measure", error="NotFoundError: autotune is off", disabled=True)
    verdict = shuffle_buffer_filling.examine(journal(started(), loaded, failed))
    assert isinstance(verdict, Unknown)
    assert "autotune is off" in verdict.missing


def test_clear_for_a_program_without_tensorflow() -> None:
    assert isinstance(shuffle_buffer_filling.examine(journal(started())), Clear)
