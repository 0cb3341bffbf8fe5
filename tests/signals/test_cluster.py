"""cluster: the place of a process among others, from its environment and its connections."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

from unstall.signals import cluster

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
