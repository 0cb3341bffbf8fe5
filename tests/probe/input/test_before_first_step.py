"""What the probe sees where nothing is trained yet, in a real program: batches, the stages of a pipeline and their cost, traces."""

import pytest

from tests.probe.watched_programs import Parts, WatchedProgram, facts
from unstall.journal.events import FunctionTraced, PipelineMeasured

pytestmark = pytest.mark.tensorflow
PARTS = Parts()


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> WatchedProgram:
    return PARTS.watched(tmp_path_factory.mktemp("before"))


BATCHES = PARTS.add("""
    plain = tf.data.Dataset.from_tensor_slices(data()).batch(32)
    shuffled = plain.unbatch().shuffle(640).batch(32)
    for _ in range(30):
        next(iter(plain))  # AGAIN
        next(iter(shuffled))
        time.sleep(0.1)
""")


def test_batches_that_are_always_the_first_and_batches_that_differ(watched: WatchedProgram) -> None:
    last = facts(watched.during(BATCHES), "batches")
    same = [seen for seen in last if seen["same"]][-1]
    assert same["where"] == watched.line("AGAIN")
    assert same["starts"] == same["batches"]
    assert same["cardinality"] == 20
    assert [seen["looks"] for seen in last if not seen["same"]] == [2]


STAGES = PARTS.add("""
    def slow(x):
        return tf.reduce_sum(tf.sort(tf.random.stateless_normal([300_000], seed=[1, x])))

    numbers = tf.data.Dataset.range(100_000)
    features = numbers.map(slow)  # SLOW
    mixed = features.shuffle(buffer_size=16).batch(4)  # MIXED
    until = time.monotonic() + 5  # the first measurement comes after three
    for batch in mixed:
        if time.monotonic() > until:
            break
""")


def test_the_stages_of_a_pipeline_and_what_they_cost(watched: WatchedProgram) -> None:
    measured = watched.during(STAGES).of(PipelineMeasured)
    assert measured, "the loop runs for longer than the first measurement takes to come"
    stages = {stage["stage"]: stage for stage in measured[0].stages if "stage" in stage}
    assert stages["map"]["where"] == watched.line("SLOW")
    assert stages["map"]["arguments"]["function"] == "slow"
    assert "augmenting" in stages["map"]["does"]
    assert stages["shuffle"]["where"] == watched.line("MIXED")
    assert stages["shuffle"]["arguments"]["buffer_size"] == 16
    assert all(not event.stages for event in measured[1:]), "stages are told once"
    hardest = max(measured[-1].nodes, key=lambda node: node["seconds"])
    assert "Map" in hardest["name"]
    assert hardest["elements"] > 0


TRACES = PARTS.add("""
    @tf.function
    def by_value(x, number):  # BY VALUE
        return x * number

    @tf.function
    def by_shape(x):
        return x + 1

    def made_anew(x):
        return tf.function(lambda a: a * 2)(x)

    for number in range(6):
        by_value(tf.ones(2), number)
        by_shape(tf.ones(1 + number))
        made_anew(tf.ones(2))
        by_value(tf.ones(2), number)
""")


def test_traces_are_counted_with_their_reason(watched: WatchedProgram) -> None:
    last = {event.function: event for event in watched.during(TRACES).of(FunctionTraced)}
    # The first three traces are told one by one, later ones once a second.
    assert last["by_value"].count == 3
    assert last["by_value"].calls == 5
    assert last["by_value"].why == "value of number"
    assert last["by_value"].where == watched.line("BY VALUE")
    assert last["by_shape"].why == "shape of x"
    assert last["made_anew.<lambda>"].why == "made anew"
