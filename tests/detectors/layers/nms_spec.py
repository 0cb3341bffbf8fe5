"""Suppression, against the greedy one box by box."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from tests.detectors.gradients import compiled
from tests.detectors.layers.random_boxes import SEEDS, array, boxes, plain_iou, some_examples
from unstall.detectors.layers.nms import suppress

COUNT, MAX = 24, 10


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of two images: crowded boxes, scores with ties, and some places that hold no candidate."""
    random = np.random.default_rng(seed)
    scores = np.round(random.random((2, COUNT)), 1).astype(np.float32)
    scores[random.random((2, COUNT)) < 0.3] = 0.0
    return boxes(seed, 2, COUNT, px=25), scores, random.integers(0, 2, (2, COUNT)).astype(np.int32)


def greedily(boxes: np.ndarray, scores: np.ndarray, classes: np.ndarray, nms_iou_threshold: float) -> list[int]:
    """The places that stay, the best first; of equal scores the first."""
    left = [place for place in np.argsort(-scores, kind="stable") if scores[place] > 0]
    kept: list[int] = []
    for place in left:
        rivals = [other for other in kept if classes[other] == classes[place]]
        if all(np.float32(plain_iou(boxes[other], boxes[place])) <= nms_iou_threshold for other in rivals):
            kept.append(int(place))
    return kept


once_compiled = compiled(lambda b, s, c: tuple(suppress(b, s, c, 0.45, MAX)))
all_compiled = compiled(lambda b, s, c: tuple(suppress(b, s, c, 0.45, COUNT)))


@some_examples
@given(SEEDS)
def test_it_leaves_what_the_greedy_one_leaves(seed: int) -> None:
    given_boxes, scores, classes = drawn(seed)
    found_boxes, found_scores, found_classes = (array(each) for each in once_compiled(given_boxes, scores, classes))
    for image in range(2):
        kept = greedily(given_boxes[image], scores[image], classes[image], 0.45)[:MAX]
        used = found_classes[image] >= 0
        assert used.sum() == len(kept) and used[: len(kept)].all()
        assert np.allclose(found_scores[image][used], scores[image][kept])
        expected = {(*given_boxes[image][place].tolist(), int(classes[image][place])) for place in kept}
        found = {(*box.tolist(), int(of)) for box, of in zip(found_boxes[image][used], found_classes[image][used], strict=True)}
        if len(set(scores[image][scores[image] > 0])) == (scores[image] > 0).sum():  # without ties it is the very same boxes
            assert found == expected
        assert not found_scores[image][~used].any() and not found_boxes[image][~used].any()


@some_examples
@given(SEEDS)
def test_no_two_that_stay_overlap_too_much_and_all_that_go_are_overlapped_by_a_better_one(seed: int) -> None:
    given_boxes, scores, classes = drawn(seed)
    found = all_compiled(given_boxes, scores, classes)
    found_boxes, found_scores, found_classes = (array(each) for each in found)
    for image in range(2):
        stay = [row for row in range(COUNT) if found_classes[image][row] >= 0]
        for row in stay:
            for other in stay:
                if other < row and found_classes[image][row] == found_classes[image][other]:
                    assert plain_iou(found_boxes[image][row], found_boxes[image][other]) <= 0.45 + 1e-6
        for place in np.flatnonzero(scores[image] > 0):
            better = [
                row for row in stay
                if found_classes[image][row] == classes[image][place] and found_scores[image][row] >= scores[image][place]
            ]  # fmt: skip
            itself = any((found_boxes[image][row] == given_boxes[image][place]).all() for row in better)
            beaten = any(plain_iou(found_boxes[image][row], given_boxes[image][place]) > 0.45 - 1e-6 for row in better)
            assert itself or beaten


def test_boxes_of_different_classes_do_not_touch_each_other() -> None:
    same = np.tile(np.array([[[0, 0, 10, 10]]], np.float32), (1, 3, 1))
    found = suppress(same, np.array([[0.9, 0.8, 0.7]], np.float32), np.array([[0, 1, 0]], np.int32), 0.5, 3)
    assert array(found.classes).tolist() == [[0, 1, -1]]
    assert array(found.is_used).tolist() == [[True, True, False]]


def test_a_chain_is_resolved_from_its_best_end() -> None:
    """Each overlaps the next: the second goes, and so the third stays, and so on."""
    chain = np.stack([np.array([4.0 * step, 0, 4.0 * step + 10, 10]) for step in range(8)])[None].astype(np.float32)
    scores = np.linspace(0.9, 0.2, 8)[None].astype(np.float32)
    found = suppress(chain, scores, np.zeros((1, 8), np.int32), 0.4, 8)
    assert array(found.boxes)[0, :4, 0].tolist() == [0.0, 8.0, 16.0, 24.0]
    assert array(found.classes).tolist() == [[0, 0, 0, 0, -1, -1, -1, -1]]


def test_more_places_than_candidates_are_filled_with_nothing() -> None:
    found = suppress(np.array([[[0, 0, 5, 5]]], np.float32), np.array([[0.5]], np.float32), np.array([[2]], np.int32), 0.5, 4)
    assert [array(each).shape for each in found] == [(1, 4, 4), (1, 4), (1, 4)]
    assert array(found.classes).tolist() == [[2, -1, -1, -1]]


def test_other_contents_compile_nothing() -> None:
    calls: list[int] = []

    def counted(b: np.ndarray, s: np.ndarray, c: np.ndarray) -> tuple:
        calls.append(1)
        return tuple(suppress(b, s, c, 0.45, MAX))

    run = compiled(counted)
    eager = run is counted
    for seed in range(4):
        run(*drawn(seed))
    assert eager or len(calls) == 1
