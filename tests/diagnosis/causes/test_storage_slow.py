"""storage_slow: the input waits for a disk or the network, and nothing computes."""

from tests.diagnosis.builders import host, journal, main, py, started
from tests.diagnosis.pipeline_events import DECODING, READING, generator_source, in_generator, training
from unstall.diagnosis.causes import storage_slow
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown

SOCKET = py("/usr/lib/python3.11/socket.py", "readinto", 706)


def test_found_when_the_records_come_slowly_from_the_disk() -> None:
    verdict = storage_slow.examine(training(*READING, cores=0.1, waits_for_disk=True, disk_bytes_s=2.9e6))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert verdict.where == "train.py:20"
    assert "2.9 MB a second come from the disk, and threads wait for it." in verdict.summary


def test_found_in_a_python_loader_on_a_slow_disk() -> None:
    loading = in_generator(py("data.py", "load_scan", 30))
    verdict = storage_slow.examine(training(stack=loading, cores=0.1, thread_cores=0.05, waits_for_disk=True, disk_bytes_s=2e6))
    assert isinstance(verdict, Found)
    assert verdict.where == "data.py:30"
    assert "Your input code stands in load_scan at data.py:30." in verdict.summary  # no frame says what it waits for


def test_found_when_it_comes_over_the_network() -> None:
    fetching = in_generator(SOCKET, py("data.py", "fetch", 57))
    verdict = storage_slow.examine(training(stack=fetching, cores=0.1, thread_cores=0.05))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY
    assert verdict.where == "data.py:57"
    assert "Your input code waits for the network in fetch at data.py:57. The CPU has little to do." in verdict.summary
    busy = storage_slow.examine(training(stack=fetching, cores=1.5, thread_cores=0.05))
    assert isinstance(busy, Found)
    assert "The CPU has little to do" not in busy.summary


def test_found_in_a_loop_of_ones_own_that_fetches_over_the_network() -> None:
    loop = main(SOCKET, py("data.py", "batches", 40), py("train.py", "main", 70))
    slow = training(generator_source(), wait_s=None, stack=loop, api="own_loop", cores=0.1, thread_cores=0.05)
    verdict = storage_slow.examine(slow)
    assert isinstance(verdict, Found)
    assert verdict.where == "data.py:40"


def test_clear_when_the_program_computes() -> None:
    assert isinstance(storage_slow.examine(training(*DECODING, cores=1.8, waits_for_disk=True, disk_bytes_s=3e6)), Clear)


def test_clear_when_no_thread_waits_for_a_disk() -> None:
    assert isinstance(storage_slow.examine(training(*READING, cores=0.5)), Clear)


def test_found_where_the_kernel_does_not_show_the_wait_but_only_reading_can_wait() -> None:
    verdict = storage_slow.examine(training(*READING, cores=0.1))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY
    assert verdict.where == "train.py:20"


def test_clear_on_a_crowded_machine_where_it_would_compute() -> None:
    crowded = training(*READING, cores=0.1)
    crowded.extend(host(at + 0.5, 0.1, queued_cores=3.0) for at in range(1, 30))
    assert isinstance(storage_slow.examine(crowded), Clear)


def test_clear_when_the_python_code_only_sleeps() -> None:
    sleeping = in_generator(py("data.py", "Sensor.read", 34))
    assert isinstance(storage_slow.examine(training(stack=sleeping, cores=0.1, thread_cores=0.05)), Clear)


def test_clear_when_the_steps_do_not_wait() -> None:
    steady = training(*READING, wait_s=0.08, cores=0.5, waits_for_disk=True, disk_bytes_s=4e6)
    assert isinstance(storage_slow.examine(steady), Clear)


def test_unknown_without_a_training() -> None:
    assert isinstance(storage_slow.examine(journal(started())), Unknown)
