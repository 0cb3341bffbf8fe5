"""A whole config: every field has its fate, and the settings can be trained by."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.tfod.configs import FASTER_RCNN, RETINANET, SSD, converted, row_of, written
from unstall.config.detectors import list_variants
from unstall.config.settings import as_plain, from_plain
from unstall.config.sources import resolve
from unstall.data.augment.names import NAMED
from unstall.tfod import augmentations, ledger
from unstall.tfod.config import list_leaves, parse_text
from unstall.tfod.conversion import format_report, format_settings, write
from unstall.tfod.models import PUBLISHED

STEPS = "\n".join(f"data_augmentation_options {{ {name} {{ }} }}" for name in augmentations.STEPS)


@pytest.mark.parametrize("model", [SSD, RETINANET, FASTER_RCNN])
def test_every_field_is_told_of_once_with_its_line(model: str) -> None:
    text = written(model, more="graph_rewriter { quantization { delay: 5 } }\nunheard_of { of: 1 }")
    found = converted(text)
    expected = sorted((field.line, place) for place, field in list_leaves(parse_text(text, "x")))
    assert sorted((row.line, row.field) for row in found.rows) == expected
    assert all(row.why or row.to for row in found.rows)
    assert [row.field for row in found.rows if row.became == "unknown"] == ["unheard_of.of"]
    assert sum(found.count().values()) == len(found.rows)


@pytest.mark.parametrize("model", [SSD, RETINANET, FASTER_RCNN])
def test_the_settings_are_those_that_a_training_reads(model: str, tmp_path: Path) -> None:
    found = converted(written(model))
    write(found, str(tmp_path))
    read = as_plain(resolve({}, str(tmp_path / "unstall.toml")).settings)
    wanted = as_plain(from_plain(found.settings))
    assert {name: read[name] for name in found.settings if name not in {"data", "label_map", "val_data"}} == {
        name: wanted[name] for name in found.settings if name not in {"data", "label_map", "val_data"}
    }


def test_a_mistyped_field_is_unknown_and_the_nearest_is_named() -> None:
    found = converted(written(train="fine_tune_checkpont: 'x'"))
    assert "Did you mean train_config.fine_tune_checkpoint?" in row_of(found, "fine_tune_checkpont").why


def test_augmentations_become_ours_once_and_in_our_order() -> None:
    found = converted(written(train=STEPS))
    assert found.settings["augmentations"] == list(NAMED)
    assert row_of(found, "random_horizontal_flip").became == "carried over"
    assert row_of(found, "random_adjust_hue").became == row_of(found, "ssd_random_crop").became == "changed"
    assert row_of(found, "random_rotation90").became == "left out"
    assert converted(written()).settings["augmentations"] == [], "none where none are asked for"


def test_an_augmentation_with_numbers_of_its_own_is_said_to_be_changed() -> None:
    train = "data_augmentation_options { random_horizontal_flip { probability: 0.3 } } data_augmentation_options { ssd_random_crop { operations { min_area: 0.5 } } }"
    found = converted(written(train=train))
    assert row_of(found, "probability").became == row_of(found, "operations.min_area").became == "changed"


@pytest.mark.parametrize(
    ("train", "said"),
    [
        ("fine_tune_checkpoint: 'x' fine_tune_checkpoint_type: 'detection'", "ssdlite320_mobilenet_v3_large_coco-a79551df.pth"),
        ("fine_tune_checkpoint: 'x' from_detection_checkpoint: true", "ssdlite320_mobilenet_v3_large_coco-a79551df.pth"),
        ("fine_tune_checkpoint: 'x' fine_tune_checkpoint_type: 'classification'", "mobilenet_v3_large-8738ca79.pth --variant"),
    ],
)
def test_checkpoints_of_tensorflow_are_left_out_and_others_are_named(train: str, said: str) -> None:
    found = converted(written(train=train))
    assert "weights" not in found.settings
    assert said in found.to_set[-1].why and said in row_of(found, "fine_tune_checkpoint").why
    assert "cannot be loaded" in row_of(found, "fine_tune_checkpoint").why
    assert [each.setting for each in converted(written()).to_set if each.setting == "weights"] == []


def test_norms_that_need_weights_are_said_to() -> None:
    found = converted(written(FASTER_RCNN, train="fine_tune_checkpoint: 'x'"))
    assert "without any, set detector.freeze_batch_norm = false" in found.to_set[-1].why


def test_every_detector_that_is_chosen_has_published_weights_and_a_recipe() -> None:
    assert set(PUBLISHED) <= set(list_variants())


def test_texts_of_strangers_break_neither_the_settings_nor_the_report() -> None:
    odd = r"'ssd_x\n[detector]\n# \x7f | `y` <b>\"\\'"
    found = converted(written(SSD.replace("'ssd_mobilenet_v2'", odd), readers=f"train_input_reader {{ label_map_path: {odd} }}"))
    stored = tomllib.loads(format_settings(found, Path("unstall.toml")))
    assert stored["model"] == found.model and stored["label_map"] == found.settings["label_map"]
    rows = [line for line in format_report(found).splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {4, 7}, "each row has the cells of its table"


def test_patterns_are_all_of_paths_that_a_config_can_have() -> None:
    tops = ("model.", "train_config.", "eval_config.", "graph_rewriter.", "train_input_reader.", "eval_input_reader.", "*")
    assert [pattern for pattern, _ in ledger.PATTERNS if not pattern.startswith(tops)] == []
    assert ledger.find_outcome("train_config.sync_replicas", "m").became == "left out"
    assert "of m" in ledger.find_outcome("model.ssd.box_predictor.x.y", "m").why


MORE_TRAINING = "gradient_clipping_by_norm: 5.0 max_number_of_boxes: 9 use_bfloat16: true"
MANUAL = """momentum_optimizer { learning_rate { manual_step_learning_rate {
  initial_learning_rate: 0.003 schedule { step: 600 learning_rate: .0003 } } } }"""
RMS_PROP = "rms_prop_optimizer { epsilon: 1.0 learning_rate { exponential_decay_learning_rate { decay_factor: 0.9 } } }"


def test_the_page_says_where_fields_go_and_is_right() -> None:
    """The tables of docs/from-tfod.md that a person wrote."""
    page = (Path(__file__).parents[2] / "docs" / "from-tfod.md").read_text(encoding="utf-8")
    claimed = re.findall(r"^\| `([\w.]+)` \| `([\w.]+)` \|$", page, re.MULTILINE)
    assert len(claimed) > 30
    stages = FASTER_RCNN.replace("num_classes: 3", "num_classes: 3 second_stage_batch_size: 32")
    texts = [
        written(SSD.replace("height: 300 width: 320", "height: 300 width: 300"), train=MORE_TRAINING),
        written(RETINANET, optimizer=MANUAL),
        written(stages, optimizer=RMS_PROP),
    ]
    rows = [row for text in texts for row in converted(text).rows]
    for field, setting in claimed:
        found = [row for row in rows if f".{row.field}".endswith(f".{field}")]
        assert found, f"{field}: no config of this test has it"
        assert any(setting in f"{row.to} {row.why}" for row in found), (field, setting, found)
