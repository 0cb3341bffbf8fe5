"""Shared by all tests: no run of a test lands among the user's own runs, and none leaves its probe to the others."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from tests.programs import UNUSED_PACKAGES, hide_packages
from tests.run_all import BACKENDS, mentions
from unstall.probe.core import probe

# A busy machine is no fault of what is tested.
hypothesis.settings.register_profile("any machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("any machine")
# Tests send these to programs that they start, which inherit what is ignored here: by `nohup`, or a shell's `&`.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A run of a backend collects only the files that mention it."""
    marked = {(item.path, name) for item in items for name in BACKENDS if item.get_closest_marker(name)}
    if unseen := sorted(f"{path}: {name}" for path, name in marked if path.name.startswith("test_") and not mentions(path, name)):
        raise pytest.UsageError(
            f"Expected the backend's name in every file with tests that need it. Not there: {', '.join(unseen)}"
        )


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "unstall-home"
    monkeypatch.setenv("UNSTALL_HOME", str(home))
    monkeypatch.delenv("UNSTALL_RUN", raising=False)
    return home


@pytest.fixture(autouse=True)
def one_thread(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of PyTorch: several that wait for each other beside other tests burn more time than they save."""
    if request.node.get_closest_marker("torch"):
        monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.fixture(autouse=True)
def only_needed_packages(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of a backend import what it needs; with the mark `all_packages` all that is installed, as on many a user's machine."""
    backends = [name for name in BACKENDS if request.node.get_closest_marker(name)]
    if backends and not request.node.get_closest_marker("all_packages"):
        unused = set.intersection(*(set(UNUSED_PACKAGES[name]) for name in backends))
        path = [hide_packages(*sorted(unused)), os.environ.get("PYTHONPATH", "")]
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, path)))


@pytest.fixture(autouse=True)
def no_probe_stays() -> Iterator[None]:
    """One that a test leaves on would write into the journals of others."""
    yield
    left, is_on = probe.get_current(), probe.get_current() is not None
    probe.set_current(None)
    assert not is_on, f"a probe is still on, of {left.run.path if left else ''}: expected probe.set_current(None) at the end"


@pytest.fixture(autouse=True)
def journals_are_written_at_once() -> Iterator[None]:
    """By a writer of the test's own process: on a busy machine a slow write would move the next ones into a thread."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("unstall.journal.writer.SLOW_WRITE_S", 60.0)
        yield
