"""What stacks and threads say of work that several processes do together: joining, and collective operations."""

from __future__ import annotations

import json
import re

from unstall.diagnosis.frame_roles import Role, has_role
from unstall.diagnosis.stalls import Stall, StuckThread
from unstall.journal.events import ClusterSeen, Frame, MembershipSeen, ThreadStack
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import is_native, is_user_file

# (part of the file, function, who waits there). A process that stands in one of these waits for others to come.
_JOINING = (
    ("tensorflow/python/eager/context.py", "ensure_initialized", "TensorFlow's cluster"),
    ("tensorflow/python/eager/context.py", "enable_collective_ops", "TensorFlow's cluster"),
    ("tensorflow/python/training/server_lib.py", "__init__", "TensorFlow's server"),
    ("tensorflow/python/eager/remote.py", "connect_to_cluster", "TensorFlow's cluster"),
    ("jax/_src/distributed.py", "initialize", "jax.distributed"),
    ("torch/distributed/rendezvous.py", "", "torch.distributed"),
    ("torch/distributed/distributed_c10d.py", "init_process_group", "torch.distributed"),
    ("torch/distributed/distributed_c10d.py", "new_group", "torch.distributed"),
    ("torch/distributed/distributed_c10d.py", "_store_based_barrier", "torch.distributed"),
    ("torch/distributed/elastic/rendezvous/", "", "torch.distributed"),
    ("horovod/common/basics.py", "init", "Horovod"),
)
_NATIVE_JOINING = ("WaitForAllTasks", "CoordinationServiceAgent::Connect", "TCPStore::waitForWorkers")

_COLLECTIVE_FILES = (
    ("torch/distributed/distributed_c10d.py", "torch.distributed"),
    ("torch/distributed/nn/functional.py", "torch.distributed"),
    ("torch/distributed/_functional_collectives.py", "torch.distributed"),
    ("horovod/", "Horovod"),
    ("jax/experimental/multihost_utils.py", "JAX"),
    ("mpi4py/", "MPI"),
)
_NATIVE_COLLECTIVES = (
    ("c10d::Work::wait", "torch.distributed"),
    ("c10d::Reducer", "torch.distributed"),
    ("c10d::ProcessGroup", "torch.distributed"),
    ("gloo::", "gloo"),
    ("AllReduceThunk", "JAX"),
    ("CollectiveThunk", "JAX"),
    ("GlooCommunicator", "JAX"),
    ("nccl", "NCCL"),
    ("MPI_", "MPI"),
    ("CollectiveExecutor", "TensorFlow"),
    ("WaitAtBarrier", "JAX"),
)
_TF_COLLECTIVE_THREADS = "collective_ops"
_RPC_THREADS = "grpc"


def describe_join(thread: ThreadStack) -> str | None:
    """What this thread joins and waits for, or None."""
    frames = [frame for frame in thread["frames"] if not is_native(frame)]
    for file, function, name in _JOINING:
        if any(_is(frame, file, function) for frame in frames) and _is_distributed(frames, name):
            return name
    if any(part in frame["function"] for frame in thread["frames"] if is_native(frame) for part in _NATIVE_JOINING):
        return "the cluster"
    return None


def _is_distributed(frames: list[Frame], name: str) -> bool:
    """ensure_initialized runs in every TensorFlow program: it waits for others only if a strategy or a server called it."""
    if name != "TensorFlow's cluster":
        return True
    return any(part in frame["file"] for frame in frames for part in ("tensorflow/python/distribute/", "eager/remote.py"))


def _runs_tensorflow(frames: list[Frame]) -> bool:
    return any(has_role(frame, Role.EXECUTES) for frame in frames[:2])


def _is(frame: Frame, file: str, function: str) -> bool:
    return file in frame["file"] and (not function or frame["function"].rsplit(".", 1)[-1] == function)


def find_waiting_collective(stall: Stall, still: StuckThread) -> str | None:
    """Whose collective operation this thread waits in, or None."""
    if describe_join(still.thread):
        return None
    called = find_called_collective(still.thread)
    if called is not None:
        return called
    frames = [frame for frame in still.thread["frames"] if not is_native(frame)]
    graph = any(has_role(frame, Role.CALLS_FROM_GRAPH) for frame in frames)
    if not list_peers(stall, still.pid) or still.thread["name"] != "MainThread":
        return None
    if _runs_tensorflow(frames) and not graph and has_thread(stall, still.pid, _TF_COLLECTIVE_THREADS):
        return "TensorFlow"
    if _runs_jax(still.thread) and has_thread(stall, still.pid, _RPC_THREADS):
        return "JAX"
    return None


def find_called_collective(thread: ThreadStack) -> str | None:
    """Whose collective operation the stack itself shows, or None."""
    for frame in thread["frames"]:
        known = _NATIVE_COLLECTIVES if is_native(frame) else _COLLECTIVE_FILES
        text = frame["function"] if is_native(frame) else frame["file"]
        for part, name in known:
            if part in text:
                return name
    return None


def find_collective(thread: ThreadStack) -> str | None:
    """The collective function that the program's own code has called, where the stack shows it: all_reduce, barrier."""
    called: str | None = None
    for frame in thread["frames"]:
        if is_native(frame):
            continue
        if is_user_file(frame["file"]):
            return called
        if any(part in frame["file"] for part, _ in _COLLECTIVE_FILES):
            called = frame["function"].rsplit(".", 1)[-1]
    return called


def _runs_jax(thread: ThreadStack) -> bool:
    """It waits for a computation of JAX: in JAX's own code, or in its library called straight from the user's."""
    for frame in thread["frames"]:
        if "/jax/" in frame["file"] or "libjax" in frame["module"] or "xla" in frame["module"]:
            return True
        if not is_native(frame) and is_user_file(frame["file"]):
            return False
    return False


def has_thread(stall: Stall, pid: int, name: str) -> bool:
    """By the name it has for the kernel: TensorFlow's threads for collective operations, those of gRPC."""
    names = (str(thread.get("name", "")) for seen in stall.threads if seen.pid == pid for thread in seen.threads)
    return any(each.startswith(name) for each in names)


def list_peers(stall: Stall, pid: int) -> list[str]:
    """Addresses of other processes that this one is connected to."""
    cluster = find_cluster(stall, pid)
    return [str(connection.get("to")) for connection in cluster.connections] if cluster else []


def find_cluster(stall: Stall, pid: int) -> ClusterSeen | None:
    return next((cluster for cluster in reversed(stall.clusters) if cluster.pid == pid), None)


def count_declared_workers(cluster: ClusterSeen | None) -> int | None:
    """How many processes the environment says there should be."""
    if cluster is None:
        return None
    for name in ("WORLD_SIZE", "JAX_NUM_PROCESSES", "OMPI_COMM_WORLD_SIZE"):
        if cluster.variables.get(name, "").isdigit():
            return int(cluster.variables[name])
    workers = list_tf_workers(cluster)
    return len(workers) if workers else None


TOGETHER = "read the runs of all workers together, which shows who is waited for: unstall diagnose FOLDER/"


def describe_peer(journal: Journal) -> str:
    """' This is worker 0 of 2.', where that is known."""
    event = journal.last(MembershipSeen)
    if event is None or event.of is None:
        return ""
    return (
        f" This is worker {event.worker} of {event.of}."
        if event.worker is not None
        else f" The run is meant for {event.of} processes."
    )


def is_number(address: str) -> bool:
    """Whether an address is given by its numbers: 10.0.0.1:2222, [::1]:2222."""
    return re.fullmatch(r"(\d+\.){3}\d+:\d+|\[[\da-fA-F:]+\]:\d+", address) is not None


def list_tf_workers(cluster: ClusterSeen) -> list[str]:
    """The addresses that TF_CONFIG lists."""
    try:
        plain = json.loads(cluster.variables.get("TF_CONFIG", "")).get("cluster", {})
        return [str(address) for addresses in plain.values() for address in addresses]
    except (ValueError, AttributeError, TypeError):
        return []


def list_tf_others(cluster: ClusterSeen) -> list[str]:
    """The same without the process's own; none where TF_CONFIG does not say which that is."""
    try:
        plain = json.loads(cluster.variables.get("TF_CONFIG", ""))
        own = str(plain["cluster"][plain["task"]["type"]][int(plain["task"]["index"])])
    except (ValueError, AttributeError, TypeError, LookupError):
        return []
    return [address for address in list_tf_workers(cluster) if address != own]
