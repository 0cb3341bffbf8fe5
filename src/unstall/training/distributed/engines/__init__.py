"""The engines that start workers. An engine is a file of this folder: its name is the engine's, its docstring the page.

Each has

    HINT                                      what its workers are recognised by, in words
    recognise(environ) -> str                 the variable by which it is known that this engine runs us; '': it does not
    memberships(environ, workers) -> list     the workers that this machine is to start, each a Membership: the engine's own
                                              variables, translated. Asked before every start, also after a repair

`local` is what is left when no other recognises its own. Where UNSTALL_WORKER is set, no engine is asked: somebody has
translated already. Standard library only; nothing is loaded that an engine itself needs.
"""

from __future__ import annotations

from collections.abc import Mapping

from unstall.base.errors import InvalidInputError
from unstall.base.registry import Registry
from unstall.training.distributed import process_env
from unstall.training.distributed.process_env import ProcessEnv

ENGINES = Registry(__name__, "engine")
LOCAL = "local"


def recognise_engine(environ: Mapping[str, str]) -> str:
    """The name of the engine that runs us."""
    others = (name for name in ENGINES.names() if name != LOCAL)
    return next((name for name in others if ENGINES.module(name).recognise(environ)), LOCAL)


def process_envs(environ: Mapping[str, str], workers: int) -> list[ProcessEnv]:
    """Those that this machine is to start now, of a run that has so many."""
    if process_env.is_given(environ):
        found = [process_env.of(environ)]
    else:
        found = ENGINES.module(recognise_engine(environ)).process_envs(environ, workers)
    return found


def workers_said(environ: Mapping[str, str]) -> int | None:
    """How many workers the run has by the word of whoever started us; None: that is ours to say."""
    if process_env.is_given(environ):
        return process_env.of(environ).workers
    name = recognise_engine(environ)
    return None if name == LOCAL else int(ENGINES.module(name).process_envs(environ, 1)[0].workers)


def secondary_worker(environ: Mapping[str, str]) -> int | None:
    """The number of this machine's first worker, where worker 0 is on another machine; None: it is ours to begin the run."""
    if workers_said(environ) is None:
        return None
    first = process_envs(environ, 1)[0]
    return None if first.is_first else first.worker


def agree_on_workers(environ: Mapping[str, str], workers: int, is_given: bool) -> int:
    """The number of workers, where the engine and a setting may both say one. `is_given`: somebody has asked for this one."""
    said = workers_said(environ)
    if said is None or said == workers:
        return workers
    if is_given:
        raise InvalidInputError(
            f"num_workers: expected {said}, as {recognise_engine(environ)} has started so many. Received: {workers}"
        )
    return said
