"""Say how well a detector does on a data set: unstall evaluate --weights FILE --data PATH

COCO's twelve figures, equal to those of pycocotools, and the average precision of each class; with --html or --png also the
precision-recall curves and a table of what is taken for what. Weights of `unstall train` say which images they were trained
on: in a data set that has some of these, the held-out images are scored. --split and --all-images choose others.
"""

from __future__ import annotations

import click

from unstall.cli import (
    TrainingCommand,
    backend_option,
    batch_size_option,
    data_format_options,
    json_option,
    weights_option,
    write_answer,
)


@click.command("evaluate", cls=TrainingCommand, help=__doc__)
@weights_option
@click.option("--data", "data_path", required=True, metavar="PATH", help="A data set of images and boxes.")
@data_format_options
@click.option("--split", metavar="NAME", help="Score this split of the data set, and all of its images.")
@click.option("--all-images", is_flag=True, help="Score also the images that the weights were trained on.")
@batch_size_option(8)
@backend_option
@click.option("--html", "html_target", metavar="PATH", help="Write a page with tables and curves.")
@click.option("--png", "png_target", metavar="PATH", help="Write the curves and the table as a picture.")
@json_option("the figures")
def command(
    weights: str,
    data_path: str,
    format_name: str | None,
    label_map: str | None,
    split: str | None,
    all_images: bool,
    batch_size: int,
    backend: str | None,
    html_target: str | None,
    png_target: str | None,
    json_target: str | None,
) -> None:
    from unstall import backends
    from unstall.backends.startup import start
    from unstall.base.console import show_progress
    from unstall.data.formats import read
    from unstall.data.tools.split import select_split
    from unstall.detectors.weights.description import read_description
    from unstall.report import json
    from unstall.storage import resolve_path
    from unstall.training.evaluate.train_overlap import choose_images
    from unstall.training.summary import show_score

    for target in (json_target, html_target, png_target):
        json.refuse_unwritable(target)
    _, description = read_description(weights)
    start(backend)
    with show_progress() as progress:
        data = read(data_path, format_name, progress, label_map)
        if split is not None:
            data = select_split(data, split)
        data, scored = choose_images(data, description.trained_on, is_all=all_images or split is not None)
        if scored.note:
            click.echo(scored.note, err=True)
        from unstall.detectors.detector import InferenceModel
        from unstall.detectors.weights.store import build_from
        from unstall.training.evaluate.evaluation import evaluate

        result = evaluate(InferenceModel(build_from(weights)), data, description.class_names, batch_size, progress)
    plain = {
        "weights": weights, "data": data_path, "split": split, "scored": scored.as_plain(),
        "backend": backends.find_running_backend(), **result.as_plain(),
    }  # fmt: skip
    if png_target:
        from unstall.report.html.command_pages import write_evaluation_plots

        write_evaluation_plots(plain, resolve_path(png_target))
    if html_target:
        from unstall.report.html.command_pages import write_score

        write_score(plain, resolve_path(html_target))
    write_answer(plain, json_target, show_score)
