"""Answers that were got once: a compilation takes minutes, and the same question has the same answer as long as the code does."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
from functools import cache
from pathlib import Path

import unstall
from unstall.base.directories import cache_dir
from unstall.planning.memory.messages import Answer, Question

PACKAGES = ("keras", "numpy", "jax", "jaxlib", "jax-cuda13-plugin", "jax-cuda12-plugin", "tensorflow", "tensorflow-cpu", "torch")
SOURCES = (
    "config/detectors",
    "detectors",
    "training",
    "backends",
    "planning/memory",
)  # a change of these may change what a step needs


def key(question: Question) -> str:
    said = json.dumps([question.as_plain(), versions(), source_digest()], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:32]


def recall(question: Question) -> Answer | None:
    try:
        return Answer.from_plain(json.loads(_path(question).read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # not there, or of another form: it is asked again


def remember(question: Question, answer: Answer) -> None:
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
    return cache_dir() / "memory" / f"{key(question)}.json"


@cache
def versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


@cache
def source_digest() -> str:
    digest = hashlib.sha256()
    root = Path(unstall.__file__).parent
    for folder in SOURCES:
        for path in sorted((root / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()
