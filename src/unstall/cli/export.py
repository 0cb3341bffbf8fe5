"""Write a detector for use without Unstall or Keras: unstall export --weights FILE --to onnx OUT

A SavedModel, ONNX or LiteRT: images in (pixels 0 to 255), boxes, scores and classes out; non-maximum suppression is inside.
"""

from __future__ import annotations

import click

from unstall.cli import TrainingCommand, backend_option, batch_size_option, json_option, weights_option


@click.command("export", cls=TrainingCommand, help=__doc__)
@click.argument("out")
@weights_option
@click.option("--to", "target", required=True, type=click.Choice(["savedmodel", "onnx", "litert"]), help="What it is written as.")
@batch_size_option(1)
@backend_option
@json_option("what was exported")
def command(out: str, weights: str, target: str, batch_size: int, backend: str | None, json_target: str | None) -> None:
    from unstall.backends.startup import start
    from unstall.detectors.weights.description import read_description
    from unstall.report import json

    json.refuse_unwritable(json_target)
    _, description = read_description(weights)
    chosen = start(backend)
    from unstall.detectors.weights.store import build_from
    from unstall.training.export import export, refuse_impossible

    refuse_impossible(target, chosen, out)
    summary = export(build_from(weights), target, out, batch_size)
    plain = {"weights": weights, "backend": chosen, "class_names": list(description.class_names), **summary}
    if json_target:
        json.write(plain, json_target)
    if json_target != "-":
        size = "×".join(map(str, summary["input"]["shape"]))
        outputs = ", ".join(f"{name} {'×'.join(map(str, shape))}" for name, shape in summary["outputs"].items())
        click.echo(f"{out}: {target}, images {size} ({summary['input']['dtype']}, RGB, 0 to 255) to {outputs}; made on {chosen}")
