"""What an experiment says of a verdict: confirmed (then it is certain), refuted (then it is withdrawn), or nothing.

Which experiment can speak about which cause stands in `SPEAKS_FOR`. An experiment is made only on request.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

from unstall.diagnosis.verdict import Certainty, Clear, Evidence, Found, Verdict
from unstall.journal.events import ExperimentEnded, StepsEnded
from unstall.journal.reader import Journal

FASTER = 1.5  # without its input a step must be so many times as fast, if the input is what holds it up
CLEARLY_LESS = 0.7  # one loss is clearly below another at less than this share of it
LEARNS = 0.5  # a batch learned by heart must come below this share of its first loss

Reading = Callable[[ExperimentEnded, Journal], tuple[bool | None, str]]


def confirm_verdict(name: str, verdict: Verdict, journal: Journal) -> Verdict:
    """The verdict after what the experiments showed."""
    if not isinstance(verdict, Found) or name not in SPEAKS_FOR:
        return verdict
    experiment, judge = SPEAKS_FOR[name]
    made = [event for event in journal.of(ExperimentEnded) if event.experiment == experiment and not event.failed]
    if not made:
        return verdict
    says, claim = judge(made[-1], journal)
    if says is None:
        return verdict
    if says is False:
        return Clear(f"refuted by the experiment {experiment}: {claim}")
    evidence = Evidence(f"experiment {experiment}: {claim}", None, None, (made[-1],))
    return dataclasses.replace(verdict, certainty=Certainty.CERTAIN, evidence=(*verdict.evidence, evidence))


def _replay(event: ExperimentEnded, journal: Journal) -> tuple[bool | None, str]:
    groups = [group for group in journal.of(StepsEnded) if group.phase == "train" and group.first > 0]
    steps = sum(group.last - group.first + 1 for group in groups)
    if not steps:
        return None, ""
    usual = sum(group.seconds for group in groups) / steps
    replayed = float(event.facts["step_s"])
    claim = f"with one batch replayed a step takes {_ms(replayed)}, in the run {_ms(usual)}"
    return usual >= FASTER * replayed, claim


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms"


def _rate_too_high(event: ExperimentEnded, journal: Journal) -> tuple[bool | None, str]:
    tenth, same = float(event.facts["tenth"] or math.nan), float(event.facts["same"] or math.nan)
    claim = f"after the same steps from the same start the loss is {same:.4g}, with a tenth of the rate {tenth:.4g}"
    if math.isnan(tenth):
        return None, claim
    return math.isnan(same) or tenth < CLEARLY_LESS * same, claim


def _rate_too_low(event: ExperimentEnded, journal: Journal) -> tuple[bool | None, str]:
    tenfold, same = float(event.facts["tenfold"] or math.nan), float(event.facts["same"] or math.nan)
    claim = f"after the same steps from the same start the loss is {same:.4g}, with ten times the rate {tenfold:.4g}"
    if math.isnan(same) or math.isnan(tenfold):
        return None, claim
    return tenfold < same, claim


def _scale_matters(event: ExperimentEnded, journal: Journal) -> tuple[bool | None, str]:
    raw, scaled = float(event.facts["loss_with_input"] or math.nan), float(event.facts["loss_with_scaled"] or math.nan)
    claim = f"after the same steps from the same start the loss is {raw:.4g}, with the inputs scaled {scaled:.4g}"
    if math.isnan(scaled):
        return None, claim
    return math.isnan(raw) or scaled < CLEARLY_LESS * raw, claim


def _cannot_learn_a_batch(event: ExperimentEnded, journal: Journal) -> tuple[bool | None, str]:
    first, least = event.facts["first_loss"], event.facts["min_loss"]
    claim = f"one batch learned by heart: loss {first} at first, {least} at best, in {event.facts['steps']} steps"
    if first is None or least is None:
        return None, claim
    # That it can learn one batch says that the path from input to weights is whole; the data may still say nothing.
    return (True, claim) if least > LEARNS * first else (None, claim)


def _unchanged(event: ExperimentEnded, journal: Journal) -> tuple[bool | None, str]:
    count, total = int(event.facts["unchanged_count"]), int(event.facts["trainable"])
    names = ", ".join(event.facts["unchanged"][:3])
    return count > 0 or total == 0, f"after three steps {count} of {total} trainable weights are unchanged" + (
        f": {names}" if names else ""
    )


SPEAKS_FOR: dict[str, tuple[str, Reading]] = {
    "input_starved": ("replay_batch", _replay),
    "python_in_pipeline": ("replay_batch", _replay),
    "storage_slow": ("replay_batch", _replay),
    "learning_rate_too_high": ("learning_rate", _rate_too_high),
    "learning_rate_too_low": ("learning_rate", _rate_too_low),
    "inputs_unscaled": ("scaled_input", _scale_matters),
    "units_dead": ("overfit_batch", _cannot_learn_a_batch),
    "gradients_vanishing": ("overfit_batch", _cannot_learn_a_batch),
    "loss_not_falling": ("overfit_batch", _cannot_learn_a_batch),
    "gradients_disconnected": ("missing_gradients", _unchanged),
    "weights_frozen": ("missing_gradients", _unchanged),
}
