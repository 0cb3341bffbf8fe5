# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 30
# near = "lock_deadlock"
# needs = []
# ///
"""A prompt that waits for its user, as a notebook or a debugger does. Nobody types for a while."""

import os
import sys
import threading
import time


def type_later(writer, seconds):
    """The user comes back after a while and ends the session."""
    time.sleep(seconds)
    os.write(writer, b"quit()\n")


def main():
    reader, writer = os.pipe()
    os.dup2(reader, 0)
    sys.stdin = os.fdopen(0)
    threading.Thread(target=type_later, args=(writer, 20), daemon=True).start()
    while True:
        line = input(">>> ")
        if line == "quit()":
            break
        print(line)


main()
