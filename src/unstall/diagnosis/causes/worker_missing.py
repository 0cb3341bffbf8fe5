"""The training waits for another process of its cluster, which has not come or has left.

What it is
----------
A run on several processes begins when all of them have met. If one was never started, crashed while starting, or cannot be
reached under the address it was given, the others wait for it: in MultiWorkerMirroredStrategy, jax.distributed.initialize or
torch.distributed.init_process_group. The same is told when a process has left and the others end with an error about it.

How we know
-----------
The main thread stands in the call that joins the cluster, in every stack sample, and the program uses next to no CPU. Or
the program ended with the framework's own error about processes that did not come or went away.

When this is wrong
------------------
When the other machines are merely slow to start: pulling an image, loading a large library. So nothing is said for the first
seconds.

What to do
----------
See whether all processes were started and what the missing one printed. Check that every process is given the same addresses
and its own number (TF_CONFIG, MASTER_ADDR, RANK, coordinator_address), that no address is localhost on several machines, and
that the ports are open between the machines.
"""

from __future__ import annotations

import re

from unstall.diagnosis import clusters
from unstall.diagnosis.stacks import is_user_file, program_folder, user_frames, where
from unstall.diagnosis.stalls import Stall, Still, sampled_stall
from unstall.diagnosis.verdict import Certainty, Clear, Evidence, Found, Verdict
from unstall.journal.events import ErrorRaised, RunStarted
from unstall.journal.reader import Journal

EXPLAINS = ("collective_stuck", "callback_blocked")
WAIT_S = 20.0  # machines of a cluster do not start at the same moment
SURE_AFTER_S = 60.0  # by then it is more than a slow start

_DO = (
    "see whether every process of the run was started, and what the missing one printed",
    "check that all were given the same addresses, and each its own number",
)
# What the frameworks say of processes that did not come, or went away.
_ERRORS = re.compile(
    r"Timed out after \d+ seconds waiting for clients"
    r"|Timed out initializing process group in store based barrier"
    r"|Barrier timed out.*(PjRT_Client_Connect|CoordinationService|Agent_Register|WaitForAllTasks)"
    r"|(Agent_Register|WaitForAllTasks|RegisterTask).*(DEADLINE_EXCEEDED|timed out|Deadline Exceeded)"
    r"|DEADLINE_EXCEEDED.*(RegisterTask|register|barrier)"
    r"|gloo/transport/tcp/.*(Connection closed by peer|Connection reset by peer|Broken pipe|Connection refused)"
    r"|Collective ops is aborted by"
    r"|The following tasks are unhealthy",
    re.DOTALL,
)


def examine(journal: Journal) -> Verdict:
    error = next((event for event in reversed(journal.of(ErrorRaised)) if event.fatal and _ERRORS.search(event.message)), None)
    if error is not None:
        return _from_error(journal, error)
    stall = sampled_stall(journal)
    if not isinstance(stall, Stall):
        return stall
    waiting = [(still, name) for still in stall.still() if (name := clusters.joining(still.thread)) and user_frames(still.thread)]
    if not waiting:
        return Clear("no thread waits for other processes to come")
    started = journal.last(RunStarted)
    if stall.seconds < WAIT_S and not (started and started.mode == "attach"):
        return Clear(f"it has waited for other processes for {stall.seconds:.0f} s only")
    return _from_stall(journal, stall, *waiting[0])


def _from_stall(journal: Journal, stall: Stall, still: Still, name: str) -> Found:
    folder = program_folder(journal)
    users = user_frames(still.thread)
    place = where(users[0], folder)
    cluster = clusters.of(stall, still.pid)
    count = len(still.samples)
    evidence = [
        Evidence(
            f"the main thread stands at {place}, in the call that joins {name} ({count} of {count} samples)",
            place,
            None,
            still.samples,
        ),
        Evidence(f"it has waited for {stall.seconds:.0f} s", stall.seconds, WAIT_S, (stall.began,)),
    ]
    size = clusters.size(cluster)
    of_how_many = f" The run is meant for {size} processes." if size else ""
    if cluster is not None and (missing := _not_connected(cluster.connections, clusters.tf_workers(cluster))):
        evidence.append(
            Evidence(f"there is no connection to {', '.join(missing)}, which TF_CONFIG lists", len(missing), 0, (cluster,))
        )
    return Found(
        Certainty.CERTAIN if stall.seconds >= SURE_AFTER_S else Certainty.LIKELY,
        f"The program waits at {place} for the other processes of {name}.{of_how_many} One of them has not come.",
        tuple(evidence),
        _DO,
        place,
    )


def _not_connected(connections: list[dict[str, object]], workers: list[str]) -> list[str]:
    connected = {str(connection.get("to")) for connection in connections}
    return [worker for worker in workers if worker not in connected] if len(workers) > 1 else []


def _from_error(journal: Journal, error: ErrorRaised) -> Found:
    folder = program_folder(journal)
    users = [frame for frame in error.frames if is_user_file(frame["file"])]
    place = where(users[0], folder) if users else None
    line = next((text for text in error.message.splitlines() if _ERRORS.search(text)), error.message.splitlines()[0])
    return Found(
        Certainty.CERTAIN,
        f"A process of the cluster did not come, or has left: {line[:200]}",
        (Evidence(f"the program ended with {error.kind}", line[:200], None, (error,)),),
        _DO,
        place,
    )
