"""SIGTERM and Ctrl-C end a worker in order, wherever it is. Each in a process of its own, without a framework."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap

import pytest

from unstall.base.exit_codes import INTERRUPTED

BEGIN = """
    import ctypes, sys, threading, time
    from unstall.training.loop import interruption as interruption_module
    from unstall.training.loop.interruption import Interrupted, Interruption

    def native():
        "A lock that is never given: Python gets no turn, as in a compilation, and no signal ends it."
        threading.Timer(0.5, print, ["native"], {"flush": True}).start()
        lock = ctypes.create_string_buffer(256)
        for _ in range(2):
            ctypes.CDLL(None).pthread_mutex_lock(lock)

    interruption = Interruption()
    interruption.start_listening()
"""


def program(text: str) -> subprocess.Popen[str]:
    source = textwrap.dedent(BEGIN) + textwrap.dedent(text)
    started = subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True)
    wait_for(started, "ready")
    return started


def wait_for(started: subprocess.Popen[str], word: str) -> None:
    assert started.stdout is not None
    assert started.stdout.readline() == f"{word}\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_within_a_step_it_is_only_told_so_that_the_step_can_be_finished(number: signal.Signals) -> None:
    started = program("""
        print("ready", flush=True)
        while not interruption.is_requested:
            time.sleep(0.01)
        print("finished the step", flush=True)
        sys.exit(75)
    """)
    started.send_signal(number)
    out, _ = started.communicate(timeout=240)
    assert out == "finished the step\n" and started.returncode == INTERRUPTED


def test_a_wait_for_input_is_cut_short_and_what_there_is_can_be_kept() -> None:
    started = program("""
        try:
            with interruption.interruptible():
                print("ready", flush=True)
                time.sleep(60)
        except Interrupted:
            print("kept", flush=True)
            sys.exit(75)
    """)
    started.terminate()
    out, _ = started.communicate(timeout=240)
    assert out == "kept\n" and started.returncode == INTERRUPTED


def test_a_compilation_is_left_where_nothing_is_unsaved() -> None:
    started = program("""
        interruption.before_leaving = lambda seconds: print("waited for the checkpoint", flush=True)
        with interruption.exit_allowed():
            print("ready", flush=True)
            native()
    """)
    wait_for(started, "native")
    started.terminate()
    out, _ = started.communicate(timeout=240)
    assert out == "waited for the checkpoint\n" and started.returncode == INTERRUPTED


def test_a_step_that_does_not_end_is_left_when_the_time_is_up() -> None:
    started = program("""
        interruption_module.PATIENCE_S = 1.0
        print("ready", flush=True)
        native()
    """)
    wait_for(started, "native")
    started.terminate()
    started.communicate(timeout=240)
    assert started.returncode == INTERRUPTED


def test_who_was_asked_before_begins_nothing_more() -> None:
    started = program("""
        print("ready", flush=True)
        while not interruption.is_requested:
            time.sleep(0.01)
        try:
            with interruption.exit_allowed():
                print("began", flush=True)
        except Interrupted:
            print("did not begin", flush=True)
        sys.exit(75)
    """)
    started.terminate()
    out, _ = started.communicate(timeout=240)
    assert out == "did not begin\n"


def test_a_second_ctrl_c_ends_it_at_once() -> None:
    started = program("""
        print("ready", flush=True)
        while not interruption.is_requested:
            time.sleep(0.01)
        native()
    """)
    started.send_signal(signal.SIGINT)
    wait_for(started, "native")
    started.send_signal(signal.SIGINT)
    started.communicate(timeout=240)
    assert started.returncode == 128 + signal.SIGINT


@pytest.mark.jax
@pytest.mark.parametrize("listens_again", [True, False], ids=["again", "before_only"])
def test_it_hears_of_an_end_that_jax_would_keep_for_itself(listens_again: bool) -> None:
    """`jax.distributed.initialize` puts a handler of its own in place of ours; the second case shows that it still does."""
    started = program(f"""
        import socket
        import jax
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        jax.distributed.initialize(f"127.0.0.1:{{port}}", num_processes=1, process_id=0)
        if {listens_again}:
            interruption.reinstall_handlers()
        print("ready", flush=True)
        until = time.monotonic() + {60 if listens_again else 1.5}
        while not interruption.is_requested and time.monotonic() < until:
            time.sleep(0.01)
        print("heard" if interruption.is_requested else "deaf", flush=True)
        import os
        os._exit(0)
    """)
    started.send_signal(signal.SIGTERM)
    wait_for(started, "heard" if listens_again else "deaf")
    assert started.wait(240) == 0
