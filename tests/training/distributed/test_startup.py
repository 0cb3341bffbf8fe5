"""A worker that joins the others does not wait for one that is gone; one that trains only tells of it. No framework is needed."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from unstall.base.exit_codes import OTHERS_LOST

HEARS = textwrap.dedent("""
    import sys
    from unstall.training.distributed.heartbeat import LostWorkers
    from unstall.training.distributed.engines import ProcessEnv
    from unstall.training.distributed.rendezvous import RendezvousResult
    from unstall.training.distributed.startup import SilenceReporter

    met = RendezvousResult(hosts=("a", "b", "c"), address="", seconds=0.0, at=0.0, agreed={})
    watched = SilenceReporter(ProcessEnv(1, 3, "a:8476"), met)
    watched.is_joining = sys.argv[1] == "joins"
    watched(LostWorkers(silent=(0,), seconds=9.0))
    watched(LostWorkers(gone=(2,)))
""")


@pytest.mark.parametrize(("doing", "code"), [("joins", OTHERS_LOST), ("trains", 0)])
def test_one_that_is_gone_ends_those_that_would_wait_for_it_to_join(doing: str, code: int) -> None:
    ended = subprocess.run([sys.executable, "-c", HEARS, doing], check=False, capture_output=True, text=True, timeout=240)
    assert ended.returncode == code, ended.stderr
    assert ("[worker 1] worker 2 ended before all had joined" in ended.stderr) == (doing == "joins")
