"""Find objects in images: unstall predict IMAGE… --weights FILE

Images, or folders of them. Each is drawn with its boxes into the folder --out; boxes are in pixels of the image as it is stored.
Ends with 1 where some of them could not be read.
"""

from __future__ import annotations

import sys

import click

from unstall.cli import TrainingCommand, backend_option, batch_size_option, json_option, weights_option, write_answer


@click.command("predict", cls=TrainingCommand, help=__doc__)
@click.argument("images", nargs=-1, required=True, metavar="IMAGE...")
@weights_option
@click.option("--out", default="detections", show_default=True, metavar="FOLDER", help="Where the pictures are written.")
@click.option("--no-pictures", is_flag=True, help="Draw none.")
@click.option(
    "--score-threshold", default=0.3, show_default=True, type=click.FloatRange(0, 1), help="Minimum score of a detection."
)
@batch_size_option(8)
@backend_option
@json_option("the boxes")
def command(
    images: tuple[str, ...],
    weights: str,
    out: str,
    no_pictures: bool,
    score_threshold: float,
    batch_size: int,
    backend: str | None,
    json_target: str | None,
) -> None:
    from unstall import backends
    from unstall.backends.startup import start
    from unstall.base.console import show_progress
    from unstall.data.io.reader import create_data_set
    from unstall.detectors.weights.description import read_description
    from unstall.report import json
    from unstall.report.terminal.detections import draw, show
    from unstall.storage import resolve_path

    json.refuse_unwritable(json_target)
    data = create_data_set(images)
    _, description = read_description(weights)
    start(backend)
    with show_progress() as progress:
        from unstall.detectors.detector import InferenceModel
        from unstall.detectors.weights.store import build_from
        from unstall.training.evaluate.inference import predict

        result = predict(
            InferenceModel(build_from(weights)), data, description.class_names, batch_size, score_threshold, progress
        )
        if not no_pictures:
            draw(data, result, resolve_path(out), progress)
    plain = {"weights": weights, "backend": backends.find_running_backend(), "score_threshold": score_threshold, **result}
    write_answer(plain, json_target, show)
    if result["skipped"]:
        sys.exit(1)
