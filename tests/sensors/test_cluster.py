"""cluster: the place of a process among others, from its environment and its connections."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time

from unstall.sensors import cluster

PROGRAM = "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); print('on', flush=True); s.recv(1)"


def test_tells_public_variables_and_the_process_at_the_other_end() -> None:
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]
    environment = os.environ | {"WORLD_SIZE": "2", "RANK": "0", "SECRET_TOKEN": "hidden"}
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(port)], env=environment, stdout=subprocess.PIPE)
    try:
        ours, _ = server.accept()
        assert process.stdout is not None
        process.stdout.readline()
        seen = cluster.sample(process.pid)
        assert seen is not None
        assert seen.variables == {"WORLD_SIZE": "2", "RANK": "0"}
        assert {"to": f"127.0.0.1:{port}", "pid": os.getpid()} in seen.connections
        ours.close()
    finally:
        process.kill()
        process.wait()
        server.close()
    assert cluster.sample(process.pid) is None


# The machine of a run, and what its program was told of others.


def test_two_looks_at_one_machine_tell_the_same() -> None:
    first, second = cluster.look(), cluster.look()
    assert first.hostname == socket.gethostname()
    assert first.boot_id and first.boot_id == second.boot_id
    assert abs(first.clock_s - second.clock_s) < 5.0
    assert abs(first.clock_s + time.clock_gettime(time.CLOCK_BOOTTIME) - time.time()) < 5.0


def test_addresses_are_those_that_others_reach() -> None:
    assert not [address for address in cluster.list_addresses() if address.startswith(("127.", "::1", "fe80"))]


def test_membership_is_told_only_of_several() -> None:
    event = cluster.create_rank_event(7, {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "h", "MASTER_PORT": "1"})
    assert event is not None and (event.pid, event.worker, event.of, event.coordinator) == (7, 1, 2, "h:1")
    assert cluster.create_rank_event(7, {"RANK": "0", "WORLD_SIZE": "1"}) is None
