"""Make a weights file of Unstall from a published checkpoint: unstall weights import FILE

Which detector it is of shows in its tensors. A backbone alone (ImageNet's) fits several: say which with --variant.
"""

from __future__ import annotations

import click

from unstall.cli import TrainingCommand, json_option, num_classes_option, write_answer


@click.command("import", cls=TrainingCommand, help=__doc__)
@click.argument("file")
@click.option("--variant", "--model", "variant", metavar="NAME", help="The detector that it is to be of; else it is recognised.")
@click.option("--out", metavar="PATH", help="The file to write; else VARIANT.safetensors.")
@num_classes_option("Number of classes. If it is not the file's, the head is new.")
@click.option("--norm-epsilon", type=click.FloatRange(0, 0.1), help="Of the norms, where the file's own is not the usual one.")
@click.option("--class-names", metavar="FILE", help="File with the names of the classes, one per line.")
@json_option("the report")
def command(
    file: str,
    variant: str | None,
    out: str | None,
    num_classes: int | None,
    norm_epsilon: float | None,
    class_names: str | None,
    json_target: str | None,
) -> None:
    from unstall.detectors.weights.importer import import_file, name_classes, write
    from unstall.report import json
    from unstall.report.terminal.imports import show_imported

    json.refuse_unwritable(json_target)
    imported = import_file(file, variant, num_classes, norm_epsilon)
    if class_names is not None:
        imported = name_classes(imported, class_names)
    target = out or f"{imported.description.variant}.safetensors"
    write(imported, target)
    plain = {**imported.as_plain(), "out": target}
    write_answer(plain, json_target, show_imported)
