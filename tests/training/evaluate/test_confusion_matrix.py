"""What is taken for what."""

from __future__ import annotations

from tests.training.evaluate.test_coco_metrics import answer, truth
from unstall.training.evaluate.coco_metrics import compute_confusion

HERE, THERE = (0, 0, 50, 50), (100, 100, 50, 50)


def test_right_wrong_missed_and_invented_each_have_their_place() -> None:
    there = [truth([HERE, THERE, (300, 300, 9, 9)], [0, 1, 1])]
    found = [answer([HERE, THERE, (400, 0, 9, 9)], [0, 0, 1], [0.9, 0.8, 0.7])]
    assert compute_confusion(there, found, 2).tolist() == [[1, 0, 0], [1, 0, 1], [0, 1, 0]]


def test_the_surest_chooses_first_and_a_second_of_the_same_object_is_invented() -> None:
    found = [answer([HERE, HERE], [1, 0], [0.6, 0.9])]
    assert compute_confusion([truth([HERE], [0])], found, 2).tolist() == [[1, 0, 0], [0, 0, 0], [0, 1, 0]]


def test_on_a_crowd_nothing_counts() -> None:
    there = [truth([(0, 0, 200, 200)], [0], [True])]
    assert compute_confusion(there, [answer([HERE, THERE], [0, 1], [0.9, 0.9])], 2).sum() == 0


def test_what_is_not_sure_enough_or_not_near_enough_is_no_match() -> None:
    there = [truth([HERE], [0])]
    assert compute_confusion(there, [answer([HERE], [0], [0.29])], 1).tolist() == [[0, 1], [0, 0]]
    assert compute_confusion(there, [answer([(40, 40, 50, 50)], [0], [0.9])], 1).tolist() == [[0, 1], [1, 0]]


def test_images_without_anything() -> None:
    assert compute_confusion([truth(), truth()], [answer(), answer([HERE], [0], [0.9])], 1).tolist() == [[0, 0], [1, 0]]
