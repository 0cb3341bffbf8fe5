"""The page of a run in a real browser: what is drawn, what hovering, dragging, keys and clicks do, in the light and in the dark.

Needs the package playwright and a Chromium of the system (Debian: apt install chromium); it downloads no browser of its own.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.diagnosis.builders import T0, host, lib, main, py, steps, stuck, thread, three
from tests.report.html.test_run_page import HOSTILE, hostile_events, whole
from unstall.journal.events import Event, VerdictReached
from unstall.report.html.page import write_run

sync_api = pytest.importorskip("playwright.sync_api", reason="needs the package playwright: pip install playwright")
CHROMIUM = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: apt install chromium"),
]
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"]

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield started
        started.close()


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Opens the page of a run. A message on the console, an error, a dialog or a request of the page fails the test."""
    complaints: list[str] = []
    contexts: list[Any] = []

    def open_page(*events: Event, run: str = "a-run", **how: Any) -> Any:
        target = tmp_path / "report.html"
        write_run(whole(stuck(*events), run), target)
        contexts.append(browser.new_context(viewport={"width": 1100, "height": 900}, **how))
        page = contexts[-1].new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: complaints.append(request.url) if request.url != target.as_uri() else None)
        page.set_default_timeout(60_000)
        page.goto(target.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def training() -> list[Event]:
    called = lib("tensorflow/python/data/ops/from_generator_op.py", "generator_py_func", 198)
    blocked = thread(lib("requests/api.py", "get"), py("loader.py", "load", 57), called, id=8)
    waiting = main(lib("keras/src/backend/tensorflow/trainer.py", "fit"), py("train.py", "<module>", 40))
    moved = [steps(10 * number, 10 * number + 9, at=2.0 * number, wait_s=0.05, loss=5 / (number + 1)) for number in range(1, 48)]
    verdict = VerdictReached(at=T0 + 111, cause="generator_blocked", summary="It waits.")
    return [*moved, *(host(second, 1.0, rss_bytes=second << 24) for second in range(1, 100)), *three(waiting, blocked), verdict]


def drag(page: Any, plot: str, first: float, last: float) -> None:
    """From one share of a plot's width to another."""
    box = page.locator(f"#plot-{plot} svg").bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * first, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * (first + last) / 2, y)
    page.mouse.move(box["x"] + box["width"] * last, y)
    page.mouse.up()


def moments(page: Any, plot: str) -> list[str]:
    """The moments that stand below a plot."""
    texts: list[str] = page.locator(f"#plot-{plot} svg text[text-anchor=middle]").all_text_contents()
    return texts


def test_every_plot_is_drawn_and_has_its_table(opened: Open) -> None:
    page = opened(*training())
    drawn = page.eval_on_selector_all(".stage", "all => all.map(one => one.querySelectorAll('polygon, polyline').length)")
    assert len(drawn) >= 4 and min(drawn) >= 1
    assert page.locator("figure.plot table").count() == len(drawn)
    assert "not a number" not in page.content().lower() and "NaN" not in page.inner_html("#plots")


def test_hovering_shows_the_values_of_that_moment(opened: Open) -> None:
    page = opened(*training())
    page.locator("#plot-loss .stage").hover()
    tip = page.locator(".tip")
    assert tip.count() == 1
    assert "of the steps: " in tip.inner_text() and "step " in tip.inner_text()
    assert page.locator(".cursor").count() == page.locator(".stage").count()
    page.mouse.move(5, 5)
    assert tip.count() == 0


def test_dragging_zooms_all_plots_together_and_a_double_click_shows_the_whole_run(opened: Open) -> None:
    page = opened(*training())
    whole_run = moments(page, "loss")
    page.locator("#plot-loss").scroll_into_view_if_needed()
    drag(page, "loss", 0.3, 0.5)
    assert moments(page, "loss") == moments(page, "time") == moments(page, "host_memory") != whole_run
    assert page.locator("#whole").is_enabled()
    page.locator("#plot-time svg").dblclick(position={"x": 300, "y": 100})
    assert moments(page, "loss") == whole_run
    drag(page, "time", 0.2, 0.4)
    page.locator("#whole").click()
    assert moments(page, "time") == whole_run
    assert page.locator("#whole").is_disabled()


def test_keys_look_zoom_and_move(opened: Open) -> None:
    page = opened(*training())
    stage = page.locator("#plot-loss .stage")
    stage.focus()
    whole_run = moments(page, "loss")
    page.keyboard.press("ArrowRight")
    said = page.locator("#spoken").text_content()
    assert "of the steps" in said and "step" in said
    page.keyboard.press("+")
    zoomed = moments(page, "loss")
    assert zoomed != whole_run
    page.keyboard.press("Shift+ArrowLeft")
    assert moments(page, "loss") != zoomed
    page.keyboard.press("0")
    assert moments(page, "loss") == whole_run


def test_a_click_on_a_fault_goes_to_its_evidence(opened: Open) -> None:
    page = opened(*training())
    page.locator("#plot-time svg a[href='#verdict-generator_blocked']").click()
    assert page.evaluate("location.hash") == "#verdict-generator_blocked"
    assert page.locator("#verdict-generator_blocked").is_visible()
    assert "loader.py:57" in page.locator("#verdict-generator_blocked").inner_text()


def test_a_click_on_a_moment_zooms_to_it(opened: Open) -> None:
    page = opened(*training())
    whole_run = moments(page, "loss")
    page.locator("#verdict-generator_blocked a.moment").first.click()
    assert moments(page, "loss") != whole_run


@pytest.mark.parametrize(("scheme", "first", "second"), [("light", "light", "dark"), ("dark", "dark", "light")])
def test_it_is_light_or_dark_as_the_system_is_and_can_be_turned(opened: Open, scheme: str, first: str, second: str) -> None:
    page = opened(*training(), color_scheme=scheme)

    def look() -> str:
        red, green, blue = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
        return "light" if red + green + blue > 380 else "dark"

    assert look() == first
    page.locator("#theme").click()
    assert look() == second


def test_hostile_names_are_text_and_nothing_else(opened: Open) -> None:
    page = opened(*hostile_events(), run=HOSTILE.replace("/", ""))
    assert page.locator("img").count() == 0
    assert "<img src=x onerror=alert(2)>" in page.inner_text("body")
    page.locator("#plot-figures .stage").hover()
    assert "<img src=x" in page.locator(".tip").inner_text()


def test_on_paper_the_plots_stay_and_the_buttons_go(opened: Open) -> None:
    page = opened(*training(), color_scheme="dark")
    page.emulate_media(media="print")
    assert page.locator("#plot-time svg").is_visible()
    assert not page.locator("#theme").is_visible() and not page.locator(".bar").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
