"""The engines that start workers, and who a worker is among those of its run.

An engine is a file of this folder: its name is the engine's, its docstring the page.

Each has

    HINT                                      what its workers are recognised by, in words
    VARIABLES                                 the environment variables by which it may be recognised; (): it never is
    recognise(environ) -> str                 the variable by which it is known that this engine runs us; '': it does not. Asked
                                              only where one of VARIABLES is set
    build_process_envs(environ, workers) -> list   the workers that this machine is to start, each a ProcessEnv: the engine's own
                                              variables, translated. Asked before every start, also after a repair

`local` is what is left when no other recognises its own, and is asked for two workers or more: one needs nobody. Where
UNSTALL_WORKER is set, no engine is asked: somebody has translated already. What a worker's environment says is read in this
one place:

    UNSTALL_WORKER=1                    its number, from 0 on
    UNSTALL_WORKERS=4                   how many there are
    UNSTALL_COORDINATOR=10.0.0.7:8476   where worker 0 can be reached by all of them

Without them a worker is alone. Standard library only; nothing is loaded that an engine itself needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType

from unstall.base.errors import InvalidInputError
from unstall.base.registry import Registry

WORKER, WORKERS, COORDINATOR = "UNSTALL_WORKER", "UNSTALL_WORKERS", "UNSTALL_COORDINATOR"
CARDS = "CUDA_VISIBLE_DEVICES"
LAST_PORT = 65535


@dataclass(frozen=True)
class ProcessEnv:
    rank: int = 0
    world_size: int = 1
    coordinator: str = ""  # host:port; empty: it is alone
    card: str = ""  # of its machine, that it computes on; empty: whatever it finds

    @property
    def is_alone(self) -> bool:
        return self.world_size == 1

    @property
    def is_first(self) -> bool:
        """Worker 0: it is the coordinator, and writes what the run leaves behind."""
        return self.rank == 0

    @property
    def words(self) -> str:
        """As it is called in front of people, who count as the files do: from 0 on."""
        return "the worker" if self.is_alone else f"worker {self.rank} of {self.world_size}"

    def as_environment(self) -> dict[str, str]:
        """What the worker is started with; `read_own_process_env` reads it again."""
        if self.is_alone:
            return {}
        who = {WORKER: str(self.rank), WORKERS: str(self.world_size), COORDINATOR: self.coordinator}
        return {**who, CARDS: self.card} if self.card else who


def is_process_env_given(environ: Mapping[str, str]) -> bool:
    """Whether somebody has said who this worker is."""
    return bool(environ.get(WORKER) or environ.get(WORKERS))


def read_own_process_env(environ: Mapping[str, str]) -> ProcessEnv:
    """A wrong or missing variable is named."""
    if not is_process_env_given(environ):
        return ProcessEnv()
    workers = _number(environ, WORKERS, least=1)
    worker = _number(environ, WORKER, least=0)
    if worker >= workers:
        raise InvalidInputError(f"{WORKER}: expected a number below {WORKERS} ({workers}), counted from 0. Received: {worker}")
    if workers == 1:
        return ProcessEnv()
    return ProcessEnv(worker, workers, _address(environ.get(COORDINATOR, "")))


def _number(environ: Mapping[str, str], name: str, least: int) -> int:
    said = environ.get(name, "").strip()
    if not said.isdecimal() or int(said) < least:
        raise InvalidInputError(f"{name}: expected a whole number of {least} or more. Received: {said!r}")
    return int(said)


def _address(said: str) -> str:
    host, _, port = said.strip().rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) <= LAST_PORT:
        raise InvalidInputError(f"{COORDINATOR}: expected host:port of worker 0, as in 10.0.0.7:8476. Received: {said!r}")
    return said.strip()


ENGINES = Registry(__name__, "engine")
LOCAL = "local"


def recognise_engine(environ: Mapping[str, str]) -> str:
    """The name of the engine that runs us."""
    others = (name for name in ENGINES.names() if name != LOCAL)
    return next((name for name in others if _runs_us(ENGINES.module(name), environ)), LOCAL)


def _runs_us(engine: ModuleType, environ: Mapping[str, str]) -> bool:
    return any(environ.get(name) for name in engine.VARIABLES) and bool(engine.recognise(environ))


def build_process_envs(environ: Mapping[str, str], workers: int) -> list[ProcessEnv]:
    """Those that this machine is to start now, of a run that has so many."""
    if is_process_env_given(environ):
        return [read_own_process_env(environ)]
    name = recognise_engine(environ)
    if name == LOCAL and workers == 1:
        return [ProcessEnv()]
    found: list[ProcessEnv] = ENGINES.module(name).build_process_envs(environ, workers)
    return found


def count_declared_workers(environ: Mapping[str, str]) -> int | None:
    """How many workers the run has by the word of whoever started us; None: that is ours to say."""
    if is_process_env_given(environ):
        return read_own_process_env(environ).world_size
    name = recognise_engine(environ)
    return None if name == LOCAL else int(ENGINES.module(name).build_process_envs(environ, 1)[0].world_size)


def find_secondary_worker(environ: Mapping[str, str]) -> int | None:
    """The number of this machine's first worker, where worker 0 is on another machine; None: it is ours to begin the run."""
    if count_declared_workers(environ) is None:
        return None
    first = build_process_envs(environ, 1)[0]
    return None if first.is_first else first.rank


def agree_on_workers(environ: Mapping[str, str], workers: int, is_given: bool) -> int:
    """The number of workers, where the engine and a setting may both say one. `is_given`: somebody has asked for this one."""
    said = count_declared_workers(environ)
    if said is None or said == workers:
        return workers
    if is_given:
        raise InvalidInputError(
            f"num_workers: expected {said}, as {recognise_engine(environ)} has started so many. Received: {workers}"
        )
    return said
