"""Confirm or refute a run's verdicts by experiments: unstall confirm RUN

The program is started again for this alone: when its first fit is about to begin, the experiments are made on a few of its
batches instead, and it ends there. What the program does before fit, it does again; nothing after fit is run.
"""

from __future__ import annotations

import click

from unstall.cli import json_option

EXPERIMENTS = ("replay_batch", "overfit_batch", "zero_input", "scaled_input", "missing_gradients", "learning_rate")


@click.command("confirm", help=__doc__)
@click.argument("run", default="last")
@click.option(
    "--experiment", "wanted", multiple=True, type=click.Choice(EXPERIMENTS), help="Make this one, whatever the verdicts are."
)
@json_option("the story")
def command(run: str, wanted: tuple[str, ...], json_target: str | None) -> None:
    from unstall import runs
    from unstall.report import json, text
    from unstall.report.experiments import as_plain, show
    from unstall.supervisor.confirm import confirm

    results, story = confirm(runs.find(run), wanted)
    if json_target:
        json.write({**story, "experiments": [as_plain(event) for event in results]}, json_target)
    if json_target != "-":
        out = text.console()
        show(results, out)
        text.show(story, out)
