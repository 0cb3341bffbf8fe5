"""Switches the probe on in this process, once. Everything here is undone by `UNSTALL_DISABLE=1`."""

from __future__ import annotations

import atexit
import faulthandler
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Optional

from unstall.journal.events import FrameworkLoaded, ProgramEnded
from unstall.journal.run_folder import RunFolder
from unstall.journal.writer import move_descriptor_up
from unstall.probe import hooks
from unstall.probe.core import patches, probe
from unstall.probe.core.patches import AfterImport
from unstall.probe.core.probe import Probe
from unstall.probe.core.stdlib_imports import OwnImports
from unstall.probe.coverage import Coverage, get_coverage
from unstall.probe.errors import exceptions
from unstall.probe.fit import experiments
from unstall.probe.host import devices, modules, rank, signals
from unstall.probe.trigger import FRAMEWORKS

PR_SET_PTRACER = 0x59616D61
ANY_PROCESS = -1

imports = AfterImport()


def is_disabled() -> bool:
    return os.environ.get("UNSTALL_DISABLE", "") not in ("", "0")


def begin(run: RunFolder) -> Optional[Probe]:
    """The probe of this process: a new one, or the one that is on already. None if switched off."""
    if is_disabled():
        return None
    running = probe.get_current()
    if running is not None:
        return running
    new = Probe(run)
    probe.set_current(new)
    os.register_at_fork(after_in_child=new.stop)
    atexit.register(end, new)
    new.shield.call("ptrace permission", _allow_stack_samples)
    new.shield.call("errors", exceptions.install, new)
    new.shield.call("own signals", signals.install, new)
    new.shield.call("fatal errors", _note_fatal_errors, run)
    new.shield.call("devices", devices.install, new)
    new.shield.call("modules", modules.install, new)
    new.shield.call("rank", rank.install, new)
    new.shield.call("experiments", experiments.install, new)
    new.shield.call("imports", _hook_frameworks, new)
    return new


def end(probe_: Probe) -> None:
    """The program comes to its orderly end."""
    if os.getpid() == probe_.pid and probe_.active:
        if probe_.close_loop is not None:
            probe_.shield.call("end", probe_.close_loop)  # the last steps of one's own loop
        probe_.shield.call("modules", modules.report_once, probe_)
        probe_.shield.call("coverage", get_coverage(probe_).report)
        probe_.shield.call("end", _report_end, probe_)
        probe_.shield.call("end", probe_.writer.close)


def _report_end(probe_: Probe) -> None:
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    probe_.emit(ProgramEnded(at=time.time(), pid=probe_.pid, peak_rss_bytes=peak))


def _hook_frameworks(probe_: Probe) -> None:
    coverage = get_coverage(probe_)

    call = probe_.shield.call

    def version_of(module: ModuleType) -> str:
        return str(getattr(module, "__version__", ""))  # of a framework that is half installed this may raise anything

    def loaded(module: ModuleType) -> None:
        version = call("framework version", version_of, module) or ""
        coverage.framework_loaded(module.__name__, version)
        call("frameworks", probe_.emit, FrameworkLoaded(at=time.time(), name=module.__name__, version=version))

    for name in FRAMEWORKS:
        imports.add(name, loaded)
    for hook in hooks.HOOKS:
        imports.add(hook.module, _shielded(probe_, hook, coverage))
    imports.install()


def _shielded(probe_: Probe, hook: hooks.Hook, coverage: Coverage) -> Callable[[ModuleType], None]:
    def run(module: ModuleType) -> None:
        if not probe_.active:
            return
        before = patches.count_wrapped()
        listens = probe_.shield.call(f"hook {hook.module}", hook.install, module, probe_)
        if (hook.is_listener and listens) or patches.count_wrapped() > before:
            coverage.hook_installed(hook.module, hook.gives)

    return run


def _allow_stack_samples() -> None:
    """Where the kernel lets only ancestors look at a process (Yama), the watcher of a Guard needs leave."""
    try:
        restricted = Path("/proc/sys/kernel/yama/ptrace_scope").read_text().strip() == "1"
    except OSError:
        return
    if restricted:
        with OwnImports():
            import ctypes
        ctypes.CDLL(None).prctl(PR_SET_PTRACER, ctypes.c_ulong(ANY_PROCESS), 0, 0, 0)


def _note_fatal_errors(run: RunFolder) -> None:
    """The stack at a crash of native code, in the run folder; left alone where the program has its own."""
    if not faulthandler.is_enabled():
        file = os.open(run.path / f"fatal-{os.getpid()}.txt", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        faulthandler.enable(file=move_descriptor_up(file))  # stays open
