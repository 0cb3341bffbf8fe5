"""How two runs differed in memory, time, loss and score, and whether by more than such runs differ by themselves."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, replace
from typing import Any

from unstall.base.formatting import format_size
from unstall.compare.record import facts
from unstall.compare.record.results import OF_THE_RUN

HOST_NOISE_BYTES = 24 * 2**20  # that the peak of a process differs by, run to run: threads, caches of the allocator
HOST_NOISE_SHARE = 0.02
# That a difference of two runs is unsure by: at the least; as a share of what the training holds, by its one highest moment, and
# by what its steps hold one after the other. Peaks of the same program differ by 7 % of it where PyTorch allocates in several
# threads, by 3 % where JAX begins a step before the last has ended, by nearly nothing on TensorFlow. With PyTorch the steps of a
# run may agree among each other, and not with those of the next run: its peak alone counts, and is 0 to 12 % off by chance.
HOST_UNSURE_BYTES = 8 * 2**20
# On JAX a run that nobody watches begins its steps earlier, and holds their inputs: of 12 steps, as was measured, all 12.
AHEAD_UNSURE_BYTES = 16 * 2**20
AHEAD_STEPS = 12
TORCH_UNSURE_SHARE = 0.15
PEAK_UNSURE_SHARE = 0.1
STEPS_UNSURE_SHARE = 0.02
QUARTERS = 3.0  # times what lies between the quarters of the steps, halved: nineteen of twenty steps
COMPILER_NOISE = 0.35  # of what compilers left in the process: it differs by so much from run to run
DEVICE_NOISE_SHARE = 0.01
DEVICE_NOISE_BYTES = 8 * 2**20
TIME_NOISE_SHARE = 0.15  # of a step: what else a machine does
CROWD_SHARE = 0.5  # of the waiting for a core: a part of it is the program's own threads, which get in each other's way
CROWDED_MORE = 0.15  # of its time that a run waited for a core more than the other: then it is said
STRETCHED = 3.0  # times: that a step may take longer by chance on a full machine, however alike the waiting for a core was
MIN_ALONE = 0.02  # of its time that a run had a core for, however full the machine was
PAUSES_S = 0.1  # that a machine now and then does something else for: much, where it is shared out among a few short steps
STANDARD_ERRORS = 2.0  # that a mean is taken to be wrong by, at the most
MIN_OF_A_STEP = 0.05  # that its waiting for input changed by: less is nobody's concern
MIN_OF_THE_RUN_S, MIN_COMPILE_S = 1.0, 3.0  # of a whole run: what others do on the machine just then
MIN_STEP_S = 0.0003  # a part that changed by less is nobody's concern
LOSS_NOISE_SHARE = 0.08
MIN_STEPS = 3
ON_A_CARD = "device memory"
PARTS = ("input", "compute", "validation", "checkpoint", "compile")


@dataclass(frozen=True)
class FigureChange:
    """A figure of both runs. `is_clear`: it moved by more than noise."""

    what: str
    before: float | None
    after: float | None
    noise: float
    unit: str
    level: float | None = None  # that it moved by where that is better known than by the two figures
    unsure: float = 0.0  # that `by` may be wrong by; 0: not known better than the noise
    note: str = ""  # what must be known of the two figures, beside what is claimed of them

    @property
    def by(self) -> float:
        if self.level is not None:
            return self.level
        return self.after - self.before if self.before is not None and self.after is not None else 0.0

    @property
    def is_clear(self) -> bool:
        return self.before is not None and self.after is not None and abs(self.by) > self.noise

    @property
    def share(self) -> float:
        """How much it moved, the same for twice as for half: 0.69."""
        if not self.before or not self.after or self.before <= 0 or self.after <= 0:
            return 1.0 if self.is_clear else 0.0
        return abs(math.log(self.after / self.before))

    def as_plain(self) -> dict[str, Any]:
        return {
            "name": self.what, "before": self.before, "after": self.after, "change": self.by, "noise": self.noise,
            "unit": self.unit, "is_clear": self.is_clear, "note": self.note,
        }  # fmt: skip


def measure_memory_change(before: dict[str, Any], after: dict[str, Any]) -> FigureChange:
    """On the card where there is one; else of the host. Of a run that was cut short of its need nothing was measured; that of one
    which died of memory is at least what it had come to."""
    moved = _memory(before, after)
    was, is_now = _comes_to_its_need(before, after), _comes_to_its_need(after, before) or facts.is_out_of_memory(after)
    if was and is_now:
        return moved
    return replace(moved, before=moved.before if was else None, after=moved.after if is_now else None, level=None, note="")


def _comes_to_its_need(record: dict[str, Any], other: dict[str, Any]) -> bool:
    """A run that was not seen to its end, and of which no step was measured though the other one has steps, held less than it
    would have needed; so did one whose memory was last looked at before its steps. The first steps do not count: they compile."""
    if facts.get_section(record, "run").get("outcome") == "done" or facts.get_figure(other, "step_s") is None:
        return True
    peak, floor = facts.get_figure(record, "host_peak_bytes"), facts.compute_floor_bytes(record)
    return facts.get_figure(record, "step_s") is not None and not (peak and floor and peak <= floor)


def _memory(before: dict[str, Any], after: dict[str, Any]) -> FigureChange:
    if facts.get_figure(before, "device_peak_bytes") and facts.get_figure(after, "device_peak_bytes"):
        old, new = facts.get_figure(before, "device_peak_bytes"), facts.get_figure(after, "device_peak_bytes")
        noise = max(DEVICE_NOISE_BYTES, DEVICE_NOISE_SHARE * max(old or 0.0, new or 0.0))
        return FigureChange(ON_A_CARD, old, new, noise, "B", unsure=noise)
    return _host_memory(before, after)


def _host_memory(before: dict[str, Any], after: dict[str, Any]) -> FigureChange:
    """By what steps hold one after the other, where both runs show it, and by their highest moments; without what the compiler
    left by chance."""
    old, new = facts.get_figure(before, "host_peak_bytes"), facts.get_figure(after, "host_peak_bytes")
    noise = max(HOST_NOISE_BYTES, HOST_NOISE_SHARE * max(old or 0.0, new or 0.0))
    if old is None or new is None:
        return FigureChange("host memory", old, new, noise, "B")
    by, unsure = _grown(before, after, old, new)
    if facts.get_figure(after, "compiler_bytes") is not None:  # told by JAX alone
        ahead = _ahead_bytes(before, after) / 2.0  # watched it holds little of it, else all
        by, unsure = by + ahead, math.hypot(max(AHEAD_UNSURE_BYTES, unsure), ahead)
    unsure = max(HOST_UNSURE_BYTES, unsure)
    compiler_noise = _by_the_compiler(before, after)
    if _layers(before) != _layers(after):  # there is more to compile, too: how much of it is chance is not known
        compiler_noise, unsure = compiler_noise / 2, math.hypot(unsure, compiler_noise / 2)
    taken = _of_what_was_measured(compiler_noise, by)
    unsure = math.hypot(unsure, compiler_noise - taken)
    noise = max(noise, unsure)
    more = f"{format_size(abs(taken))} {'more' if taken > 0 else 'less'}"
    note = f"of the host memory {more} is what the compiler left in the process: that differs from run to run"
    return FigureChange(
        "host memory", old, new, noise, "B", by - taken, unsure, note if abs(taken) > HOST_NOISE_BYTES / 2 else ""
    )


def _grown(before: dict[str, Any], after: dict[str, Any], old: float, new: float) -> tuple[float, float]:
    """By how much, and how unsure. What steps usually hold and the one highest moment are two looks at the same: nearer to the
    surer one, and the less sure the less they agree. What steps do not show at all is not claimed by one moment."""
    own = max(_own_bytes(before, old), _own_bytes(after, new))
    by_peaks, peaks_unsure = new - old, max(1.0, PEAK_UNSURE_SHARE * own)
    if facts.is_of_torch(before) or facts.is_of_torch(after):
        return by_peaks, TORCH_UNSURE_SHARE * own
    levels = facts.get_usual_memory(before), facts.get_usual_memory(after)
    if levels[0] is None or levels[1] is None:
        return by_peaks, peaks_unsure
    by = levels[1][0] - levels[0][0]
    unsure = max(1.0, STEPS_UNSURE_SHARE * own, QUARTERS * math.hypot(levels[0][1], levels[1][1]))
    if abs(by) <= HOST_NOISE_BYTES:
        return by, unsure
    weight = peaks_unsure**2 / (unsure**2 + peaks_unsure**2)
    between = weight * by + (1 - weight) * by_peaks
    return between, math.hypot(min(unsure, peaks_unsure), by - between if weight > 0.5 else by_peaks - between)


def _ahead_bytes(before: dict[str, Any], after: dict[str, Any]) -> float:
    """By how much more the inputs of steps that are ahead hold. The trainer of Unstall itself keeps close to its steps."""
    if facts.read_settings(after):
        return 0.0
    sizes = [facts.compute_input_bytes(record) for record in (before, after)]
    steps = min((count for record in (before, after) if (count := facts.get_figure(record, "steps"))), default=0.0)
    return (sizes[1] - sizes[0]) * min(steps, AHEAD_STEPS) if sizes[0] and sizes[1] else 0.0


def _of_what_was_measured(compiler_noise: float, by: float) -> float:
    """Chance takes away from what was measured, down to nothing; half of it is added where it hid some of a change that shows."""
    if compiler_noise * by > 0:
        return math.copysign(min(abs(compiler_noise), abs(by)), by)
    return compiler_noise / 2 if abs(by) > HOST_NOISE_BYTES else 0.0


def _layers(record: dict[str, Any]) -> int:
    return len(facts.get_section(record, "model").get("layers") or ())


def _own_bytes(record: dict[str, Any], peak: float) -> float:
    """Of the peak, what is of the training itself."""
    return peak - (facts.compute_floor_bytes(record) or 0.0) - (facts.get_figure(record, "compiler_bytes") or 0.0)


def _by_the_compiler(before: dict[str, Any], after: dict[str, Any]) -> float:
    """What one compiler left more than the other; 0 where that is more than chance, too little to be told from what else goes on
    meanwhile, or not known."""
    old, new = facts.get_figure(before, "compiler_bytes"), facts.get_figure(after, "compiler_bytes")
    if old is None or new is None or not HOST_NOISE_BYTES < abs(new - old) <= COMPILER_NOISE * max(old, new):
        return 0.0
    return new - old


def measure_step_change(before: dict[str, Any], after: dict[str, Any]) -> FigureChange:
    old, new = facts.get_figure(before, "step_s"), facts.get_figure(after, "step_s")
    noise = _time_noise(before, after, old, new)
    note = _crowded_note(before, after, new - old, noise) if old and new else ""  # of one that was not measured nothing is known
    return FigureChange("step", old, new, noise, "s", note=note)


def _crowded_note(before: dict[str, Any], after: dict[str, Any], by: float, noise: float) -> str:
    """Where a step took longer than such steps usually differ by, and others on the machine can be all of the reason."""
    crowds = [facts.compute_waiting_share(record) for record in (before, after)]
    alone = noise - _by_the_machine(before, after, facts.get_figure(before, "step_s"), facts.get_figure(after, "step_s"))
    if not alone < abs(by) <= noise or abs(crowds[1] - crowds[0]) < CROWDED_MORE:
        return ""
    took = f"{abs(by):.3g} s" if abs(by) >= 1 else f"{abs(by) * 1000:.3g} ms"
    return (
        f"the step took {took} {'longer' if by > 0 else 'less'}, but the older run waited for a core {crowds[0]:.0%} of its time "
        f"and the newer {crowds[1]:.0%}: others were on the machine, and that may be all of it"
    )


def measure_speed_change(before: dict[str, Any], after: dict[str, Any]) -> FigureChange:
    """Images of a second: as unsure as the step that it is made of."""
    taken = measure_step_change(before, after)
    old, new = facts.get_figure(before, "images_per_s"), facts.get_figure(after, "images_per_s")
    longest = max(taken.before or 0.0, taken.after or 0.0)
    share = taken.noise / longest if longest else TIME_NOISE_SHARE
    return FigureChange("images per second", old, new, share * max(old or 0.0, new or 0.0), "")


def measure_part_change(name: str, before: dict[str, Any], after: dict[str, Any]) -> FigureChange:
    old, new = _part(before, name), _part(after, name)
    whole, now = facts.get_figure(before, "step_s"), facts.get_figure(after, "step_s")
    if name in OF_THE_RUN:
        crowd = max(facts.compute_waiting_share(before), facts.compute_waiting_share(after))
        least = MIN_COMPILE_S if name == "compile" else MIN_OF_THE_RUN_S
        return FigureChange(name, old, new, max(least, max(0.4, crowd) * max(old or 0.0, new or 0.0)), "s")
    if name == "input" and _is_known_by_itself(before, after):
        least = MIN_OF_A_STEP * max(whole or 0.0, now or 0.0)
        return FigureChange(
            name, old, new, max(least, _time_noise(before, after, old, new), _random_change(name, before, after)), "s"
        )
    return FigureChange(name, old, new, max(_time_noise(before, after, whole, now), _random_change(name, before, after)), "s")


def _is_known_by_itself(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Of both runs it is told how much their waiting for input differs from step to step, and the machine was as full: then the
    noise of what is computed is none of the input's."""
    is_known = all(facts.get_part_uncertainty(record, "input") > 0 for record in (before, after))
    return is_known and abs(facts.compute_waiting_share(after) - facts.compute_waiting_share(before)) < CROWDED_MORE


def _random_change(name: str, before: dict[str, Any], after: dict[str, Any]) -> float:
    """Of a part, which is a mean over steps: by how much it is wrong at the most, as its steps differ among each other."""
    names = (name, "other") if name == "compute" else (name,)
    return STANDARD_ERRORS * math.hypot(
        *(facts.get_part_uncertainty(record, each) for record in (before, after) for each in names)
    )


def _part(record: dict[str, Any], name: str) -> float | None:
    """A framework that computes while Python goes on is waited for between steps: both are its computing."""
    own, between = facts.get_part(record, name), facts.get_part(record, "other")
    return own + between if name == "compute" and own is not None and between is not None else own


def _time_noise(before: dict[str, Any], after: dict[str, Any], old: float | None, new: float | None) -> float:
    """Of the median of so many steps, by how much they differ among each other; never less than a share of them."""
    usual = min(value for value in (old, new) if value) if old and new else 0.0
    spreads = [facts.get_spread(record) for record in (before, after)]
    spread = max((value for value in spreads if value is not None), default=0.0)
    held_up = _held_up(before, after, old, new)
    crowd = CROWD_SHARE * max(facts.compute_waiting_share(before) * held_up[0], facts.compute_waiting_share(after) * held_up[1])
    noise = max(MIN_STEP_S, TIME_NOISE_SHARE * usual, min(spread, 2.0 * usual), crowd)
    return noise + _by_the_machine(before, after, old, new)


def _held_up(before: dict[str, Any], after: dict[str, Any], old: float | None, new: float | None) -> tuple[float, float]:
    """Both times, the longer one only as far as others on the machine can have made it so long of the shorter one. What is beyond
    that is the run's own slowness, and no reason to allow for more."""
    if not old or not new:
        return old or 0.0, new or 0.0
    alone = [max(1.0 - facts.compute_waiting_share(record), MIN_ALONE) for record in (before, after)]
    stretched = alone[0] / alone[1] if new > old else alone[1] / alone[0]
    most = min(old, new) * max(STRETCHED, stretched**2)  # twice: threads that share a step wait for the last of them
    return min(old, most), min(new, most)


def _by_the_machine(before: dict[str, Any], after: dict[str, Any], old: float | None, new: float | None) -> float:
    """Of a step, what others on the machine can have done: the one run waited for a core more than the other, or its steps were
    few and short."""
    cores = [facts.get_section(record, "machine").get("cores") or 0 for record in (before, after)]
    more = facts.compute_waiting_share(after) - facts.compute_waiting_share(before)
    more = 0.0 if more * (cores[1] - cores[0]) < 0 else more  # with fewer cores it waits for itself
    slower = _held_up(before, after, old, new)[1 if more > 0 else 0]
    waited = slower * (1.0 - (1.0 - abs(more)) ** 2)  # twice: threads that share a step wait for the last of them
    steps = min((count for record in (before, after) if (count := facts.get_figure(record, "steps"))), default=0.0)
    return waited + (PAUSES_S / steps if steps else 0.0)


def measure_loss_change(before: dict[str, Any], after: dict[str, Any]) -> FigureChange:
    """At the same step, the last that both runs have told of: the mean of the last quarter."""
    old, new = facts.get_curve(before), facts.get_curve(after)
    upto = min((curve[-1][0] for curve in (old, new) if curve), default=0.0)
    ends = [_end([value for place, value in curve if place <= upto]) for curve in (old, new)]
    if ends[0] is None or ends[1] is None:
        return _of_the_same_step(old, new)
    spread = max(ends[0][1], ends[1][1])
    noise = max(2.0 * spread, LOSS_NOISE_SHARE * max(abs(ends[0][0]), abs(ends[1][0])))
    return FigureChange("loss", ends[0][0], ends[1][0], noise, "")


def _of_the_same_step(old: list[tuple[float, float]], new: list[tuple[float, float]]) -> FigureChange:
    """Of runs that told very few losses: the last one, where it is of the same step."""
    if not old or not new or old[-1][0] != new[-1][0]:
        return FigureChange("loss", None, None, 0.0, "")
    first, last = old[-1][1], new[-1][1]
    return FigureChange("loss", first, last, 2.0 * LOSS_NOISE_SHARE * max(abs(first), abs(last)), "")


def measure_first_loss_change(before: dict[str, Any], after: dict[str, Any]) -> FigureChange:
    """Before anything was learned: what then differs came in with the data, the model or the loss, not with the optimizer."""
    old, new = facts.get_figure(before, "loss_first"), facts.get_figure(after, "loss_first")
    return FigureChange("first loss", old, new, 0.25 * max(abs(old or 0.0), abs(new or 0.0)), "")


def _end(values: list[float]) -> tuple[float, float] | None:
    """The mean of the last quarter, and how far its values lie from it."""
    last = values[-max(1, len(values) // 4) :]
    if len(values) < MIN_STEPS or not all(math.isfinite(value) for value in last):
        return None
    mean = statistics.fmean(last)
    return mean, statistics.pstdev(last) / math.sqrt(len(last)) if len(last) > 1 else 0.0


def measure_score_change(before: dict[str, Any], after: dict[str, Any]) -> FigureChange:
    old, new = facts.get_score(before), facts.get_score(after)
    return FigureChange("AP", old, new, 0.01, "")


def measure_all_changes(before: dict[str, Any], after: dict[str, Any]) -> dict[str, FigureChange]:
    parts = {name: measure_part_change(name, before, after) for name in PARTS}
    own = [
        measure_memory_change(before, after), measure_step_change(before, after), measure_speed_change(before, after),
        measure_loss_change(before, after), measure_first_loss_change(before, after), measure_score_change(before, after),
    ]  # fmt: skip
    return {**parts, **{moved.what if "memory" not in moved.what else "memory": moved for moved in own}}
