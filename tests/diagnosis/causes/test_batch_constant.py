"""batch_constant: the same batch at every step by mistake, and on purpose."""

from typing import Any

from tests.diagnosis.builders import FOLDER, journal, started, steps
from tests.diagnosis.probe_fact_builders import fit, inside, seen
from unstall.diagnosis.causes import batch_constant
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown, Verdict


def examined(**facts: Any) -> Verdict:
    usual: dict[str, Any] = {
        "source": "tf.data", "where": f"{FOLDER}/train.py:55", "same": True, "looks": 30, "batches": 400, "starts": 400,
        "ended": 0, "cardinality": 125, "seconds": 9.0,
    }  # fmt: skip
    return batch_constant.examine(
        journal(started(), inside(), fit(), steps(0, 399, at=10), seen("batches", 10, **{**usual, **facts}))
    )


def test_found_when_the_data_set_is_started_again_for_each_batch() -> None:
    verdict = examined()
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert verdict.where == "train.py:55"
    assert "started again at train.py:55" in verdict.summary


def test_found_when_a_generator_gives_equal_arrays() -> None:
    verdict = examined(source="generator", starts=0, cardinality=None, holds="readings (6,400)")
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY
    assert "All 30 batches that were compared are equal: your generator gives the same arrays again" in verdict.summary


def test_clear_when_batches_differ() -> None:
    assert isinstance(examined(same=False, looks=2), Clear)


def test_clear_when_one_batch_is_repeated_on_purpose() -> None:
    assert isinstance(examined(starts=1), Clear)  # take(1).repeat()
    assert isinstance(examined(cardinality=1), Clear)  # next(iter(dataset.take(1)))
    assert isinstance(examined(ended=400), Clear)  # for batch in dataset.take(1), in each epoch


def test_clear_when_a_generator_has_nothing_else_to_give() -> None:
    assert isinstance(examined(source="generator", starts=0, cardinality=None, holds=None), Clear)


def test_clear_while_too_few_were_compared() -> None:
    assert isinstance(examined(looks=6, batches=8, starts=8, seconds=1.0), Clear)


def test_unknown_where_no_batch_passes_through_python() -> None:
    assert isinstance(batch_constant.examine(journal(started(), inside(), fit(), steps(0, 399, at=10))), Unknown)
    assert isinstance(batch_constant.examine(journal(started())), Unknown)
