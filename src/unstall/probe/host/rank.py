"""Tells which worker of how many this process is: by its variables, or by what it says to the framework when it joins.

It is told before the call that joins: that one may wait for ever.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType
from typing import Any, Optional
from urllib.parse import urlsplit

from unstall.journal.rank import RankInfo, read_rank
from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe

_REPORTED = "rank told"


def install(probe: Probe) -> None:
    report(probe, read_rank(os.environ))

    def report_again(model: Any) -> None:
        report(probe, read_rank(os.environ))

    probe.on_fit.append(report_again)


def report(probe: Probe, event: Optional[RankInfo]) -> None:
    """Once, and again when it is other than before. What was said to the framework counts more than variables."""
    before = probe.extras.get(_REPORTED)
    if event is None or event == before or (before is not None and "." in before.source and "." not in event.source):
        return
    probe.extras[_REPORTED] = event
    probe.emit(event.to_event(probe.pid))


def is_beside_others(probe: Probe) -> bool:
    """Whether this is one of several workers that one program has started, and not the first of them, which tells the run.

    A worker with a watcher of its own has a run of its own.
    """
    reported = probe.extras.get(_REPORTED) or read_rank(os.environ)
    if reported is None or not reported.worker:
        return False
    own = probe.run.journal_path("probe", probe.pid).name
    return any(path.name != own for path in probe.run.path.glob("events-probe-*.jsonl"))


def install_jax(module: ModuleType, probe: Probe) -> None:
    """jax._src.distributed"""
    wrap(module.State, "initialize", _joining_jax(probe))


def install_torch(module: ModuleType, probe: Probe) -> None:
    """torch.distributed.distributed_c10d"""
    wrap(module, "init_process_group", _joining_torch(probe))


def install_tensorflow(module: ModuleType, probe: Probe) -> None:
    """tensorflow.python.distribute.cluster_resolver.tfconfig_cluster_resolver"""
    wrap(module.TFConfigClusterResolver, "__init__", _reading_tf_config(probe))


_JAX_NAMES = ("coordinator_address", "num_processes", "process_id")
_TORCH_NAMES = ("backend", "init_method", "timeout", "world_size", "rank")


def _given(names: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    return {**{names[at]: value for at, value in enumerate(args[: len(names)])}, **kwargs}


def _joining_jax(probe: Probe) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def initialize(self: Any, *args: Any, **kwargs: Any) -> Any:
            if probe.active:
                given = _given(_JAX_NAMES, args, kwargs)
                probe.shield.call("rank", _report_jax, probe, *(given.get(name) for name in _JAX_NAMES))
            result = original(self, *args, **kwargs)
            if probe.active:  # by now it knows what it has found out by itself
                probe.shield.call("rank", _report_jax, probe, *(getattr(self, name, None) for name in _JAX_NAMES))
            return result

        return initialize

    return make


def _report_jax(probe: Probe, coordinator: Any, of: Any, worker: Any) -> None:
    coordinator = coordinator or os.environ.get("JAX_COORDINATOR_ADDRESS")
    if isinstance(coordinator, str) and isinstance(of, int) and isinstance(worker, int) and of > 1:
        report(probe, RankInfo("jax.distributed", worker, of, coordinator))


def _joining_torch(probe: Probe) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def init_process_group(*args: Any, **kwargs: Any) -> Any:
            if probe.active:
                probe.shield.call("rank", _report_torch, probe, _given(_TORCH_NAMES, args, kwargs))
            return original(*args, **kwargs)

        return init_process_group

    return make


def _report_torch(probe: Probe, given: dict[str, Any]) -> None:
    known = read_rank(os.environ)
    worker, of = given.get("rank", -1), given.get("world_size", -1)
    worker = worker if isinstance(worker, int) and worker >= 0 else known.worker if known else None
    of = of if isinstance(of, int) and of > 0 else known.of if known else None
    if worker is not None and of is not None and of > 1:
        report(probe, RankInfo("torch.distributed", worker, of, _torch_address(given.get("init_method"), known)))


def _torch_address(method: Any, known: Optional[RankInfo]) -> str:
    if isinstance(method, str) and method.startswith("tcp://"):
        return urlsplit(method).netloc
    if known is not None and known.coordinator:
        return known.coordinator
    host, port = os.environ.get("MASTER_ADDR", ""), os.environ.get("MASTER_PORT", "")
    return f"{host}:{port}" if host and port else ""


def _reading_tf_config(probe: Probe) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            if probe.active:
                probe.shield.call("rank", report, probe, read_rank(os.environ))
            original(self, *args, **kwargs)

        return __init__

    return make
