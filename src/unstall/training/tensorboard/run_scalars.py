"""The plots of a run as scalars that TensorBoard reads: the same lines, each point at its time and by the steps done until then.

tensorboard --logdir FOLDER         # FOLDER/RUN: several runs are shown over each other
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from unstall.base.errors import InvalidInputError
from unstall.storage import is_bucket
from unstall.training.tensorboard.writer import LARGEST_SCALAR, EventFile

FILE = "events.out.tfevents.unstall"  # one for a run: written anew, it takes the place of the old one


class Scalar(NamedTuple):
    tag: str
    at: float  # seconds since 1970
    step: int
    value: float


def write(story: dict[str, Any], folder: Path) -> Path:
    """Into a folder of the run's own in this one, which is given back."""
    if is_bucket(folder):
        raise InvalidInputError(f"--tensorboard: expected a folder on a disk. Received: '{folder}'")
    target = folder / str(story["run"] or "run")
    try:
        file = EventFile(target, name=FILE)
        for each in scalars(story["timeline"]):
            file.scalar(each.step, each.tag, each.value, each.at)
        file.close()
    except OSError as error:
        raise InvalidInputError(f"Cannot write scalars to '{target}': {error.strerror or error}.") from None
    return target


def scalars(timeline: dict[str, Any]) -> list[Scalar]:
    """In order of time."""
    began, moments, done = timeline["began"] or 0.0, timeline["steps"]["t"], _done(timeline["steps"])
    found = [
        Scalar(f"{plot['name']}/{line}", began + moment, done[bisect.bisect_right(moments, moment)], value)
        for plot in timeline["plots"]
        for line, moment, value in _points(plot, timeline["seconds"])
        if math.isfinite(value) and abs(value) <= LARGEST_SCALAR
    ]
    return sorted(found, key=lambda each: each.at)


def _points(plot: dict[str, Any], seconds: float) -> Iterator[tuple[str, float, float]]:
    """Name of a line, moment, value. A share of time is that of a stretch, and stands at its end."""
    if plot["kind"] == "areas":
        for area in plot["areas"]:
            for place, share in enumerate(area["shares"]):
                yield area["name"], min(seconds, (place + 1) * plot["bin_s"]), share
        return
    for line in plot["lines"]:
        for moment, value in zip(line["t"], line["mean"], strict=True):
            yield line["name"], moment, value


def _done(steps: dict[str, Any]) -> list[int]:
    """How many steps were done before the first of its moments, and after each. Where counting begins anew, as with the next
    `fit`, it goes on from what was done: a line that runs backwards cannot be read."""
    done, before, earlier = [0], 0, 0
    for count in (round(each) for each in steps.get("high") or steps["mean"]):
        earlier += before if count < before else 0
        done.append(earlier + count)
        before = count
    return done
