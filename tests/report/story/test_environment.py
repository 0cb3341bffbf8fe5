"""What a run was: its command, versions, model and input."""

from tests.diagnosis.builders import FOLDER, T0, host, journal, started
from unstall.journal.events import (
    DeviceSampled,
    DevicesListed,
    FitBegan,
    FrameworkLoaded,
    InputDescribed,
    InputMeasured,
    ModelDescribed,
    PipelineMeasured,
    ProgramStarted,
)
from unstall.journal.events.record import CircumstancesSeen, ModulesLoaded, VersionsRead
from unstall.report.story.environment import describe_environment, describe_inputs, describe_model


def test_the_environment_is_what_was_seen_of_it() -> None:
    result = describe_environment(
        journal(
            started(),
            ProgramStarted(at=T0, pid=1, python="3.11.7"),
            FrameworkLoaded(at=T0 + 1, name="tensorflow", version="2.21"),
            DevicesListed(at=T0 + 2, devices=["cpu"], variables={"CUDA_VISIBLE_DEVICES": ""}),
            DeviceSampled(at=T0 + 3, index=0, name="H200"),
            host(4, cgroup_limit_bytes=4 << 30),
            CircumstancesSeen(
                at=T0, variables={"KERAS_BACKEND": "torch"}, machine={"cores": 2, "kernel": "6.1"}, drivers={"driver": "570.1"}
            ),
            ModulesLoaded(at=T0 + 5, variables={"KERAS_BACKEND": "jax"}),
            VersionsRead(at=T0 + 5, versions={"numpy": "2.4", "keras": "3.15"}),
        )
    )
    assert result["variables"] == {"CUDA_VISIBLE_DEVICES": "", "KERAS_BACKEND": "jax"}, "as the program has set it since"
    assert (result["packages"], result["drivers"]) == ({"keras": "3.15", "numpy": "2.4"}, {"driver": "570.1"})
    assert (result["cores"], result["kernel"]) == (2, "6.1")
    assert (result["command"], result["folder"], result["python"]) == (["python", "train.py"], FOLDER, "3.11.7")
    assert (result["frameworks"], result["cards"], result["computes_on"]) == ({"tensorflow": "2.21"}, ["H200 (0)"], ["cpu"])
    assert (result["host_memory_bytes"], result["memory_limit_bytes"]) == (16 << 30, 4 << 30)


def test_nothing_seen_is_nothing_said() -> None:
    assert describe_model(journal(started())) is None
    assert describe_inputs(journal(started()))["stages"] == []
    assert describe_environment(journal())["command"] == []


def test_a_model_is_its_layers_and_how_it_is_trained() -> None:
    layers = [{"name": f"dense_{number}", "class": "Dense", "activation": "relu"} for number in range(100)]
    facts = {"model": "Sequential", "layers": layers, "losses": [{"name": "mse"}], "optimizer": "Adam"}
    fit = FitBegan(at=T0 + 2, backend="jax", epochs=3, steps_per_epoch=7)
    plain = describe_model(journal(started(), ModelDescribed(at=T0 + 1, facts=facts), fit))
    assert plain is not None
    assert (len(plain["layers"]), plain["layers_left_out"]) == (60, 40)
    assert (plain["optimizer"], plain["losses"], plain["backend"], plain["epochs"]) == ("Adam", ["mse"], "jax", 3)


def test_stages_of_the_input_are_told_with_their_lines() -> None:
    stage = {"name": "Map", "stage": "map", "where": f"{FOLDER}/train.py:12", "arguments": {"function": "load"}, "does": []}
    node = {"name": "Map", "elements": 5, "seconds": 2.5, "at_a_time": 4, "buffered": 1}
    result = describe_inputs(
        journal(
            started(), InputDescribed(at=T0, kind="tf.data"), PipelineMeasured(at=T0 + 3, seconds=3, stages=[stage], nodes=[node])
        )
    )
    assert result["kind"] == "tf.data"
    assert result["stages"] == [
        {"stage": "load in the map", "where": "train.py:12", "seconds": 2.5, "elements": 5, "at_a_time": 4, "waiting": 1}
    ]


def test_the_own_pipeline_has_its_stages() -> None:
    result = describe_inputs(journal(started(), InputMeasured(at=T0 + 3, decode_s=4.5, examples=90, workers=2, ready_batches=6)))
    decode, batch = result["stages"][1], result["stages"][3]
    assert (decode["stage"], decode["seconds"], decode["elements"], decode["at_a_time"]) == ("decode", 4.5, 90, 2)
    assert batch["waiting"] == 6
