"""The board in a real browser: the list, a run that is followed, a stall that appears, zoom that stays, the dark, hostile names.

Needs the package playwright and a Chromium of the system (Debian: apt install chromium).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.board.run_folders import Written, finished, stuck, training
from tests.board.test_launcher import a_board
from tests.board.test_server import HOSTILE, TOKEN
from tests.programs import UNSTALL, write
from tests.report.html.test_run_page_in_browser import CHROMIUM, browser, drag, moments
from unstall.board.access import AccessControl
from unstall.board.server import BoardState, Server
from unstall.journal.events import ProcessEnded, StallEnded

__all__ = ["browser"]  # the fixture
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: apt install chromium"),
]
EXPECTED = ("Failed to load resource", "net::ERR")  # a browser says so of every answer that is none, whatever the page does
A_TRAINING = """
import time, unstall
with unstall.watch(quiet=True) as run:
    for batch in run.steps(range(40)):
        time.sleep(0.05)
        run.log(loss=1.0 / (batch + 1))
"""

Open = Callable[..., Any]


class Board:
    """A server over a folder, which can go away and come back at the same port."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, 0
        self._server: Server | None = None

    def start(self, token: str | None = None) -> None:
        self._server = Server(("127.0.0.1", self.port), BoardState(self.folder, AccessControl(token, "board"), "this-board"))
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


@pytest.fixture
def board(own_home: Path) -> Iterator[Board]:
    own_home.mkdir()
    started = Board(own_home)
    started.start()
    yield started
    started.stop()


@pytest.fixture
def opened(browser: Any, board: Board) -> Iterator[Open]:
    """Opens a page of the board. What the page complains of, and a request to anywhere else, fails the test."""
    complaints: list[str] = []
    contexts: list[Any] = []

    def open_page(path: str = "", **how: Any) -> Any:
        contexts.append(browser.new_context(**{"viewport": {"width": 1200, "height": 800}, **how}))
        page = contexts[-1].new_page()
        own = f"http://127.0.0.1:{board.port}/"
        page.on("console", lambda said: None if any(words in said.text for words in EXPECTED) else complaints.append(said.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda asked: None if asked.url.startswith((own, "data:")) else complaints.append(asked.url))
        page.set_default_timeout(60_000)
        page.goto(own + path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def names(page: Any) -> list[str]:
    shown: list[str] = page.locator("tbody tr:visible .name a").all_text_contents()
    return shown


def ground(page: Any) -> list[int]:
    """The colour behind everything."""
    colour: list[int] = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    return colour


# --- the list ---


def test_a_run_that_becomes_stuck_comes_to_the_top_and_cannot_be_overlooked(board: Board, opened: Open) -> None:
    finished(board.folder, "done")
    first, second = training(board.folder, "first", ago=13), training(board.folder, "second", seconds=40)
    page = opened()
    assert names(page) == ["second", "first", "done"] and page.title() == "2 live – Unstall"
    assert sum(ground(page)) > 380
    second.steps(371, 380, 41)
    page.get_by_text("step 381 of 1,000").wait_for()
    first.stalls(60, 69).verdict(70)
    page.locator("[role=alert]").get_by_text("1 run is stuck").wait_for()
    assert names(page)[0] == "first" and page.title() == "✖ 1 stuck – Unstall"
    row = page.locator("#run-first")
    assert "stuck" in row.inner_text() and "generator_blocked" in row.inner_text() and "train.py:7" in row.inner_text()
    assert "%23c4261b" in page.locator("link[rel=icon]").get_attribute("href")
    first.write(StallEnded(at=time.time())).run.write_story({"state": "training", "verdicts": []})
    page.locator("#run-first").get_by_text("training").wait_for()
    assert page.locator("[role=alert]").inner_text() == "" and page.title() == "2 live – Unstall"


def test_words_and_states_choose_runs_also_among_those_that_come_later(board: Board, opened: Open) -> None:
    finished(board.folder, "one"), finished(board.folder, "two", "failed")
    page = opened()
    page.get_by_text("failed 1").click()
    assert names(page) == ["two"]
    finished(board.folder, "three", "failed")
    page.get_by_text("failed 2").wait_for()
    assert sorted(names(page)) == ["three", "two"]
    page.get_by_role("searchbox").fill("thr")
    assert names(page) == ["three"] and page.get_by_text("1 of 3 runs are shown").is_visible()
    shutil.rmtree(board.folder / "three")
    page.locator("#run-three").wait_for(state="detached")


def test_in_the_dark_on_a_narrow_screen_opened_with_a_token_that_is_not_left_in_the_address(board: Board, opened: Open) -> None:
    (
        stuck(board.folder, "a-run-with-a-rather-long-name-2026-11-15-130146-within"),
        training(board.folder),
        finished(board.folder, "done"),
    )
    board.stop()
    board.start(TOKEN)
    page = opened(f"?token={TOKEN}", color_scheme="dark", viewport={"width": 400, "height": 800})
    assert TOKEN not in page.url
    assert sum(ground(page)) < 380
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.locator("#run-done .name a").click()
    page.locator("#plots").wait_for()
    assert sum(ground(page)) < 380
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_hostile_names_are_text_in_the_list_and_on_the_page(board: Board, opened: Open) -> None:
    written = training(board.folder, HOSTILE, ago=5).starts(f"python {HOSTILE}/train.py")
    page = opened()
    written.steps(571, 580, 61)
    page.get_by_text("step 581").wait_for()
    assert page.locator("img").count() == 0 and HOSTILE in page.inner_text("tbody")
    page.locator(".name a").click()
    page.locator("h1").get_by_text(HOSTILE).wait_for()
    written.steps(581, 590, 62)
    page.get_by_text("step 591").first.wait_for()
    assert page.locator("img").count() == 0


# --- the page of a run ---


def test_a_real_training_is_followed_to_its_end(board: Board, opened: Open, tmp_path: Path) -> None:
    program = write(tmp_path, A_TRAINING, "train.py")
    with subprocess.Popen([*UNSTALL, "run", "--quiet", "--", sys.executable, str(program)]) as run:
        page = opened()
        page.locator(".name a").wait_for()
        page.locator(".name a").click()
        page.locator("header .state").get_by_text("training").wait_for()
        assert page.locator("#live").inner_text() == "● live"
        page.locator("#plot-loss svg").wait_for()
        page.locator("header .state").get_by_text("done").wait_for()
        assert run.wait(240) == 0
    page.get_by_text("40 steps").first.wait_for()
    page.locator("#live").get_by_text("this run is over").wait_for()


def test_a_stall_appears_on_the_page_and_goes_again_while_zoom_scroll_and_what_is_open_stay(board: Board, opened: Open) -> None:
    written = training(board.folder, "trains", ago=13)
    page = opened("run/trains")
    page.locator("#plot-loss").scroll_into_view_if_needed()
    page.locator("#plot-loss summary").click()
    drag(page, "loss", 0.3, 0.5)
    whole, zoomed, place = "1:00 in all", moments(page, "loss"), page.locator("#plot-loss").bounding_box()["y"]
    written.stalls(60, 69).verdict(70)
    page.locator("#alarm").get_by_text("This run is stuck").wait_for()
    page.wait_for_function("document.title.startsWith('stuck')")
    assert page.locator("header .state-stuck").count() == 1 and page.locator("#stalls").count() == 1
    assert moments(page, "loss") == moments(page, "time") == zoomed
    assert page.locator("#plot-loss details").get_attribute("open") is not None
    assert page.evaluate("scrollY") > 0 and page.locator("#plot-loss").bounding_box()["y"] == pytest.approx(place, abs=3)
    page.locator("#whole").click()
    page.locator("#plot-loss .stall-span").wait_for(state="attached")
    assert whole not in page.locator("#range").inner_text()
    written.write(StallEnded(at=time.time()), ProcessEnded(at=time.time(), exit_code=0)).run.write_story(
        {"state": "done", "verdicts": []}
    )
    page.locator("header .state").get_by_text("done").wait_for()
    assert page.locator("#alarm").inner_text() == "" and page.locator("#live").inner_text() == "this run is over"


def test_a_page_survives_its_server_and_its_run(board: Board, opened: Open) -> None:
    written = Written(board.folder, "trains", time.time()).starts().fits()
    with a_board("--port", "0") as first:
        board.port = int(first["address"].strip("/").rpartition(":")[2])
        page = opened("run/trains")
        assert page.locator("#plots").count() == 0
        first["popen"].kill()
        page.get_by_text("The board does not answer").wait_for()
    written.steps(0, 0, 2).steps(1, 40, 5)
    with a_board("--port", str(board.port)):
        page.locator("#plot-step_time svg").wait_for()
        assert not page.locator("#lost").is_visible()
        shutil.rmtree(written.run.path)
        page.get_by_text("This run is gone").wait_for()
        assert page.locator("#plot-step_time svg").is_visible()
