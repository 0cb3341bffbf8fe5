"""Plans the memory of a run before it runs.

plan = memory.plan(settings, devices.named("a100"), classes=20)
plan.fits, plan.changes()       # False, {}; or what to change: {"precision": "bfloat16", "micro_batch_size": 8}
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from unstall import backends
from unstall.backends import allocators
from unstall.config.settings import Settings, apply_changes
from unstall.planning.memory import compiler
from unstall.planning.memory.client import PlannerClient, PlannerError
from unstall.planning.memory.devices import Device, estimate_host_need, find_device_here
from unstall.planning.memory.max_batch_size import estimate_need, find_max_batch_size, measure_need
from unstall.planning.memory.memory_plan import MAX_IMAGES, Choice, MemoryPlan, choose, compute_limit, with_state
from unstall.planning.memory.messages import Answer, Phase, Question, Way, create_question

# By how much figures may be wrong, as a share of the need, and so what is kept free. Those of JAX were held against a card by
# `python -m benchmarks.memory`: exact where compiled on it, 4.8 % too low at worst where compiled for it. The others are assumed.
ERRORS: dict[tuple[Way, bool], float] = {  # the way, and whether the figures are of the backend that will run
    ("compiled on the card", True): 0.01,
    ("compiled", True): 0.05,
    ("compiled", False): 0.30,
    ("compiled for the CPU", True): 0.05,
    ("measured", True): 0.06,
    ("estimated", True): 0.50,
}
HOW: dict[Way, str] = {
    "compiled on the card": "of the compiler on the card",
    "compiled": "of the compiler for the card",
    "compiled for the CPU": "of the compiler",
    "measured": "of a measured step",
    "estimated": "of an estimate",
}
GIVEN_STEP = 256 * 2**20  # bytes: what is free on a card changes a little from time to time, and answers are remembered
CLEAR = 3.0  # an estimate so many times below the limit of a card needs no better figure
CLEAR_ON_CORES = (
    1.0  # nor one below what the host has: to measure takes minutes there, and a run that was promised too much is repaired
)


@dataclass(frozen=True)
class Source:
    """Who is asked."""

    way: Way
    backend: str
    error: float
    note: str


def plan(
    settings: Settings,
    device: Device | None = None,
    classes: int | None = None,
    *,
    largest_pixels: int | None = None,
    finds_largest: bool = True,
    is_quick: bool = False,
    before: Callable[[Question], None] | None = None,
) -> MemoryPlan:
    """What these settings need on that device; none: on this machine's. `classes` are the data's, else the detector's own.

    `is_quick`: an estimate will do where it shows room enough. `before` is called with each question that takes time. Of several
    workers it is what each of them needs.
    """
    settings = settings.split_for_one_worker()
    backend = backends.find_preferred_backend(None if settings.backend == "auto" else settings.backend)
    device = device or find_device_here(backend)
    with PlannerClient(before) as client:
        best, *others = list_sources(backend, device)
        planner = _Planner(settings, classes, backend, device, best, client)
        if is_quick and best.way != "estimated":
            estimate = replace(planner, source=_estimate(""))
            clear = CLEAR if device.kind == "cuda" else CLEAR_ON_CORES
            if clear * estimate.need(estimate.wanted) <= estimate.limit:
                return estimate.planned(finds_largest, largest_pixels)
        for source in others:
            try:
                return planner.planned(finds_largest, largest_pixels)
            except PlannerError as error:
                note = f"{source.note or 'the next best figures'}. Those {HOW[planner.source.way]} could not be had: {error}"
                planner = replace(planner, source=replace(source, note=note))
        return planner.planned(finds_largest, largest_pixels)


def find_step_need(settings: Settings, client: PlannerClient, device: Device | None = None, classes: int | None = None) -> Answer:
    """What a step of just these settings needs, whether or not it fits: for runs that are compared."""
    settings = settings.split_for_one_worker()
    backend = backends.find_preferred_backend(None if settings.backend == "auto" else settings.backend)
    device = device or find_device_here(backend)
    planner = _Planner(settings, classes, backend, device, choose_source(backend, device), client, must_fit=False)
    return planner.answer(planner.wanted)


def choose_source(backend: str, device: Device) -> Source:
    """The best that there is here."""
    return list_sources(backend, device)[0]


def list_sources(backend: str, device: Device) -> list[Source]:
    """All that there are here, the best first. The next is asked where one does not answer: a compiler may fail, or lack room."""
    for_card = device.kind == "cuda"
    found: list[Source] = []
    if backend == "jax" and not for_card and compiler.can_compile(False):
        found.append(Source("compiled for the CPU", "jax", ERRORS["compiled for the CPU", True], ""))
    if backend == "jax" and for_card and device.is_here:
        found.append(Source("compiled on the card", "jax", ERRORS["compiled on the card", True], ""))
    if backend != "jax" and device.is_here:
        found.append(Source("measured", backend, ERRORS["measured", True], ""))
    if for_card and compiler.can_compile(True):
        is_own = backend == "jax"
        note = "" if is_own else f"{backend} can be measured only on the device itself: these are JAX's figures of the same model"
        found.append(Source("compiled", "jax", ERRORS["compiled", is_own], note))
    return [*found, _estimate(f"an estimate from shapes; for the compiler's own figures: {compiler.install_command()}")]


def _estimate(note: str) -> Source:
    return Source("estimated", "", ERRORS["estimated", True], note)


def describe_recomputation(answer: Answer) -> str:
    """What it costs that the compiler stays within what it is given."""
    count = answer.said.get(compiler.RECOMPUTED, 0)
    return f"To stay within that, the compiler computes {count:,} results of a step twice, which takes time" if count else ""


@dataclass(frozen=True)
class _Planner:
    settings: Settings
    classes: int | None
    backend: str
    device: Device
    source: Source
    client: PlannerClient
    must_fit: bool = True  # else what is needed is asked for, however much it is

    @property
    def wanted(self) -> Choice:
        settings = self.settings
        return Choice(settings.precision, settings.remat, settings.at_once)

    @property
    def usable(self) -> tuple[int, str]:
        if self.device.kind == "cpu":
            from unstall.planning.memory.devices import FRAMEWORK_BYTES

            return max(0, self.device.free_bytes - FRAMEWORK_BYTES[self.backend]), "what is free, less what the framework takes"
        return allocators.compute_usable_bytes(self.backend, self.device.memory_bytes, self.device.free_bytes)

    @property
    def limit(self) -> int:
        return compute_limit(self.usable[0], self.source.error)

    @property
    def is_squeezed(self) -> bool:
        """The compiler for a card knows what it is given, and stays within it as far as it can: so will that on the card."""
        return self.must_fit and self.source.way == "compiled" and self.backend == "jax"

    def planned(self, finds_largest: bool, largest_pixels: int | None) -> MemoryPlan:
        tried = choose(self.wanted, self.settings.batch_size, self.need, self.limit, self.device.has_bfloat16)
        last = tried[-1]
        training = self.answer(last.choice)
        found = self._largest(last.choice) if finds_largest else None
        images, evaluation = self._evaluation(last.choice, training)
        usable, why = self.usable
        on_cores = max(training.need, with_state(evaluation, training)) if self.device.kind == "cpu" else 0
        host = estimate_host_need(self.settings, self.backend, training.input, training.state, on_cores, largest_pixels)
        return MemoryPlan(
            device=self.device, backend=self.backend, way=self.source.way, asked_of=self.source.backend or self.backend,
            error=self.source.error, usable_bytes=usable, usable_why=why, wanted=self.wanted, tried=tried,
            batch_size=self.settings.batch_size, training=training, evaluation=evaluation, evaluation_batch=images,
            largest_micro_batch=found, host=host,
            note=". ".join(filter(None, [self.source.note, describe_recomputation(training)])),
        )  # fmt: skip

    def need(self, choice: Choice) -> int:
        return self.answer(choice).room

    def answer(self, choice: Choice, phase: Phase = "training", batch_size: int | None = None) -> Answer:
        settings = apply_changes(self.settings, {"micro_batch_size": None, "batch_size": batch_size or self.settings.batch_size})
        settings = apply_changes(settings, choice.as_plain())
        if self.source.way == "measured":
            return self._measured(settings, phase)
        return self._asked(settings, phase)

    def _measured(self, settings: Settings, phase: Phase) -> Answer:
        """On a card by itself: a try that runs out of memory does so in a process of its own. What it would need is then told by
        two small sizes, by which PyTorch, that takes other kernels for larger ones, is known to a third only. On cores by these
        alone: nothing is tried there that might take the memory of others."""

        def ask(probe: Settings) -> Answer:
            return self._asked(probe, phase)

        if self.device.kind == "cpu":
            return estimate_need(settings, ask)
        try:
            return measure_need(settings, ask)
        except PlannerError:
            answer = estimate_need(settings, ask)
            return answer if answer.room > self.limit else replace(answer, need=answer.need + self.limit)

    def _asked(self, settings: Settings, phase: Phase) -> Answer:
        backend = self.source.backend or self.backend
        card = dict(self.device.card) if self.source.way in {"compiled", "compiled on the card", "estimated"} else {}
        if self.is_squeezed:
            card[compiler.GIVEN] = self.limit // GIVEN_STEP * GIVEN_STEP
        return self.client(create_question(settings, self.classes, phase, backend, self.source.way, card))

    def _evaluation(self, choice: Choice, training: Answer) -> tuple[int, Answer]:
        """Of as many images at once as are trained, or of half as many and so on, until it fits beside the training's state."""
        images = choice.micro_batch_size
        while True:
            answer = self.answer(replace(choice, micro_batch_size=images), "evaluation", images)
            if images == 1 or with_state(answer, training) <= self.limit:
                return images, answer
            images //= 2

    def _largest(self, choice: Choice) -> int:
        """Several looks: by the compiler that tries nothing on the card, which is quicker, where there is one."""
        quicker = [each for each in list_sources(self.backend, self.device) if each.way == "compiled"]
        looks = replace(self, source=quicker[0]) if quicker and self.source.way == "compiled on the card" else self

        def need(images: int) -> int:
            return looks.answer(replace(choice, micro_batch_size=images), batch_size=images).room

        return find_max_batch_size(need, looks.limit, MAX_IMAGES, choice.micro_batch_size, looks.is_squeezed)
