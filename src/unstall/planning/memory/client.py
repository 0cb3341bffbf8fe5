"""Asks what a step needs, and keeps the answers.

Questions are answered in a process of its own: it takes another backend than ours, or none of its memory stays here.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import re
import select
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

import unstall
from unstall.base.errors import UnstallError
from unstall.base.files import get_cache_dir
from unstall.base.processes import kill_tree
from unstall.planning.memory.messages import Answer, Question

if TYPE_CHECKING:
    from unstall.base.console import Progress
    from unstall.planning.memory.messages import Question

MAX_S = 1800.0  # for one answer; the largest detector is compiled in minutes


class PlannerError(UnstallError):
    """The process that was to say what a step needs ended without an answer."""


class PlannerClient:
    """`with PlannerClient() as client: client(question)`. What was asked before, in any run, is not asked again.

    One process serves questions of one backend and one device; measured ones have each their own, as a peak is never taken back.
    """

    def __init__(self, before: Callable[[Question], None] | None = None) -> None:
        self._before = before  # called with each question that is not remembered
        self._process: subprocess.Popen[str] | None = None
        self._serves: tuple[Any, ...] = ()
        self._stderr: IO[str] | None = None
        self.asked = 0

    def __call__(self, question: Question) -> Answer:
        known = recall_answer(question)
        if known is not None:
            return known
        if self._before is not None:
            self._before(question)
        self.asked += 1
        answer = self._answer(question)
        remember_answer(question, answer)
        return answer

    def _answer(self, question: Question) -> Answer:
        serves = (question.backend, question.way, bool(question.card))
        if self._process is None or self._serves != serves or question.way == "measured":
            self._end()
            self._stderr = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 as long as the process
            self._process, self._serves = _started(question, self._stderr), serves
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        try:
            stdin.write(json.dumps(question.as_plain()) + "\n")
            stdin.flush()
            line = stdout.readline() if self._comes(stdout) else None
        except BrokenPipeError:
            line = ""
        if line is None:
            self._end()
            raise PlannerError(f"The process that was to say what a step needs took longer than {MAX_S / 60:.0f} minutes.")
        if not line:
            raise self._failed()
        plain = json.loads(line)
        if "error" in plain:
            raise PlannerError(plain["error"])
        return Answer.from_plain(plain)

    def _comes(self, stdout: IO[str]) -> bool:
        """It answers with one line, or ends; whichever comes first can be read."""
        return bool(select.select([stdout], [], [], MAX_S)[0])

    def _failed(self) -> PlannerError:
        assert self._process is not None
        self._process.wait()
        code = self._process.returncode
        self._process = None
        how = f"killed by signal {-code}, for want of host memory perhaps" if code < 0 else f"exit code {code}"
        return PlannerError(f"The process that was to say what a step needs ended without an answer: {how}.{self._last_line()}")

    def _last_line(self) -> str:
        """Of what it wrote on its standard error, that names an error; remarks may follow it."""
        assert self._stderr is not None
        self._stderr.seek(0)
        lines = self._stderr.read().strip().splitlines()
        errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Exhausted)\b", line)]
        return f" Its last words: {(errors or lines)[-1][:500]}" if lines else ""

    def _end(self) -> None:
        if self._process is not None:
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    stream.close()
            kill_tree(self._process.pid)  # it has nothing to save, and may be in a compiler, or stopped, and hear of nothing else
            self._process.wait()
            self._process = None

    def __enter__(self) -> PlannerClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end()


def _started(question: Question, stderr: IO[str]) -> subprocess.Popen[str]:
    from unstall.planning.memory import compiler

    env = {**os.environ, "KERAS_BACKEND": question.backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
    if question.way == "compiled on the card":
        env |= compiler.ON_THE_CARD
    elif question.way != "measured":
        env |= compiler.build_environment(bool(question.card))  # a card that is there is not touched
    command = [sys.executable, "-m", "unstall.planning.memory.server", str(os.getpid())]
    return subprocess.Popen(
        command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True
    )  # fmt: skip


def announce_questions(progress: Progress | None) -> Callable[[Question], None] | None:
    """Says on a terminal what is being asked: a compilation takes a minute or more, and does not say how far it is."""
    if progress is None:
        return None
    asked = 0

    def announce(question: Question) -> None:
        nonlocal asked
        settings = question.settings
        images = f"{settings['micro_batch_size']} images, {settings['precision']}{', remat' if settings['remat'] else ''}"
        doing = "measuring" if question.way == "measured" else "estimating" if question.way == "estimated" else "compiling"
        progress(f"{doing} {question.phase} ({images})", asked, 0)
        asked += 1

    return announce


# Answers that were got once: a compilation takes minutes, and the same question has the same answer as long as the code does.


PACKAGES = ("keras", "numpy", "jax", "jaxlib", "jax-cuda13-plugin", "jax-cuda12-plugin", "tensorflow", "tensorflow-cpu", "torch")
SOURCES = (
    "config/detectors",
    "detectors",
    "training",
    "backends",
    "planning/memory",
)  # a change of these may change what a step needs


def compute_cache_key(question: Question) -> str:
    said = json.dumps([question.as_plain(), list_versions(), compute_source_digest()], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:32]


def recall_answer(question: Question) -> Answer | None:
    try:
        return Answer.from_plain(json.loads(_path(question).read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # not there, or of another form: it is asked again


def remember_answer(question: Question, answer: Answer) -> None:
    """Aside, then renamed. A folder that cannot be written forgets, nothing more."""
    path = _path(question)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside.write_text(json.dumps(answer.as_plain()), encoding="utf-8")
        aside.replace(path)
    except OSError:
        return


def _path(question: Question) -> Path:
    return get_cache_dir() / "memory" / f"{compute_cache_key(question)}.json"


@cache
def list_versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


@cache
def compute_source_digest() -> str:
    digest = hashlib.sha256()
    root = Path(unstall.__file__).parent
    for folder in SOURCES:
        for path in sorted((root / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()
