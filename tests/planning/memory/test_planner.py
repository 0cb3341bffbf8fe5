"""Who is asked, and what a plan promises."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as trials
from hypothesis import strategies as st

from unstall.base.errors import MissingDependencyError
from unstall.config.settings import Settings, apply_changes
from unstall.planning.memory import client, compiler, devices
from unstall.planning.memory.client import PlannerClient, PlannerError
from unstall.planning.memory.max_batch_size import PROBES
from unstall.planning.memory.memory_plan import Choice, MemoryPlan
from unstall.planning.memory.messages import Answer, Question
from unstall.planning.memory.planner import ERRORS, choose_source, find_step_need, plan

GIB, MIB = 2**30, 2**20
SETTINGS = Settings(model="retinanet_resnet50_fpn", backend="jax", batch_size=16, num_input_workers=1)
H200 = devices.find_device("h200")
CORES = devices.find_device("cpu")


def predictions_of(question: Question, per_image: int = 400 * MIB) -> Answer:
    settings = question.settings
    share = (0.5 if settings["precision"] == "bfloat16" else 1) * (0.6 if settings["remat"] else 1)
    images = int(per_image * share * settings["micro_batch_size"] * (0.1 if question.phase == "evaluation" else 1))
    return Answer(
        need=600 * MIB + images, weights=150 * MIB, gradients=150 * MIB, optimizer=150 * MIB, input=2 * MIB * settings["batch_size"],
        activations=images, state=300 * MIB,
    )  # fmt: skip


class Known(dict[str, Answer]):
    """In the place of the folder of remembered answers: it knows every one, so that no compiler is asked."""

    def __init__(self, per_image: int) -> None:
        self.per_image = per_image
        self.asked: list[Question] = []

    def recall(self, question: Question) -> Answer:
        self.asked.append(question)
        return predictions_of(question, self.per_image)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Iterator[Known]:
    knows = Known(400 * MIB)
    monkeypatch.setattr(client, "recall_answer", knows.recall)
    monkeypatch.setattr(compiler, "can_compile", lambda for_card: True)
    yield knows


# --- who is asked ---


def test_jax_is_asked_for_its_own_figures_of_a_card(known: Known) -> None:
    source = choose_source("jax", H200)
    assert (source.way, source.backend, source.note) == ("compiled", "jax", "")


def test_a_card_that_is_here_compiles_itself_and_is_believed_most(known: Known) -> None:
    source = choose_source("jax", replace(H200, is_here=True))
    assert (source.way, source.backend) == ("compiled on the card", "jax")
    assert source.error < ERRORS["compiled", True]


def test_the_largest_batch_is_looked_for_without_trials_on_the_card(known: Known) -> None:
    made = plan(SETTINGS, replace(H200, is_here=True))
    assert made.way == "compiled on the card" and made.largest_micro_batch
    ways = [question.way for question in known.asked if question.settings["batch_size"] != SETTINGS.batch_size]
    assert set(ways) == {"compiled"}


@pytest.mark.parametrize(
    ("fails", "next_best"), [({"compiled on the card"}, "compiled"), ({"compiled on the card", "compiled"}, "estimated")]
)
def test_where_a_compiler_fails_the_next_best_is_asked_and_it_is_said(
    fails: set[str], next_best: str, known: Known, monkeypatch: pytest.MonkeyPatch
) -> None:
    def recall(question: Question) -> Answer:
        if question.way in fails:
            raise PlannerError("its compiler found no room")
        return known.recall(question)

    monkeypatch.setattr(client, "recall_answer", recall)
    made = plan(SETTINGS, replace(H200, is_here=True))
    assert made.way == next_best and "its compiler found no room" in made.note


def test_jax_is_asked_for_the_cores_as_they_are(known: Known) -> None:
    assert choose_source("jax", CORES).way == "compiled for the CPU"


def test_the_compiler_for_a_card_is_told_what_it_is_given_and_so_is_nobody_else(known: Known) -> None:
    plan(SETTINGS, H200, finds_largest=False)
    given = {question.card[compiler.GIVEN] for question in known.asked}
    usable = plan(SETTINGS, H200, finds_largest=False).usable_bytes
    assert len(given) == 1 and 0.9 * usable < given.pop() < usable
    known.asked.clear()
    plan(replace(SETTINGS, backend="torch"), H200, finds_largest=False)  # JAX's figures for PyTorch, which computes nothing twice
    with PlannerClient() as client:
        find_step_need(SETTINGS, client, H200)
    assert known.asked and not [question for question in known.asked if compiler.GIVEN in question.card]


def test_what_it_computes_twice_to_stay_within_is_said(known: Known, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "recall_answer", lambda question: replace(known.recall(question), said={"recomputed": 1860}))
    assert "the compiler computes 1,860 results of a step twice" in plan(SETTINGS, H200, finds_largest=False).note
    monkeypatch.setattr(client, "recall_answer", known.recall)
    assert plan(SETTINGS, H200, finds_largest=False).note == ""


@pytest.mark.parametrize("is_answered", [True, False])
def test_on_a_card_the_wanted_batch_is_measured_itself(is_answered: bool, known: Known, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[tuple[int, str]] = []

    def recall(question: Question) -> Answer:
        """Larger batches need more than the small ones let expect; or there is no room to run them at all."""
        images, answer = question.settings["micro_batch_size"], predictions_of(question, 1843 * MIB)
        if images <= PROBES[-1] or question.phase == "evaluation":
            return answer
        tried.append((images, question.settings["precision"]))
        if not is_answered and question.settings["precision"] == "float32":
            raise PlannerError("out of memory")
        return replace(answer, need=int(answer.need * 1.3))

    monkeypatch.setattr(client, "recall_answer", recall)
    settings = replace(SETTINGS, backend="torch", batch_size=64)
    made = plan(settings, replace(H200, is_here=True), finds_largest=False)
    assert made.way == "measured" and set(tried) == {(64, "float32"), (64, "bfloat16")}
    assert made.fits and made.changes() == {"precision": "bfloat16"}
    assert made.training.need > 1.29 * (600 * MIB + 32 * 1843 * MIB)  # as it was measured, not as small ones let expect
    assert made.tried[0].need_bytes > made.usable_bytes  # by the small ones it would have fitted


def test_on_cores_nothing_is_tried_that_might_not_fit(known: Known) -> None:
    made = plan(replace(SETTINGS, backend="torch", batch_size=64), replace(CORES, memory_bytes=40 * GIB), finds_largest=False)
    assert made.way == "measured" and made.fits
    assert {question.settings["micro_batch_size"] for question in known.asked} == set(PROBES)


@pytest.mark.parametrize("backend", ["torch", "tensorflow"])
def test_the_others_are_measured_where_the_device_is(backend: str, known: Known) -> None:
    assert choose_source(backend, CORES).way == "measured"
    source = choose_source(backend, H200)
    assert (source.way, source.backend) == ("compiled", "jax") and "JAX's figures of the same model" in source.note
    assert source.error > ERRORS["compiled", True]


def test_without_the_compiler_it_is_an_estimate_and_says_how_to_get_better(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "can_compile", lambda for_card: False)
    source = choose_source("jax", H200)
    assert source.way == "estimated" and source.error >= 0.3
    assert "pip install --no-deps --target" in source.note and "jax-cuda13-plugin==" in source.note


def test_what_is_missing_is_named_with_the_command_that_installs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if compiler.can_compile(for_card=True):
        pytest.skip("the compiler for cards is installed beside JAX")
    with pytest.raises(MissingDependencyError, match="pip install"):
        compiler.refuse_without_compiler()


def test_the_compiler_may_lie_in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    pytest.importorskip("importlib.metadata").version("jax")
    (compiler.find_folder() / "jax_cuda13_plugin").mkdir(parents=True)
    assert compiler.can_compile(for_card=True)
    assert str(tmp_path) in str(compiler.find_folder())


# --- what it promises ---


def test_a_plan_says_all_of_it(known: Known) -> None:
    plain = plan(SETTINGS, H200, classes=20).as_plain()
    assert plain["fits"] and plain["changes"] == {} and plain["method"] == "compiled"
    assert {question.settings["detector"]["num_classes"] for question in known.asked} == {20}
    assert set(plain["training"]) >= {"weights", "gradients", "optimizer", "activations", "input", "need"}
    assert plain["checkpoint"]["disk_bytes"] == 300 * MIB
    assert plain["evaluation"]["with_the_training"] > plain["evaluation"]["need"]


def test_changes_are_settings_and_make_it_fit(known: Known) -> None:
    known.per_image = 30 * GIB
    made = plan(SETTINGS, H200)
    assert made.changes() == {"precision": "bfloat16", "remat": True, "micro_batch_size": 8}
    again = plan(apply_changes(SETTINGS, made.changes()), H200)
    assert again.fits and again.changes() == {}


def test_where_nothing_fits_nothing_is_changed(known: Known) -> None:
    known.per_image = 1000 * GIB
    made = plan(SETTINGS, H200)
    assert not made.fits and made.changes() == {} and made.largest_micro_batch == 0


def test_the_next_batch_is_on_the_device_too_and_the_first_weights_were(known: Known) -> None:
    made = plan(SETTINGS, H200)
    assert made.tried[0].need_bytes == made.training.need + made.training.input + made.training.weights


def test_a_quick_plan_is_an_estimate_where_there_is_room_and_exact_where_there_is_not(known: Known) -> None:
    assert plan(SETTINGS, H200, is_quick=True, finds_largest=False).way == "estimated"
    known.per_image = 5 * GIB
    made = plan(SETTINGS, H200, is_quick=True, finds_largest=False)
    assert made.way == "compiled" and made.largest_micro_batch is None


@trials(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(per_image=st.integers(1, 200 * GIB), name=st.sampled_from(["h200", "a100", "t4"]), batch_size=st.integers(1, 48))
def test_what_is_promised_fits_with_room_for_the_error(known: Known, per_image: int, name: str, batch_size: int) -> None:
    known.per_image = per_image
    device = devices.find_device(name)
    made: MemoryPlan = plan(apply_changes(SETTINGS, {"batch_size": batch_size}), device)
    need = made.tried[-1].need_bytes
    promised = need * (1 + made.error) <= made.usable_bytes + 2
    assert promised or not made.fits
    assert made.tried[-1].fits == promised
    assert made.usable_bytes <= 0.92 * device.memory_bytes
    assert batch_size % made.chosen.micro_batch_size == 0
    if made.largest_micro_batch:
        alone = made.chosen.micro_batch_size if made.fits else 0
        assert made.largest_micro_batch >= min(alone, 1) and isinstance(made.chosen, Choice)
