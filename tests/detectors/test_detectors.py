"""The registry: which detectors there are, known without a framework; wrong names and settings refused with the nearest right one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from unstall import detectors
from unstall.base.errors import InvalidInputError
from unstall.config.detectors import find_family, list_families, list_variants

ROOT = Path(__file__).parents[2]


def test_variants_are_known_without_keras() -> None:
    code = "import sys\nfrom unstall.config.detectors import list_variants\nassert 'retinanet_tiny' in list_variants()\nassert 'keras' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_a_variant_belongs_to_one_family() -> None:
    assert find_family("retinanet_resnet50_fpn_v2") == "retinanet"
    assert len(set(list_variants())) == len(list_variants())
    assert all(name in list_variants() for names in list_families().values() for name in names)


def test_a_wrong_name_is_refused_with_the_nearest_right_one() -> None:
    with pytest.raises(
        InvalidInputError, match=r"no detector 'retinanet_resnet50'.*Did you mean 'retinanet_resnet50_fpn'"
    ) as refused:
        find_family("retinanet_resnet50")
    assert "retinanet_tiny" in str(refused.value)


def test_a_page_has_every_setting_with_its_value_and_its_meaning() -> None:
    page = detectors.build_page("retinanet")
    assert "| `focal_gamma` | `float` | `2.0` |" in page
    assert "| `image_size` | `tuple[int, int]` | `(800, 800)` | height, width |" in page
    assert "* `retinanet_resnet50_fpn`: the settings below." in page
    assert "`box_loss` 'giou'" in page


WRONG = {
    "num_classes": (0, "3", 2.5),
    "image_size": ((16, 640), (640,), 640, (640.0, 640.0)),
    "focal_alpha": (1.5, "a quarter"),
    "focal_gamma": (-1, float("nan")),
    "bg_iou_threshold": (0.6,),  # above the foreground's
    "box_loss": ("l2",),
    "anchor_sizes": (((32,), (64,)), ((32,), (64,), (128,), (256,), (0,)), ((1, 2), (3,), (4,), (5,), (6,))),
    "aspect_ratios": ((), (-1.0,)),
    "trainable_backbone_layers": (6, -1),
    "freeze_batch_norm": ("yes",),
    "precision": ("float64",),
    "prior_probability": (0, 1),
    "fpn_channels": (100,),  # no multiple of the groups
    "max_detections": (0,),
    "stage_blocks": ((3, 4, 6),),
}
PROGRAM = """
import json, sys
from unstall.config.detectors import create_settings
from unstall.base.errors import InvalidInputError

for name, values in {wrong!r}.items():
    for value in values:
        try:
            create_settings("retinanet_resnet50_fpn_v2", **{{name: value}})
        except InvalidInputError as refused:
            assert str(refused).startswith(name + ": expected ") and "Received: " in str(refused), refused
        else:
            raise AssertionError(f"{{name}}={{value!r}} was taken")
try:
    create_settings("retinanet_tiny", focal_gama=1.0)
except InvalidInputError as refused:
    assert "no setting 'focal_gama'. Did you mean 'focal_gamma'?" in str(refused), refused
else:
    raise AssertionError("a wrong setting was taken")
taken = create_settings("retinanet_tiny", image_size=[64, 96], aspect_ratios=[1.0])
assert taken.image_size == (64, 96) and taken.aspect_ratios == (1.0,) and taken.num_classes == 6
taken = create_settings("retinanet_tiny", anchor_sizes=[8, 16, 32, 64, 128])  # one for each level
assert taken.anchor_sizes == ((8,), (16,), (32,), (64,), (128,))
assert create_settings("ssd_tiny", aspect_ratios=[2.0, 3, [1.5, 2.0]]).aspect_ratios == ((2.0,), (3,), (1.5, 2.0))
"""


@pytest.mark.jax
def test_settings_out_of_range_are_refused_by_name_range_and_value() -> None:
    program = "nan = float('nan')\n" + PROGRAM.format(wrong=WRONG)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT, env=_on_jax())
    assert done.returncode == 0, done.stderr[-3000:]


def _on_jax() -> dict[str, str]:
    return {**os.environ, "KERAS_BACKEND": "jax", "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
