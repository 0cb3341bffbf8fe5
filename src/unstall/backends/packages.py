"""Versions of packages as they are installed; nothing is imported."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
from pathlib import Path


def find_version(package: str) -> str:
    """Empty where it is not installed under this name."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


# Whether an installed backend was built to use NVIDIA cards: by what its installation says, without loading it.


def explain_gpu_install(backend: str) -> str:
    """The command that would make it use them; empty where it does already, or where that cannot be told."""
    return {"jax": _jax, "torch": _torch, "tensorflow": _tensorflow}.get(backend, str)()


def _jax() -> str:
    plugins = {"jax-cuda12-plugin", "jax-cuda13-plugin"}
    return "" if plugins & _installed() else "pip install 'jax[cuda13]'"


def _torch() -> str:
    """Its file `version.py` names the CUDA that it was built for, or None."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return ""
    try:
        text = Path(spec.origin).with_name("version.py").read_text(encoding="utf-8")
    except OSError:
        return ""
    return (
        "pip install torch --index-url https://download.pytorch.org/whl/cu130" if re.search(r"^cuda.*= None", text, re.M) else ""
    )


def _tensorflow() -> str:
    installed = _installed()
    has_libraries = any(name.startswith(("nvidia-cudnn", "nvidia-cuda-runtime")) for name in installed)
    return "" if "tensorflow" in installed and has_libraries else "pip install 'tensorflow[and-cuda]'"


def _installed() -> set[str]:
    return {str(found.metadata["Name"]).lower() for found in importlib.metadata.distributions()}
