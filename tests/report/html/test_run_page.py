"""The page of a run: one file, in the words of the terminal, safe whatever the watched program is called."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.diagnosis.builders import T0, host, lib, main, py, started, steps, stuck, thread, three
from unstall.base.errors import InvalidInputError
from unstall.data.check import defects
from unstall.diagnosis.findings import diagnose
from unstall.journal.events import (
    KINDS,
    CheckpointSaved,
    DeviceSampled,
    EpochEnded,
    ErrorRaised,
    Event,
    FrameworkLoaded,
    InputDescribed,
    ModelDescribed,
    PipelineMeasured,
    ProcessEnded,
    ProgramStarted,
    StepsEnded,
    TrainingBegan,
    VerdictReached,
    WeightsSampled,
)
from unstall.journal.reader import Journal, read_folder
from unstall.journal.run_folder import RunFolder
from unstall.report.html.page import embed_json, render_run, write_run
from unstall.report.story.report import build_full_story
from unstall.report.terminal import story as story_text
from unstall.report.timeline import build_timeline
from unstall.training import summary

JOURNALS = Path(__file__).parents[2] / "journals"
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'`&\u2028\u2029{{7*7}}\ud800"
MAX_BYTES = 3 * 2**20
BLOCKED = main(py("train.py", "<module>", 40), lib("keras/src/trainer.py", "fit", 10))


def whole(journal: Journal, run: str = "a-run") -> dict[str, Any]:
    return build_full_story(RunFolder(Path("/nowhere") / run), journal, diagnose(journal), build_timeline(journal))


def page(*events: Event, run: str = "a-run") -> str:
    return render_run(whole(stuck(*events), run))


class Elements(HTMLParser):
    """All elements with their attributes, and all text outside of scripts and styles."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self._open[-1] if self._open else "", []).append(data)

    def ids(self) -> list[str]:
        return [attributes["id"] or "" for _, attributes in self.found if "id" in attributes]


@pytest.mark.parametrize("name", sorted(path.name for path in JOURNALS.iterdir() if path.is_dir()))
def test_the_page_of_a_real_run_says_what_the_terminal_says(name: str) -> None:
    journal = read_folder(JOURNALS / name)
    story = whole(journal, name)
    shown = " ".join(part for parts in Elements(render_run(story)).texts.values() for part in parts)
    for verdict in story["verdicts"]:
        said = [verdict["cause"], verdict["certainty"], verdict["summary"], *(each["claim"] for each in verdict["evidence"])]
        said += [remedy["action"] for remedy in verdict["remedies"]]
        assert [words for words in said if words.replace("`", "") not in shown.replace("`", "")] == []
    assert story_text.format_headline(story) in shown
    for label, line in story_text.format_summary(story):
        assert label in shown and line in shown


def test_steps_of_a_training_that_went_on_are_counted_from_where_it_did() -> None:
    began = TrainingBegan(at=T0, from_step=1_156)
    story = whole(Journal([started(), began, steps(0, 4043, at=9), ProcessEnded(at=T0 + 10, exit_code=0)]))
    assert story_text.format_headline(story).endswith("4,044 steps since step 1,156")


def test_no_verdict_is_said_in_the_words_of_the_terminal() -> None:
    journal = Journal([started(), steps(1, 9, at=9)])
    page = render_run(whole(journal))
    assert '<p class="outcome-clear">nothing wrong in what could be seen (steps)</p>' in page


# --- it needs nothing, and loads nothing ---


def test_the_page_names_no_other_file_and_no_address() -> None:
    source = page(*three(BLOCKED))
    elements = Elements(source).found
    loading = [
        (tag, a) for tag, a in elements if {"src", "srcset", "data", "action", "background"} & set(a) or tag in {"link", "iframe"}
    ]
    assert loading == []
    assert [a["href"] for _, a in elements if "href" in a and not (a["href"] or "").startswith("#")] == []
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)", source) == []


def test_its_policy_allows_its_own_script_and_style_and_nothing_else() -> None:
    source = page()
    policy = next(a["content"] or "" for tag, a in Elements(source).found if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    for directive, element in (("script-src", "script"), ("style-src", "style")):
        (contents,) = re.findall(rf"<{element}>(.*?)</{element}>", source, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(contents.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy


def test_links_lead_to_places_on_the_page() -> None:
    elements = Elements(page(VerdictReached(at=T0 + 50, cause="generator_blocked"), *three(BLOCKED)))
    wanted = {(a["href"] or "")[1:] for _, a in elements.found if "href" in a}
    assert wanted <= set(elements.ids())
    assert len(elements.ids()) == len(set(elements.ids()))


# --- whatever the program is called ---


def test_a_fault_that_passed_leads_to_the_evidence_it_had() -> None:
    said = VerdictReached(at=T0 + 5, cause="input_starved", certainty="likely", summary="It waits.", evidence=["9 of <10> s"])
    shown = page(started(), steps(1, 50, at=4), said, ProcessEnded(at=T0 + 60, pid=1, exit_code=0))
    assert 'href="#verdict-input_starved"' in shown and "9 of &lt;10&gt; s" in shown
    assert "verdict-input_starved" in Elements(shown).ids()


def hostile_events() -> list[Event]:
    """Each event that carries a text of the program's own."""
    frames = [py(f"{HOSTILE}.py", HOSTILE, 3)]
    layer = {"name": HOSTILE, "class": HOSTILE, "activation": HOSTILE}
    weight = {"name": f"a/{HOSTILE}/kernel", "shape": [2], "rms": 1.0, "step": 0.1, "gradient": 1.0}
    node = {"name": HOSTILE, "elements": 1, "seconds": 1.0, "at_a_time": 1, "buffered": 1}
    return [
        *three(thread(*frames, name=HOSTILE)),
        ProgramStarted(at=T0, python=HOSTILE, argv=[HOSTILE]),
        FrameworkLoaded(at=T0 + 1, name=HOSTILE, version=HOSTILE),
        ModelDescribed(
            at=T0 + 2, facts={"model": HOSTILE, "layers": [layer], "losses": [{"name": HOSTILE}], "optimizer": HOSTILE}
        ),
        InputDescribed(at=T0 + 2, kind=HOSTILE, where=HOSTILE, arguments={HOSTILE: HOSTILE}),
        WeightsSampled(at=T0 + 3, facts={"weights": [weight]}),
        PipelineMeasured(at=T0 + 3, seconds=1, nodes=[node], stages=[{"name": HOSTILE, "where": HOSTILE, "does": []}]),
        EpochEnded(at=T0 + 3, logs={HOSTILE: 1.0}),
        CheckpointSaved(at=T0 + 4, path=HOSTILE, seconds=1),
        DeviceSampled(at=T0 + 4, name=HOSTILE, used_bytes=1, total_bytes=2),
        VerdictReached(at=T0 + 5, cause=HOSTILE, summary=HOSTILE),
        ErrorRaised(at=T0 + 111, kind=HOSTILE, message=HOSTILE, frames=frames, fatal=True, chain=[HOSTILE]),
    ]


def test_texts_of_the_program_become_no_elements_and_end_no_script(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    write_run(whole(stuck(*hostile_events()), run=HOSTILE.replace("/", "")), target)
    source = target.read_text(encoding="utf-8")
    kind = [tag for tag, _ in Elements(source).found]
    assert kind.count("script") == 2  # the data, and the page's own
    assert "img" not in kind
    assert [a for _, a in Elements(source).found if any(key.startswith("on") for key in a)] == []
    assert "{{7*7}}" in source  # as it is: no template is made of it
    data = re.search(r'id="timeline">(.*?)</script>', source, re.DOTALL)
    assert data is not None
    names = {line["name"] for plot in json.loads(data[1])["plots"] if plot["name"] == "figures" for line in plot["lines"]}
    assert names == {HOSTILE}


def test_codes_that_colour_a_terminal_are_left_out() -> None:
    error = ErrorRaised(at=T0 + 111, kind="ValueError", message="\x1b[1mshapes\x1b[0m of `x`", frames=[], fatal=True)
    source = page(error, VerdictReached(at=T0 + 50, cause="\x1b[31mred"))
    assert "\x1b" not in source and "\\u001b" not in source
    assert "ValueError: shapes of `x`" in source


def test_embedded_data_is_the_same_data_and_holds_nothing_that_ends_a_script() -> None:
    data = {"name": HOSTILE, "loss": float("nan")}
    written = embed_json(data)
    assert json.loads(written) == {"name": HOSTILE, "loss": None}
    assert not re.search("[<>&\u2028\u2029]", written)


@pytest.mark.parametrize("name", sorted(KINDS))
def test_an_event_of_any_kind_with_nothing_in_it_can_be_shown(name: str) -> None:
    assert render_run(whole(stuck(KINDS[name](at=T0 + 50), KINDS[name](at=T0 + 60)))).endswith("</html>")


# --- size ---


def test_the_largest_page_is_small_enough() -> None:
    """Every line of every plot full, every list at its most, names as long as they come."""
    deep = main(*(py(f"{'long_name_' * 30}{number}.py", "function_" * 40, number) for number in range(300)))
    threads = [thread(*deep["frames"], name=f"worker {number}", id=number) for number in range(40)]
    events: list[Event] = [*three(*threads)]
    for second in range(1, 1500):
        at = T0 + second * 600
        logs = {f"{'metric_' * 10}{number}": second / 3 for number in range(40)}
        weights = [
            {"name": f"{'deep/' * 20}{n}/k", "shape": [9], "rms": 1 / 3, "step": 1 / 7, "gradient": second / 7} for n in range(32)
        ]
        nodes = [
            {"name": f"{'stage_' * 20}{n}", "elements": second, "seconds": second / 7, "at_a_time": 1, "buffered": second}
            for n in range(30)
        ]
        events += [
            StepsEnded(at=at, first=second, last=second, seconds=300.123, busy_s=200.77, longest_s=250, wait_s=77.7, waited_steps=1, loss=second / 7),
            EpochEnded(at=at, logs=dict(logs)),
            WeightsSampled(at=at, facts={"weights": weights, "learning_rate": 1 / (2 + second)}),
            PipelineMeasured(at=at, number=1, seconds=second * 600, nodes=nodes),
            CheckpointSaved(at=at, path="x" * 4000, seconds=12.3),
            VerdictReached(at=at, cause="input_starved", summary="y" * 9000),
            host(second * 600, 1.7, rss_bytes=second * 12_345_678),
            *(DeviceSampled(at=at, index=n, name="card", used_bytes=second * 7_654_321, total_bytes=80 << 30, busy_percent=77.7) for n in range(16)),
        ]  # fmt: skip
    size = len(render_run(whole(stuck(*events))).encode())
    pictures = 1.34 * summary.MAX_PICTURES * summary.MAX_PICTURE_BYTES  # as text, at their largest
    classes = 300 * summary.MAX_CLASSES
    words = 4 * defects.MAX_LETTERS + 2 * defects.LISTED * defects.MAX_OF_A_PLACE
    of_data = 1.34 * defects.MAX_PICTURES * defects.MAX_BYTES + defects.MAX_PROBLEMS * words
    assert 500_000 < size < MAX_BYTES - pictures - classes - of_data


def test_a_page_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="Cannot write the page to"):
        write_run(whole(stuck()), tmp_path / "not" / "there.html")
    assert list(tmp_path.iterdir()) == []
