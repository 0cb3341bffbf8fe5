"""What differs between two records: each thing once, the important first, with the line that makes it so; noise is nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.compare.records import SCRIPT, changed, layer, record, source
from unstall.compare.differences.difference import Difference
from unstall.compare.differences.finder import find_differences


def the_only(before: dict[str, object], after: dict[str, object]) -> Difference:
    (found,) = find_differences(before, after)
    return found


def test_identical_runs_differ_in_nothing() -> None:
    assert find_differences(record(), record()) == []


def test_noise_is_no_difference() -> None:
    noisy = record(
        peak_mib=905,
        run={"name": "later", "command": ["python", "train.py"], "began_at": 5.0, "ended_at": 9.0, "pid": 3},
        machine={"available_bytes": 7, "kernel": "6.2"},
        input={"threads": 44},
        environment={"KERAS_BACKEND": "jax", "SLURM_JOB_ID": "77", "XLA_FLAGS": "--xla_dump_to=/tmp/x91"},
    )
    quiet = record(environment={"KERAS_BACKEND": "jax", "SLURM_JOB_ID": "76", "XLA_FLAGS": "--xla_dump_to=/tmp/x13"})
    assert (
        find_differences(changed(quiet, environment={"XLA_FLAGS": "/tmp/a"}), changed(noisy, environment={"XLA_FLAGS": "/tmp/b"}))
        == []
    )


def test_a_record_with_holes_raises_nothing() -> None:
    for name in record():
        find_differences(changed(record(), **{name: None}), record(batch=32))
        find_differences(record(batch=32), changed(record(), **{name: None}))
    assert find_differences({}, {}) == []


def test_a_batch_is_one_difference_with_the_line_that_made_it() -> None:
    found = the_only(record(), record(batch=32, sources=source(SCRIPT.replace("BATCH = 16", "BATCH = 32"))))
    assert (found.name, found.before, found.after, found.where) == ("batch", 16, 32, "train.py:1")
    assert found.description == "batch 16 → 32 (train.py:1)"
    assert found.lines == ("- BATCH = 16", "+ BATCH = 32")


def test_a_batch_of_the_command_line_is_one_difference() -> None:
    before = record(run={"command": ["python", "train.py", "--batch", "16"]})
    after = record(batch=32, run={"command": ["python", "train.py", "--batch", "32"]})
    found = the_only(before, after)
    assert (found.name, found.where) == ("batch", "--batch 32")


def test_an_image_size_is_not_told_again_as_layers() -> None:
    assert the_only(record(), record(size=192)).words == "image size 128×128 → 192×192"


def test_filters_are_told_by_layer() -> None:
    found = the_only(record(), record(filters=48))
    assert found.name == "filters"
    assert "conv2d 32 → 48" in found.words
    assert "parameters" in found.words


def test_new_layers_are_a_deeper_model() -> None:
    found = the_only(record(), record(deeper=2))
    assert found.name == "layers"
    assert "new: 2 × Conv2D" in found.words


def test_a_count_of_blocks_makes_the_layers_that_come_of_it() -> None:
    before = record(sources=source("BLOCKS = 2\nfor _ in range(BLOCKS):\n    x = block(x)\n"))
    after = record(deeper=6, sources=source("BLOCKS = 5\nfor _ in range(BLOCKS):\n    x = block(x)\n"))
    found = find_differences(before, after)
    assert [(each.name, each.where) for each in found] == [("layers", "train.py:1")]


@pytest.mark.parametrize(
    ("sections", "name", "words"),
    [
        ({"optimizer": {"class": "SGD", "learning_rate": 0.001, "jit_compile": True}}, "optimizer", "optimizer Adam → SGD"),
        ({"optimizer": {"learning_rate": 0.1}}, "learning_rate", "learning rate 0.001 → 0.1"),
        ({"optimizer": {"gradient_accumulation_steps": 4}}, "accumulation", "gradients accumulated over 1 → 4 steps"),
        ({"optimizer": {"clipnorm": 1.0}}, "optimizer_setting", "clipnorm none → 1"),
        ({"optimizer": {"jit_compile": False}}, "execution", "jit compile on → off"),
        ({"loss": {"names": ["hinge"]}}, "loss", "loss sparsecategoricalcrossentropy → hinge"),
        ({"versions": {"picturekit": "2.0.0"}}, "version", "picturekit 1.4.0 → 2.0.0"),
        ({"environment": {"OMP_NUM_THREADS": "1"}}, "threads", "OMP_NUM_THREADS none → 1"),
        ({"machine": {"cores": 2}}, "cores", "cores to use 8 → 2"),
        ({"machine": {"storage": {"kind": "nfs4", "is_remote": True}}}, "storage", "the data lies on ext4 → nfs4, over the network"),
        ({"data": {"digest": "e"}}, "data_contents", "the data's contents changed"),
        ({"data": {"examples": 900}}, "data_size", "examples of the data 500 → 900"),
        ({"batch": {"values": [{"role": "y", "min": 0, "max": 9, "distinct": 10}]}}, "labels", "labels from 0 to 3 → 0 to 9"),
    ],
)  # fmt: skip
def test_each_section_is_looked_at(sections: dict[str, object], name: str, words: str) -> None:
    found = the_only(record(), changed(record(), **sections))
    assert found.name == name
    assert words in found.words


def test_large_images_are_counted() -> None:
    after = record(data={"image_px": {"sizes": {"640×480": 500, "5000×4000": 4}}, "files": 500})
    found = the_only(record(), after)
    assert found.name == "large_images"
    assert found.words == "4 images over 640 px since then, up to 5,000 px"


def test_a_prefetch_that_is_gone_is_told_with_its_line() -> None:
    after = record(
        sources=source(SCRIPT.replace("dataset = dataset.prefetch(2)\n", "")),
        input={"stages": [{"stage": "map", "arguments": {"num_parallel_calls": 4}}]},
    )
    found = the_only(record(), after)
    assert (found.name, found.words) == ("prefetch", "prefetch gone")
    assert found.lines == ("- dataset = dataset.prefetch(2)",)


def test_a_line_that_nothing_else_explains_is_a_difference_of_its_own() -> None:
    after = record(sources=source(SCRIPT.replace("model.fit(dataset)", "time.sleep(1); model.fit(dataset)")))
    found = the_only(record(), after)
    assert (found.name, found.where) == ("source", "train.py:7")
    assert "input" in found.touches


def test_settings_of_a_training_are_told_before_what_follows_from_them() -> None:
    settings = {
        "batch_size": 16,
        "learning_rate": 0.001,
        "detector": {"image_size": [128, 128]},
        "model": "ssd_tiny",
        "tensorboard": True,
    }
    before = record(settings=settings)
    after = record(batch=32, settings={**settings, "batch_size": 32, "tensorboard": False})
    found = the_only(before, after)
    assert (found.section, found.name, found.words) == ("settings", "batch", "batch size 16 → 32")


def test_what_matters_most_stands_first() -> None:
    after = record(batch=32, versions={"picturekit": "2.0.0"}, optimizer={"clipnorm": 1.0})
    assert [each.name for each in find_differences(record(), after)] == ["batch", "optimizer_setting", "version"]


def test_others_on_the_card_are_told() -> None:
    card = {"name": "A100", "total_bytes": 40 * 2**30, "free_bytes_before": 39 * 2**30, "foreign": []}
    taken = {**card, "free_bytes_before": 36 * 2**30, "foreign": [{"pid": 7, "name": "jupyter", "bytes": 3 * 2**30}]}
    found = the_only(record(devices=[card]), record(devices=[taken]))
    assert found.name == "foreign"
    assert "jupyter 7: 3 GiB" in found.words


def test_a_line_is_named_by_what_it_speaks_of() -> None:
    after = record(sources=source(SCRIPT.replace("model.fit", "labels = shuffled(labels)\nmodel.fit")))
    assert the_only(record(), after).name == "labels"


def test_a_new_line_is_not_taken_for_a_number_that_it_does_not_write() -> None:
    text = SCRIPT.replace("BATCH = 16", "BATCH = 32").replace("model.fit", "images = np.sqrt(image_batch)\nmodel.fit")
    found = find_differences(record(), record(batch=32, sources=source(text)))
    assert [(each.name, each.where) for each in found] == [("batch", "train.py:1"), ("source", "train.py:7")]


def test_a_stage_that_augments_is_an_augmentation() -> None:
    stages = record()["input"]["stages"]
    text = SCRIPT.replace("dataset = dataset.prefetch", "dataset = dataset.map(random_flip)\ndataset = dataset.prefetch")
    after = record(sources=source(text), input={"stages": [stages[0], {"stage": "map", "arguments": {}}, stages[1]]})
    found = the_only(record(), after)
    assert (found.name, found.where) == ("augmentation", "train.py:6")


def test_a_micro_batch_that_is_the_whole_batch_follows_it() -> None:
    before = record(settings={"batch_size": 16, "micro_batch_size": 16})
    after = record(batch=32, settings={"batch_size": 32, "micro_batch_size": 32})
    assert the_only(before, after).name == "batch"


def test_data_that_was_not_looked_at_in_the_same_way_is_not_called_other_data() -> None:
    half = record(data={"is_whole": False, "files": 90, "examples": 90, "digest": "x"})
    other = record(data={"source": "open", "files": 90, "examples": 90, "digest": "x"})
    assert find_differences(record(), half) == find_differences(record(), other) == []


def test_lines_that_only_print_can_change_nothing() -> None:
    after = record(sources=source(SCRIPT.replace("model.fit", "print('begins')\nmodel.fit")))
    assert the_only(record(), after).touches == frozenset()


def test_a_layer_without_weights_that_is_wider_by_a_larger_image_is_no_filters() -> None:
    flat = [layer("flatten", "Flatten", [None, count], 0) for count in (2048, 4608)]
    before, after = record(), record(size=192)
    before["model"]["layers"].append(flat[0])
    after["model"]["layers"].append(flat[1])
    assert the_only(before, after).name == "image_size"


def test_what_is_told_of_a_stage_by_its_data_or_its_place_is_nothing_that_was_chosen() -> None:
    plain = {"num_parallel_calls": 4, "function_where": "/a/train.py:5", "elements": 144}
    stages = record()["input"]["stages"]
    before = record(input={"stages": [{**stages[0], "arguments": plain}, stages[1]]})
    after = record(
        input={"stages": [{**stages[0], "arguments": {**plain, "function_where": "/b/train.py:5", "elements": 150}}, stages[1]]}
    )
    assert find_differences(before, after) == []


def test_an_argument_without_a_name_is_told_with_the_line_that_reads_it() -> None:
    text = "import sys\nBATCH = int(sys.argv[1])\n"
    before = record(sources=source(text), run={"command": ["python", "train.py", "16"]})
    after = record(sources=source(text), run={"command": ["python", "train.py", "32"]})
    found = the_only(before, after)
    assert (found.where, found.words) == ("train.py:2", "argument 1 16 → 32: BATCH = int(sys.argv[1])")


def test_layers_whose_shapes_are_not_known_are_wider_by_their_weights() -> None:
    before, after = record(), record()
    for plain, weights in ((before, 4096), (after, 16384)):
        plain["model"]["layers"] = [{"name": "conv1", "class": "Conv", "output_shape": None, "parameters": weights}]
    assert the_only(before, after).words.startswith("filters: conv1 4096 → 16384")


def test_a_constant_is_what_the_lines_say_that_use_it() -> None:
    text = SCRIPT.replace("num_parallel_calls=4", "num_parallel_calls=READERS")
    stages = record()["input"]["stages"]
    before = record(
        sources=source(f"READERS = 2\n{text}"),
        input={"stages": [{**stages[0], "arguments": {"num_parallel_calls": 2}}, stages[1]]},
    )
    after = record(
        sources=source(f"READERS = 1\n{text}"),
        input={"stages": [{**stages[0], "arguments": {"num_parallel_calls": 1}}, stages[1]]},
    )
    found = the_only(before, after)
    assert (found.name, found.where) == ("parallelism", "train.py:1")


def test_stages_that_nobody_chose_or_that_were_not_seen_alike_are_not_compared() -> None:
    generator = {"kind": "PyDataset", "stages": [{"stage": "from_generator", "arguments": {}}]}
    assert find_differences(record(input={"kind": "PyDataset", "stages": []}), record(input=generator)) == []
    built = record(input={"stages_are": "built", "stages": [*record()["input"]["stages"], {"stage": "repeat", "arguments": {}}]})
    assert find_differences(record(input={"stages_are": "measured"}), built) == []


def test_a_short_run_and_a_long_one_are_compared_by_what_both_have_built() -> None:
    stages = record()["input"]["stages"]
    seen = record(input={"stages_are": "measured", "stages_built": stages})
    short = record(input={"stages_are": "built", "stages": stages[:1], "stages_built": stages[:1]})
    assert the_only(seen, short).words == "prefetch gone"


def test_a_package_that_only_another_one_needs_can_change_nothing() -> None:
    versions = {**record()["versions"], "python-dateutil": "2.9.0"}
    found = the_only(record(versions=versions), record(versions={**versions, "python-dateutil": "4.0.0"}))
    assert (found.words, found.touches) == ("python-dateutil 2.9.0 → 4.0.0", frozenset())


def test_a_setting_of_the_run_that_is_one_of_its_optimizer_is_told_once() -> None:
    before, after = (
        record(settings={"model": "ssd_tiny", "warmup_steps": steps}, optimizer={"warmup_steps": steps}) for steps in (100, 4)
    )
    assert (the_only(before, after).name, the_only(before, after).detail) == ("learning_rate", "warmup_steps")


def test_places_that_are_the_channels_of_a_wider_layer_are_no_difference_of_their_own() -> None:
    def mixer(units: int) -> list[dict[str, Any]]:
        return [
            layer("dense", "Dense", [None, 256, units], 13 * units), layer("permute", "Permute", [None, units, 256], 0),
            layer("dense_1", "Dense", [None, units, 256], 65_792),
        ]  # fmt: skip

    found = find_differences(*(changed(record(), model={"layers": mixer(units)}) for units in (96, 224)))
    assert [each.name for each in found] == ["filters"]


def test_new_lines_are_told_by_what_they_do_and_not_by_what_they_import() -> None:
    text = "import time\n" + SCRIPT.replace("model.fit(dataset)", "time.sleep(1)\nmodel.fit(dataset)")
    (found,) = find_differences(record(), record(sources=source(text)))
    assert found.words.startswith("new: time.sleep(1)")


def called(*arguments: str) -> dict[str, Any]:
    return {"command": ["python", "train.py", *arguments]}


@pytest.mark.parametrize(
    ("option", "sections", "name"),
    [
        (("--opt", "sgd"), {"optimizer": {"class": "SGD"}}, "optimizer"),
        (("--objective", "mae"), {"loss": {"names": ["meanabsoluteerror"]}}, "loss"),
        (("--objective", "categorical_hinge"), {"loss": {"names": ["categoricalhinge"]}}, "loss"),
        (("--eta", "1e-2"), {"optimizer": {"learning_rate": 0.01}}, "learning_rate"),
        (("--bs", "32"), {"batch": record(batch=32)["batch"]}, "batch"),
    ],
)
def test_an_option_whose_effect_is_told_is_no_difference_of_its_own(
    option: tuple[str, ...], sections: dict[str, Any], name: str
) -> None:
    plain, optioned = record(run=called()), changed(record(run=called(*option)), **sections)
    given = the_only(plain, optioned)
    assert (given.name, given.where) == (name, " ".join(option))
    taken_back = the_only(optioned, plain)
    assert (taken_back.name, taken_back.where) == (name, f"{option[0]} not given")


def test_an_option_that_was_given_another_word_for_another_optimizer_is_its_origin() -> None:
    before, after = record(run=called("--how", "adam")), record(run=called("--how", "sgd"), optimizer={"class": "SGD"})
    assert the_only(before, after).where == "--how sgd"


@pytest.mark.parametrize("option", [("--mode", "other"), ("--slow", "0.1"), ("--fast",), ("--workers", "32"), ("--part", "2")])
def test_an_option_that_says_nothing_of_what_else_differs_stays_a_difference(option: tuple[str, ...]) -> None:
    found = find_differences(record(run=called()), record(batch=32, filters=2, run=called(*option)))
    assert "command" in [each.name for each in found]


def test_an_option_that_is_absent_is_told_as_not_given() -> None:
    assert the_only(record(run=called()), record(run=called("--mode", "fast"))).words == "--mode not given → fast"
    assert the_only(record(run=called("--die")), record(run=called())).words == "--die given → not given"


def test_a_number_of_the_optimizer_that_was_not_seen_is_no_difference() -> None:
    seen = record(optimizer={"class": "SGD", "learning_rate": 0.01, "momentum": 0.0, "clipnorm": 1.0})
    unseen = record(optimizer={"class": "SGD", "learning_rate": None, "unread": ["learning_rate", "momentum"]})
    assert [each.words for each in find_differences(seen, unseen)] == ["clipnorm 1 → none"]
    assert [each.words for each in find_differences(unseen, seen)] == ["clipnorm none → 1"]
