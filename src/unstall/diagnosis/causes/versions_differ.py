"""The workers of a training run different programs: other sources, or another version of Python or of a framework.

What it is
----------
All workers of a training must compute the same. One with an older checkout, another image or another version of the
framework compiles another program, sends gradients of other shapes, or fails to understand the others at all: it hangs in a
collective operation, ends with an error that names neither, or learns something else without a word.

How we know
-----------
The runs of several workers are read together (`unstall diagnose RUN RUN…`). Each has written down its versions and the
hashes of the program's own files. Told are files of one name with other contents, and other versions of Python (3.11 and
3.12), of the frameworks and of what they compile for.

When this is wrong
------------------
A file that only one worker has loaded (for pictures, for an evaluation) and packages that only one has imported are no
difference. Workers that run other scripts, a parameter server say, are not compared. Machines with other drivers may work
together: that alone is told as possible.

What to do
----------
Give all workers the same image and the same checkout: one container image by its digest, one commit; and start all of them
again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import PurePath

from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Unknown, Verdict
from unstall.diagnosis.workers.members import Member, RunGroup, find_program, format_list, format_members
from unstall.journal.events import Event, MembershipSeen, ProgramStarted, SourcesCopied, VersionsRead
from unstall.journal.reader import Journal

FRAMEWORKS = (
    "tensorflow", "keras", "tf-keras", "tf_keras", "jax", "jaxlib", "torch", "numpy", "ml_dtypes", "ml-dtypes", "horovod",
    "jax-cuda12-plugin", "jax-cuda13-plugin", "jax-cuda12-pjrt", "jax-cuda13-pjrt", "nvidia-nccl-cu12", "nvidia-nccl-cu13",
)  # what all must have alike  # fmt: skip
MAX_REPORTED = 6

_DO = ("give all workers the same image and the same checkout, and start all of them again",)


def examine(journal: Journal) -> Verdict:
    if journal.last(MembershipSeen) is None:
        return Clear("the program tells of no other workers")
    return Unknown("the runs of the other workers, to be read together: unstall diagnose RUN RUN…")


def examine_workers(run_group: RunGroup) -> Verdict:
    alike = Counter(find_program(member) for member in run_group.members).most_common(1)[0][0]
    members = [member for member in run_group.members if find_program(member) == alike]
    if sum(bool(member.sources or member.versions) for member in members) < 2:
        return Unknown("the versions and sources of at least two workers")
    sources = _differences(members, lambda member: _python_files(member.sources))
    versions = _differences(members, lambda member: _compared(member.versions))
    drivers = _differences(members, lambda member: _drivers(member.versions))
    if not sources and not versions and not drivers:
        return Clear("all workers have the same sources and versions")
    return _found(members, sources, versions, drivers)


Difference = tuple[str, dict[str, list[Member]]]  # of what, and who has which


def _differences(members: list[Member], facts_of: Callable[[Member], dict[str, str]]) -> list[Difference]:
    """Only what several tell of, and tell differently."""
    by_name: dict[str, dict[str, list[Member]]] = {}
    for member in members:
        for name, value in facts_of(member).items():
            by_name.setdefault(name, {}).setdefault(value, []).append(member)
    return [(name, values) for name, values in sorted(by_name.items()) if len(values) > 1]


def _python_files(sources: Mapping[str, str]) -> dict[str, str]:
    """By their names relative to the script; those that lie elsewhere, on each machine at its own place, by their last folder. Of
    two that are called alike neither is compared."""
    names = [(PurePath(name), value) for name, value in sources.items() if name.endswith(".py")]
    called = [("/".join(name.parts[-2:]) if name.is_absolute() else str(name), value) for name, value in names]
    counts = Counter(name for name, _ in called)
    return {name: value for name, value in called if counts[name] == 1}


def _compared(versions: Mapping[str, str]) -> dict[str, str]:
    kept = {name: versions[name] for name in FRAMEWORKS if versions.get(name)}
    if versions.get("python"):
        kept["Python"] = ".".join(versions["python"].split(".")[:2])
    return kept


def _drivers(versions: Mapping[str, str]) -> dict[str, str]:
    return {name: versions[name] for name in ("driver", "cuda") if versions.get(name)}


def _found(members: list[Member], sources: list[Difference], versions: list[Difference], drivers: list[Difference]) -> Found:
    odd = _odd([*sources, *versions] or drivers)
    evidence = [
        *(
            Evidence(_said(f"the file {name}", values, _short), name, None, _events(values, SourcesCopied))
            for name, values in sources
        ),
        *(Evidence(_said(name, values), name, None, _events(values, VersionsRead)) for name, values in versions),
        *(
            Evidence(_said(f"the {name} of the cards", values), name, None, _events(values, VersionsRead))
            for name, values in drivers
        ),
    ][:MAX_REPORTED]
    parts = []
    if sources:
        parts.append(
            f"{format_list([name for name, _ in sources], 3)} {'is' if len(sources) == 1 else 'are'} not the same file on all"
        )
    parts += [_said(name, values) for name, values in versions[:3]]
    parts += [] if parts else [_said(f"the {name} of the cards", values) for name, values in drivers]
    who = f" It is {format_members(odd)} that differ{'s' if len(odd) == 1 else ''} from most." if odd else ""
    return Found(
        Certainty.CERTAIN if sources or versions else Certainty.POSSIBLE,
        f"The workers do not run the same: {'; '.join(parts)}.{who}",
        tuple(evidence),
        _DO,
        effect=Effect.SPOILS,
        details={"workers": [member.worker for member in odd]},
    )


def _odd(differences: list[Difference]) -> list[Member]:
    """Those that are fewer than half, in the first difference that tells."""
    for _, values in differences:
        ordered = sorted(values.values(), key=len)
        if len(ordered[-1]) > sum(map(len, ordered[:-1])):
            return [member for each in ordered[:-1] for member in each]
    return []


def _said(what: str, values: dict[str, list[Member]], shown: Callable[[str], str] = str) -> str:
    parts = [f"{shown(value)} on {format_members(members, 3)}" for value, members in values.items()]
    return f"{what} is {', '.join(parts[:4])}"


def _short(value: str) -> str:
    return value[:8]


def _events(values: dict[str, list[Member]], kind: type[Event]) -> tuple[Event, ...]:
    """Of one worker of each kind: what it wrote down, or by what it was begun."""
    firsts = [members[0].journal for members in values.values()]
    found = [journal.last(kind) or journal.last(ProgramStarted) or journal.all()[-1] for journal in firsts]
    return tuple(found)
