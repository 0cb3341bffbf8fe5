"""The program is being traced and compiled, for very long: slow, not stuck.

What it is
----------
The first call of a compiled step traces the Python code into a graph and hands it to a compiler. A Python loop over hundreds
of layers or time steps is unrolled: each turn becomes code of its own, and tracing and compiling take minutes, in which
nothing seems to happen.

How we know
-----------
No step has ended. In stack samples over a long time a thread stands inside the framework's tracing or compiling, or in the
first call of a function whose tracing took long; the CPU works all the while, and longer than the limit below.

When this is wrong
------------------
If the compilation is worth its time, for a run of days. It goes on by itself, and the verdict is taken back when it is done.

What to do
----------
Let the framework loop instead of Python: `tf.while_loop` or `tf.range` in a tf.function, `jax.lax.scan` or `keras.ops.scan`,
a recurrent layer without `unroll=True`. Or make the compiled part smaller; or turn XLA off (`jit_compile=False`) to see what
it costs. JAX keeps compiled programs between runs in `JAX_COMPILATION_CACHE_DIR`.
"""

from __future__ import annotations

from dataclasses import dataclass

from unstall.diagnosis.frame_roles import Role, has_role
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Unknown, Verdict
from unstall.journal.events import (
    FitBegan,
    Frame,
    FrameworkLoaded,
    FunctionTraced,
    HostSampled,
    PipelineMeasured,
    ProcessEnded,
    SampleFailed,
    StackSampled,
    StepsEnded,
    ThreadStack,
)
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder, format_where, select_python_frames, select_user_frames

LONG_S = 30.0  # seen compiling for so long …
MIN_CPU_S = 30.0  # … and working as long: a busy machine makes everything slow
MIN_SAMPLES = 3
LONGEST_GAP_S = 40.0  # between two samples of one compilation
LONG_TRACE_S = 10.0  # what took so long to trace is long to compile
MIN_SHARE = 0.3  # of the time since, when it is over: below, it has been made up for

_DOING = {Role.TRACES: "being traced", Role.COMPILES: "being compiled"}


@dataclass(frozen=True)
class Look:
    """One sample in which a thread was compiling."""

    sample: StackSampled
    thread: ThreadStack
    doing: str


def examine(journal: Journal) -> Verdict:
    if journal.last(FrameworkLoaded) is None and journal.last(FitBegan) is None:
        return Clear("no framework that compiles is in use")
    samples = [sample for sample in journal.of(StackSampled) if sample.main]
    if not samples:
        failed = journal.last(SampleFailed)
        return Unknown(failed.missing if failed else "stack samples of the first step", failed.fix if failed else "")
    streak = _longest(journal, samples)
    if streak is None:
        return Clear("no sample shows it compiling for long")
    seconds = _last_seen(journal, streak) - streak[0].sample.at
    cpu = _cpu_s(journal, streak[0].sample.at, _last_seen(journal, streak))
    if seconds < LONG_S or cpu < MIN_CPU_S:
        return Clear(f"seen compiling for {seconds:.0f} s")
    if _is_over(journal, streak) and seconds < MIN_SHARE * (journal.now - streak[0].sample.at):
        return Clear(f"compiling took {seconds:.0f} s and is over")
    return _found(journal, streak, seconds, cpu)


def _longest(journal: Journal, samples: list[StackSampled]) -> list[Look] | None:
    """The longest run of samples, without a step between them, in which it was compiling."""
    steps = [group.at for group in journal.of(StepsEnded)]
    runs: list[list[Look]] = []
    current: list[Look] = []
    for sample in samples:
        look = _look(journal, sample)
        broken = current and (
            sample.at - current[-1].sample.at > LONGEST_GAP_S or any(current[0].sample.at < at < sample.at for at in steps)
        )
        if look is None or broken:
            current = []
        if look is not None:
            current.append(look)
            if len(current) == 1:
                runs.append(current)
    runs = [run for run in runs if len(run) >= MIN_SAMPLES]
    return max(runs, key=lambda run: run[-1].sample.at - run[0].sample.at, default=None)


def _look(journal: Journal, sample: StackSampled) -> Look | None:
    for thread in sample.threads:
        doing = next((words for frame in select_python_frames(thread) if (words := _doing(frame))), None)
        if doing is None and _runs_first_call(journal, sample, thread):
            doing = _DOING[Role.COMPILES]
        if doing is not None:
            return Look(sample, thread, doing)
    return None


def _doing(frame: Frame) -> str | None:
    return next((words for role, words in _DOING.items() if has_role(frame, role)), None)


def _runs_first_call(journal: Journal, sample: StackSampled, thread: ThreadStack) -> bool:
    """Inside TensorFlow, in the first call of a function that took long to trace, with its input at hand."""
    frames = select_python_frames(thread)
    if not frames or not has_role(frames[0], Role.EXECUTES):
        return False
    traced = [event for event in journal.of(FunctionTraced) if event.at <= sample.at]
    if not traced or traced[-1].seconds < LONG_TRACE_S or traced[-1].count > 1:
        return False
    measured = [event for event in journal.of(PipelineMeasured) if event.at <= sample.at and event.nodes]
    waits_for_input = bool(measured) and not measured[-1].nodes[-1]["elements"]
    return not waits_for_input and not any(group.at > traced[-1].at and group.at <= sample.at for group in journal.of(StepsEnded))


def _is_over(journal: Journal, streak: list[Look]) -> bool:
    return journal.last(ProcessEnded) is not None or _has_gone_on(journal, streak)


def _has_gone_on(journal: Journal, streak: list[Look]) -> bool:
    last = streak[-1].sample.at
    return any(group.at > last for group in journal.of(StepsEnded)) or journal.now - last > LONGEST_GAP_S


def _last_seen(journal: Journal, streak: list[Look]) -> float:
    """Until now, or until the program ended, if nothing says that it did something else before."""
    return streak[-1].sample.at if _has_gone_on(journal, streak) else journal.now


def _cpu_s(journal: Journal, since: float, until: float) -> float:
    hosts = [host for host in journal.of(HostSampled) if since < host.at <= until]
    return sum(host.cpu_cores * host.interval_s for host in hosts)


def _found(journal: Journal, streak: list[Look], seconds: float, cpu: float) -> Found:
    folder = find_program_folder(journal)
    traced = sum(look.doing == _DOING[Role.TRACES] for look in streak)
    doing = _DOING[Role.TRACES] if traced * 2 >= len(streak) else _DOING[Role.COMPILES]
    shared = _shared_frames(streak)
    place = format_where(shared[-1], folder) if shared else None
    innermost = [select_user_frames(look.thread)[0] for look in streak if select_user_frames(look.thread)]
    inner = format_where(innermost[-1], folder) if innermost else None
    at = f", called at {place}" if place else ""
    summary = f"The program is {doing}, which has taken {seconds:.0f} s{at}. It is slow, not stuck: it goes on when that is done."
    if _is_over(journal, streak):
        summary = f"The program was {doing} for {seconds:.0f} s{at}."
    samples = tuple(look.sample for look in streak)
    steps = ", and no step ended" if _are_steps_seen(journal, streak) else ""
    evidence = [
        Evidence(f"{len(streak)} of {len(streak)} samples over {seconds:.0f} s show it {doing}", seconds, LONG_S, samples),
        Evidence(f"it used {cpu:.0f} s of CPU time meanwhile{steps}", cpu, MIN_CPU_S, _hosts(journal, streak)),
    ]
    if doing == _DOING[Role.TRACES] and inner is not None and inner != place:
        evidence.append(Evidence(f"the latest sample stands at {inner}", inner, None, samples[-1:]))
    return Found(
        certainty=Certainty.CERTAIN,
        summary=summary,
        evidence=tuple(evidence),
        actions=(
            "let the framework loop instead of Python: tf.range or tf.while_loop, jax.lax.scan, keras.ops.scan, no unroll=True",
            "or compile less: a smaller unrolled part, jit_compile=False to see what XLA costs",
            *([] if _is_over(journal, streak) else ["or wait: it goes on by itself"]),
        ),
        where=place,
        effect=Effect.SLOWS,
    )


def _are_steps_seen(journal: Journal, streak: list[Look]) -> bool:
    """Whether a step that ended meanwhile would have been seen: those of most loops of one's own are not."""
    return any(fit.at <= streak[-1].sample.at for fit in journal.of(FitBegan))


def _hosts(journal: Journal, streak: list[Look]) -> tuple[HostSampled | StackSampled, ...]:
    return tuple(journal.since(HostSampled, streak[0].sample.at)[:3]) or (streak[0].sample,)


def _shared_frames(streak: list[Look]) -> list[Frame]:
    """The user's frames, outermost first, that all samples have in common: the line that the compilation was asked for."""
    stacks = [list(reversed(select_user_frames(look.thread))) for look in streak]
    stacks = [stack for stack in stacks if stack]
    shared: list[Frame] = []
    for frames in zip(*stacks, strict=False):
        if any((frame["file"], frame["line"]) != (frames[0]["file"], frames[0]["line"]) for frame in frames):
            break
        shared.append(frames[0])
    return shared
