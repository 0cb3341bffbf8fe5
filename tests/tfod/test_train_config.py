"""Batch, length, optimizer and the course of the rate."""

from __future__ import annotations

import pytest

from tests.tfod.configs import COSINE, SSD, converted, parsed, row_of, written
from unstall.tfod.ledger import Ledger
from unstall.tfod.train_config import approximate_drops, convert_train_config, read_lr_schedule

MANUAL = """
momentum_optimizer { learning_rate { manual_step_learning_rate {
  initial_learning_rate: 0.003
  schedule { step: 600 learning_rate: .0003 }
  schedule { step: 800 learning_rate: .00003 }
  schedule { step: 5000 learning_rate: .000003 }
} } }
use_moving_average: false
"""
RMS_PROP = """
rms_prop_optimizer {
  learning_rate { exponential_decay_learning_rate { initial_learning_rate: 0.004 decay_steps: 100 decay_factor: 0.8 } }
  momentum_optimizer_value: 0.7 decay: 0.9 epsilon: EPSILON
}
"""


def learned(text: str, images: int | None = None) -> Ledger:
    ledger = Ledger()
    convert_train_config(parsed(text), "ssdlite320_mobilenet_v3_large", images, ledger)
    return ledger


def test_a_cosine_with_its_warm_up() -> None:
    found = converted(written(SSD, optimizer=COSINE))
    settings = found.settings
    assert (settings["optimizer"], settings["momentum"], settings["lr_schedule"]) == ("sgd", 0.8, "cosine")
    assert (settings["learning_rate"], settings["warmup_steps"], settings["ema_decay"]) == (0.04, 50, 0.0)
    assert row_of(found, "total_steps").became == "carried over"
    assert "from 0 here, not from 0.01" in row_of(found, "warmup_learning_rate").why


def test_steps_are_epochs_where_the_images_are_counted() -> None:
    assert learned(written(), images=80).values["epochs"] == 100
    assert learned(written(train="batch_size: 8 num_steps: 3"), images=800).values["epochs"] == 1


def test_steps_are_said_where_they_are_not() -> None:
    found = converted(written())
    assert "epochs" not in found.settings
    row = row_of(found, "num_steps")
    assert row.became == "left out" and "epochs = 8,000 / the number of images" in row.why
    assert "epochs" in [each.setting for each in found.to_set]


def test_a_batch_is_no_larger_than_the_data_and_as_many_images_are_seen() -> None:
    values = learned(written(), images=5).values
    assert (values["batch_size"], values["epochs"]) == (5, 1600)


def test_manual_steps_are_drops_to_a_tenth_at_their_share_of_the_training() -> None:
    found = learned(written(optimizer=MANUAL), images=80).values
    assert (found["learning_rate"], found["lr_schedule"], found["warmup_steps"]) == (0.003, "step", 0)
    assert found["lr_milestones"] == [60, 80]
    result = converted(written(optimizer=MANUAL))
    assert "the training ends before step 5,000" in next(row for row in result.rows if row.value == "5000").why
    assert {row.became for row in result.rows if row.value in {"600", "800"}} == {"carried over"}


def test_steps_that_are_no_tenths_come_as_near_as_they_can() -> None:
    assert approximate_drops([(0, 1.0), (10, 0.1), (20, 0.001)], 1.0) == ((10, 20, 20), True)
    assert approximate_drops([(0, 1.0), (10, 0.5), (20, 0.12)], 1.0) == ((20,), False)
    halved = MANUAL.replace(".0003 }", ".0015 }", 1)
    result = converted(written(optimizer=halved))
    assert {row.became for row in result.rows if row.value in {"600", "800"}} == {"changed"}


def test_a_rate_that_rises_first_is_a_warm_up() -> None:
    text = "manual_step_learning_rate { initial_learning_rate: 0.001 schedule { step: 100 learning_rate: 0.1 } schedule { step: 500 learning_rate: 0.01 } }"
    lr_schedule = read_lr_schedule(parsed(text), 1000)
    assert (lr_schedule.rate, lr_schedule.warmup_steps, lr_schedule.drops_at_steps) == (0.1, 100, (500,))


@pytest.mark.parametrize(("epsilon", "optimizer"), [("1.0", "sgd"), ("1e-7", "adamw")])
def test_rms_prop_becomes_the_nearest_that_there_is(epsilon: str, optimizer: str) -> None:
    found = converted(written(optimizer=RMS_PROP.replace("EPSILON", epsilon)))
    assert (found.settings["optimizer"], found.settings["ema_decay"]) == (optimizer, 0.9999), "the API averages by default"
    assert "no RMSProp here" in row_of(found, "epsilon").why
    assert (found.settings.get("momentum") == 0.7) == (optimizer == "sgd")


def test_an_exponential_course_drops_where_it_has_fallen_half_way_to_a_tenth() -> None:
    text = "exponential_decay_learning_rate { initial_learning_rate: 1.0 decay_steps: 100 decay_factor: 0.1 }"
    assert read_lr_schedule(parsed(text), 300).drops_at_steps == (50, 150, 250)
    assert read_lr_schedule(parsed(text.replace("0.1 }", "0.99 }")), 300).schedule == "constant"


def test_a_constant_rate_and_the_usual_of_everything() -> None:
    values = learned("train_config { optimizer { adam_optimizer { learning_rate { constant_learning_rate { } } } } }").values
    assert (values["optimizer"], values["lr_schedule"], values["learning_rate"]) == ("adamw", "constant", 0.002)
    assert (values["batch_size"], values["max_boxes_per_image"], values["ema_decay"]) == (32, 100, 0.9999)


def test_what_else_a_training_has() -> None:
    train = "gradient_clipping_by_norm: 5.0 max_number_of_boxes: 40 use_bfloat16: true sync_replicas: true freeze_variables: 'x'"
    found = converted(written(train=train))
    assert (found.settings["clip_norm"], found.settings["max_boxes_per_image"], found.settings["precision"]) == (
        5.0,
        40,
        "bfloat16",
    )
    assert "every update is of the whole batch" in row_of(found, "sync_replicas").why
    assert "trainable_backbone_layers" in row_of(found, "freeze_variables").why


def test_a_config_without_an_optimizer_is_trained_by_the_recipe() -> None:
    values = learned("train_config { batch_size: 4 }").values
    assert not {"optimizer", "learning_rate", "lr_schedule"} & set(values)
