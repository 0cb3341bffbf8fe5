"""How the compiler's figures can be had is said as a command that can be typed."""

from __future__ import annotations

import pytest

from unstall.planning.memory import compiler


def test_without_jax_it_comes_first_as_the_compiler_is_one_of_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "is_installed", lambda package: False)
    assert compiler.install_command().startswith("pip install 'unstall[jax]'")


def test_with_jax_the_compiler_of_its_version_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "is_installed", lambda package: True)
    monkeypatch.setattr(compiler, "_jax_version", lambda: "0.9.1")
    said = compiler.install_command()
    assert said.endswith("0.9.1 jax-cuda13-plugin==0.9.1 jax-cuda13-pjrt==0.9.1") and " --no-deps --target " in said
