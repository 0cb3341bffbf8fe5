"""function_retracing: a function that is compiled at nearly every call, and one that has a few rightful traces."""

from tests.diagnosis.builders import T0, journal, started
from tests.diagnosis.probe_fact_builders import inside, traced
from unstall.diagnosis.causes import function_retracing
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import FitBegan, FunctionTraced


def retraced(why: str = "value of step", share: float = 0.7) -> list[FunctionTraced]:
    return [traced(2 + second, 1 + 5 * second, 1 + 5 * second, 0.5 + share * second, why) for second in range(20)]


def test_found_with_the_function_and_the_argument_that_differs() -> None:
    verdict = function_retracing.examine(journal(started(), inside(), *retraced()))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert verdict.where == "train.py:30"
    assert "`step`" in verdict.summary
    assert "96 times in 96 calls" in verdict.summary
    assert "tf.constant(step)" in verdict.actions[0]


def test_found_says_that_it_is_made_anew_or_that_shapes_differ() -> None:
    recreated = function_retracing.examine(journal(started(), inside(), *retraced("made anew")))
    shapes = function_retracing.examine(journal(started(), inside(), *retraced("shape of words")))
    assert isinstance(recreated, Found) and isinstance(shapes, Found)
    assert "made anew before it was called at train.py:55" in recreated.summary
    assert "outside the loop" in recreated.actions[0]
    assert "shape of `words`" in shapes.summary


def test_what_to_do_on_jax_is_said_in_its_words() -> None:
    fit = FitBegan(at=T0 + 1, api="own_loop", backend="jax")
    for why, words in (("value of step", "static argument of jax.jit"), ("shape of words", "pad `words`")):
        verdict = function_retracing.examine(journal(started(), inside(), fit, *retraced(why)))
        assert isinstance(verdict, Found)
        assert words in verdict.actions[0] and not any("tf." in action for action in verdict.actions)


def test_found_sooner_where_each_trace_takes_long() -> None:
    slow = [traced(2 + 2 * number, number, number, 1.8 * number) for number in range(1, 25)]
    assert isinstance(function_retracing.examine(journal(started(), inside(), *slow)), Found)
    assert isinstance(function_retracing.examine(journal(started(), inside(), *slow[:15])), Clear)


def test_clear_for_a_few_traces_at_the_beginning() -> None:
    traces = [traced(2 + number, 1 + number, 1 + 40 * number, 0.6 * number) for number in range(8)]
    assert isinstance(function_retracing.examine(journal(started(), inside(), *traces, now=40)), Clear)


def test_clear_when_each_trace_serves_many_calls() -> None:
    """Ten models one after the other: traces grow with the models."""
    traces = [traced(2 + second, 3 * second, 400 * second, 0.5 * second) for second in range(1, 30)]
    assert isinstance(function_retracing.examine(journal(started(), inside(), *traces)), Clear)


def test_clear_when_the_framework_makes_a_function_for_each_of_many_models() -> None:
    own = [FunctionTraced(**{**event.__dict__, "where": None, "objects": event.count}) for event in retraced("made anew")]
    assert isinstance(function_retracing.examine(journal(started(), inside(), *own)), Clear)


def test_clear_when_all_shapes_have_been_seen_by_now() -> None:
    assert isinstance(function_retracing.examine(journal(started(), inside(), *retraced(), now=120)), Clear)


def test_clear_when_tracing_takes_little_time() -> None:
    assert isinstance(function_retracing.examine(journal(started(), inside(), *retraced(share=0.1))), Clear)


def test_unknown_from_outside() -> None:
    assert isinstance(function_retracing.examine(journal(started())), Unknown)
