"""The events of what is seen from outside, without the help of the program.

Standard library only, syntax of Python 3.7, as all of the journal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Optional

from unstall.journal.events.base import Event, ThreadStack


@dataclass(frozen=True)
class HostSampled(Event):
    """Resources of the program's process tree and of the machine. Rates are over the time since the sample before."""

    interval_s: float = 0.0
    cpu_cores: float = 0.0  # busy cores of the whole process tree
    main_cpu_cores: float = 0.0  # busy cores of the main process alone
    rss_bytes: int = 0  # whole tree
    main_rss_bytes: int = 0
    threads: int = 0
    processes: int = 1
    read_bytes_s: float = 0.0  # through read calls, from disk or cache
    disk_read_bytes_s: float = 0.0  # that had to come from the disk
    write_bytes_s: float = 0.0
    major_faults_s: float = 0.0
    available_bytes: int = 0
    total_bytes: int = 0
    cgroup_used_bytes: Optional[int] = None
    cgroup_limit_bytes: Optional[int] = None
    cgroup_oom_kills: Optional[int] = None
    swap_used_bytes: int = 0
    swap_in_bytes_s: float = 0.0
    swap_out_bytes_s: float = 0.0
    io_wait_threads: int = 0  # threads in uninterruptible sleep
    queued_cores: float = 0.0  # threads, on average, that were ready to run and had no CPU: a crowded machine
    usable_cores: float = 0.0  # that the program may run on: its affinity, and the quota of its control group; 0: not known
    stopped_share: float = 0.0  # of the looks since the sample before: the main process was stopped, by a signal or a debugger
    disk_free_bytes: Optional[int] = None
    anon_bytes: int = 0  # of rss_bytes, what is not backed by files: the program's own data
    swapped_bytes: int = 0  # of the tree, out in swap space
    address_space_bytes: int = 0  # of the main process
    address_space_limit_bytes: Optional[int] = None  # ulimit -v
    max_rss_bytes: list[int] = field(default_factory=list)  # whole tree: the most of many looks, in each part of the interval


@dataclass(frozen=True)
class DeviceSampled(Event):
    index: int = 0
    name: str = ""
    used_bytes: int = 0
    total_bytes: int = 0
    busy_percent: Optional[float] = None
    processes: list[dict[str, Any]] = field(default_factory=list)  # pid, name, bytes, ours


@dataclass(frozen=True)
class StackSampled(Event):
    pid: int = 0
    native: bool = False
    seconds: float = 0.0  # how long the sampling took
    threads: list[ThreadStack] = field(default_factory=list)
    main: bool = True  # of the main process, not of a child


@dataclass(frozen=True)
class SampleFailed(Event):
    """A signal could not look. `missing` says what it lacks, `fix` how to give it."""

    signal: str = ""  # stacks | native_stacks | host | device | inside
    missing: str = ""
    fix: str = ""


@dataclass(frozen=True)
class ThreadsSeen(Event):
    """What the kernel says of a process's threads.

    Each: id, name, asleep_s (since it last ran), runs and cpu_ms (both up to now), call (the system call it waits in), on
    (what that call waits for: a socket, a file), timed (whether it will wake by itself after a time that it has set). What is
    not known is None."""

    pid: int = 0
    main: bool = True
    threads: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class IdleSeen(Event):
    """The processes of a program have used next to no CPU since a moment, and its main thread, which wakes now and then, has been
    found at the same line each time it was looked at."""

    pid: int = 0
    since: float = 0.0
    cpu_s: float = 0.0  # used since then


@dataclass(frozen=True)
class ChildSeen(Event):
    """A process below the program. forked: it goes on from a copy of its parent's memory, with one thread of it."""

    pid: int = 0
    parent_pid: int = 0
    forked: Optional[bool] = None
    command: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class SourceRead(Event):
    """A line of the program's own source that a thread stands at, and what it stands inside of, innermost first."""

    file: str = ""
    line: int = 0
    text: str = ""
    function: str = ""
    is_generator: bool = False
    awaits: list[str] = field(default_factory=list)  # locks that this very line takes
    holds: list[str] = field(default_factory=list)  # locks taken around it, in the same function
    taken_at: list[int] = field(default_factory=list)  # the line that takes each of these
    taken_by: list[str] = field(default_factory=list)  # and how: with | acquire | maybe (in a branch, or it may have timed out)
    either: list[str] = field(default_factory=list)  # locks among both: `with lock: work()` takes and holds in one line
    bound: list[str] = field(default_factory=list)  # locks among both whose name this function binds: each call may have another
    handed: list[str] = field(default_factory=list)  # last names of the locks of the file that a function leaves to others, held
    loop: list[int] = field(default_factory=list)  # first and last line of the outermost loop around it, in the same function


@dataclass(frozen=True)
class LibrariesSeen(Event):
    """The frameworks that a process has loaded, by the files mapped into its memory."""

    pid: int = 0
    names: list[str] = field(default_factory=list)  # tensorflow, jax, torch


@dataclass(frozen=True)
class ClusterSeen(Event):
    """What shows that a process works together with others."""

    pid: int = 0
    variables: dict[str, str] = field(default_factory=dict)  # TF_CONFIG, WORLD_SIZE, ... as it was started with
    connections: list[dict[str, Any]] = field(default_factory=list)  # to: address; pid of that end, if on this machine
    listens: list[str] = field(default_factory=list)  # host:port at which it waits for others


@dataclass(frozen=True)
class StallBegan(Event):
    """No progress for longer than the run's own history allows. What it means is for the causes to say."""

    phase: str = ""
    step: int = -1
    epoch: int = -1
    since: float = 0.0  # wall clock: the last sign of progress
    usual_s: Optional[float] = None  # what this phase took before (median), None without history
    limit_s: float = 0.0
    waiting_for_input: bool = False
    sure: bool = True  # False: no pulse says so, only that it idles; it may get on without using the CPU much
    printed: str = ""  # the last line of progress, where what the program prints says how far it is, and no pulse does


@dataclass(frozen=True)
class StallEnded(Event):
    phase: str = ""
    step: int = -1
    seconds: float = 0.0


@dataclass(frozen=True)
class KernelSpoke(Event):
    """A line of the kernel's log about this process (an out-of-memory kill)."""

    line: str = ""
    pid: int = 0
    by_group: bool = False  # never seen as a process of the program, but killed in its control group


@dataclass(frozen=True)
class ExperimentEnded(Event):
    """An experiment that the user asked for (`unstall confirm`), made in a run of the program for this alone."""

    experiment: str = ""
    seconds: float = 0.0
    facts: dict[str, Any] = field(default_factory=dict)
    failed: str = ""  # why it could not be made


@dataclass(frozen=True)
class PathLooked(Event):
    """A path that the program could not find, looked at afterwards."""

    path: str = ""
    exists_up_to: str = ""
    near: list[str] = field(default_factory=list)  # names in that folder that resemble the part that is missing
    unset_variables: list[str] = field(default_factory=list)  # that the program's source asks for
    named_at: str = ""  # file:line of the file on the command line in which the path stands
    is_there: bool = False  # after all; of a pattern: something matches it


@dataclass(frozen=True)
class DataChecked(Event):
    """The data files of a program that ended because one is damaged, looked at afterwards."""

    kind: str = ""  # image | record file
    looked_at: int = 0
    num_damaged: int = 0
    damaged: list[str] = field(default_factory=list)  # some of them
    what: str = ""  # is wrong with them
    named_at: str = ""  # file:line of the file on the command line in which the only one stands
    begins: str = ""  # with what the only one begins, where that is a text, or nothing


@dataclass(frozen=True)
class RecordFeaturesRead(Event):
    """Which features the records of a program have, looked at after an error that named one."""

    key: str = ""  # the feature that the error names
    files: int = 0
    path: str = ""  # the first of them
    records: int = 0  # that were read
    lacking: int = 0  # so many of these have no such feature
    first_lacking: str = ""  # file and number of the first
    features: list[dict[str, Any]] = field(default_factory=list)  # name, types, min_count and max_count of values in a record


@dataclass(frozen=True)
class LabelFound(Event):
    """Where a class number stands that a program ended on."""

    path: str = ""
    line: int = 0  # the first
    value: int = 0
    times: int = 0


@dataclass(frozen=True)
class ClassesCompared(Event):
    """The classes of objects in record files, against the label map and the number of classes of the program's configuration."""

    label_map: str = ""
    max_in_map: int = 0  # the highest number in it
    configuration: str = ""
    num_classes: int | None = None  # that the configuration names
    num_classes_line: int = 0
    records: int = 0  # that were looked at
    objects: int = 0  # in them
    not_in_map: int = 0  # objects
    above_num_classes: int = 0  # of those in the map
    path: str = ""  # of the first that is not in the map; else of the first above the number of classes
    record: int = 0
    value: int = 0


@dataclass(frozen=True)
class DatabasesSeen(Event):
    """SQLite files that a process of a program that stands still has open, and that somebody has locked.

    Each: path, holder_pid (None: in another container), holder (its command), writes (whether the lock is that of a writer)."""

    pid: int = 0
    main: bool = True
    databases: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class DiskSeen(Event):
    """Room on the file system of a path."""

    path: str = ""
    mount: str = ""
    free_bytes: int = 0
    total_bytes: int = 0
    free_inodes: int = 0
