"""A program for the tests: a few steps of a tiny detector, by one worker or by several, and what became of it.

python steps_together.py OUT CASE…, with the variables of unstall.training.distributed.engines. A case is 'ssd_tiny', or 'ssd_tiny:1' with so
many images at once.
"""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from unstall.backends.startup import start
from unstall.config.settings import Settings
from unstall.training.distributed import engines, rendezvous
from unstall.training.distributed.engines import ProcessEnv

PX, TOTAL = (64, 64), 40
SMALL: dict[str, dict[str, Any]] = {  # compiled in seconds
    "ssd_tiny": {
        "stage_convs": (1, 1, 1, 1, 1),
        "aspect_ratios": ((2.0,), (2.0,)),
        "scales": (0.1, 0.3, 0.6),
        "trainable_backbone_layers": 4,
    },
    "retinanet_tiny": {"num_head_convs": 1, "fpn_channels": 16, "num_groups": 2},
    "faster_rcnn_tiny": {
        "rpn_batch_size_per_image": 16,
        "box_batch_size_per_image": 12,
        "rpn_pre_nms_top_n": (40, 40),
        "rpn_post_nms_top_n": (40, 40),
    },
}
SETTINGS = Settings(batch_size=4, learning_rate=0.02, warmup_steps=2, ema_decay=0.9, clip_norm=5.0, seed=7)
STEPS = 2


def main(out: Path, cases: list[str]) -> None:
    who = engines.read_own_process_env(os.environ)
    if not who.is_alone:
        met = rendezvous.meet(who, {"same": {}}, lambda cards: {}, lambda awaited: None)
        from unstall.training.distributed.startup import join_backend

        join_backend(who, met)
    start("jax")
    for case in cases:
        variant, _, at_once = case.partition(":")
        settings = replace(SETTINGS, num_workers=who.world_size, micro_batch_size=int(at_once) if at_once else None)
        arrays = taken(variant, settings, who)
        np.savez(out.with_name(f"{out.name}-{case.replace(':', '-')}.{who.rank}.npz"), **arrays)


def taken(variant: str, settings: Settings, who: ProcessEnv) -> dict[str, Any]:
    from tests.detectors.seeded import batch, set_weights
    from unstall.detectors import create_model
    from unstall.training.step.step import Step

    detector = create_model(variant, image_size=PX, num_classes=3, freeze_batch_norm=True, **SMALL[variant])
    set_weights(detector)
    if not who.is_first:  # whatever it begins with: the state is that of the first
        for variable in detector.trainable_variables:
            variable.assign(variable + 1)
    step = Step(detector, settings, TOTAL)
    step.take_over(step.iteration)
    before = {f"before/{name}": array for name, array in step.arrays().items()}
    mine = slice(who.rank * settings.batch_share, (who.rank + 1) * settings.batch_share)
    rows = []
    for number in range(STEPS):
        whole = batch(PX, 3, counts=(5, 1, 0, 3), seed=number)
        rows.append(step({name: each[mine] for name, each in whole.items()}).read())
    numbers = np.array([[*each.losses.values(), each.gradient_norm] for each in rows])
    return {**before, **step.arrays(), "told": numbers}


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
