# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 25
# near = "lock_deadlock"
# needs = []
# ///
"""A small server that waits in accept() for somebody to come: idle, and not a training that is stuck."""

import socket
import threading
import time


def handle(connection):
    with connection:
        request = connection.recv(1024)
        connection.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nok\n" if request else b"")


def ask_once_later(address, seconds):
    time.sleep(seconds)
    with socket.create_connection(address) as client:
        client.sendall(b"GET /stop HTTP/1.0\r\n\r\n")
        client.recv(1024)


def main():
    server = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=ask_once_later, args=(server.getsockname(), 20), daemon=True).start()
    print("listening on port", server.getsockname()[1], flush=True)
    connection, _ = server.accept()
    handle(connection)
    print("asked to stop", flush=True)


main()
