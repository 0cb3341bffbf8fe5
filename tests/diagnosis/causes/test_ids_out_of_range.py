"""ids_out_of_range: by what the embedding was given, or by TensorFlow's words for it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnosis.failed_programs import array, failed, line, unseen
from unstall.diagnosis.causes import ids_out_of_range
from unstall.diagnosis.verdict import Clear, Found, Unknown, Verdict

KERAS = "keras/src/layers/core/embedding.py"


def of_torch(least: float, most: float, rows: int = 100, message: str = "index out of range in self") -> Verdict:
    ids = array("input", [4, 16], "int64", "torch.Tensor", min=least, max=most)
    call = {"function": "embedding", "file": "", "line": 1, "values": [ids, array("weight", [rows, 8], kind="torch.Tensor")]}
    row = line(8, "return self.head(self.words(ids))", function="forward")
    return ids_out_of_range.examine(failed("IndexError", message, row, calls=[call]))


def of_tensorflow(message: str, within: str = "", makers: Any = ()) -> Verdict:
    kind = "tensorflow.python.framework.errors_impl.InvalidArgumentError"
    return ids_out_of_range.examine(failed(kind, message, line(6, "model.fit(ids, y)"), within=within, makers=list(makers)))


def test_found_by_what_the_embedding_was_given() -> None:
    verdict = of_torch(3, 117)
    assert isinstance(verdict, Found)
    assert verdict.summary == "The embedding has 100 rows, for the ids 0 to 99, and is given the id 117."
    assert verdict.where == "train.py:8"


def test_an_id_below_zero() -> None:
    verdict = of_torch(-100, 50)
    assert isinstance(verdict, Found)
    assert "given the id -100" in verdict.summary
    assert "below 0" in verdict.actions[0]


def test_ids_that_begin_at_one() -> None:
    verdict = of_torch(1, 100)
    assert isinstance(verdict, Found)
    assert "numbered from 1" in verdict.summary


@pytest.mark.parametrize(
    ("message", "within"),
    [
        ("indices[0,2] = 103 is not in [0, 100)\n\t [[{{node sequential_1/embedding_1/GatherV2}}]]", ""),
        ("indices[0,2] = 103 is not in [0, 100)", KERAS),
        ('File "/x/keras/src/layers/core/embedding.py", line 140, in call\nindices[0,2] = 103 is not in [0, 100)', ""),
    ],
)
def test_found_in_the_words_of_tensorflow(message: str, within: str) -> None:
    verdict = of_tensorflow(message, within)
    assert isinstance(verdict, Found)
    assert "100 rows, for the ids 0 to 99, and is given the id 103" in verdict.summary


def test_the_ids_of_the_data_and_the_line_of_the_layer_are_told() -> None:
    ids = array("ids", [200, 15], "int32", min=1.0, max=120.0)
    rows = [
        {"what": "layer", "name": name, "class": kind, "where": f"/home/user/project/train.py:{at}", "first": at, "source": ["x"]}
        for name, kind, at in (("sequential", "Sequential", 13), ("embedding", "Embedding", 15))
    ]
    message = "indices[3,14] = 120 is not in [0, 120)\n\t [[{{node sequential_1/embedding_1/GatherV2}}]]"
    data = line(21, "model.fit(data)", origins=[ids])
    kind = "tensorflow.python.framework.errors_impl.InvalidArgumentError"
    verdict = ids_out_of_range.examine(failed(kind, message, data, makers=rows))
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:15"
    assert verdict.summary.endswith("and is given the id 120. The ids seem to be numbered from 1.")
    assert verdict.actions[0].startswith("give the embedding 121 rows")
    assert verdict.evidence[0].claim == "`ids` goes from 1 to 120"


def test_clear_of_other_indices() -> None:
    assert isinstance(of_tensorflow("indices[0] = 103 is not in [0, 100) [[{{node GatherV2}}]]"), Clear)
    assert isinstance(of_torch(0, 99), Clear)
    assert isinstance(of_torch(3, 117, message="CUDA error: out of memory"), Clear)
    assert isinstance(ids_out_of_range.examine(failed("IndexError", "index out of range in self", line(8, "x[ids]"))), Clear)


def test_unknown_where_the_program_could_not_be_seen() -> None:
    assert isinstance(ids_out_of_range.examine(unseen()), Unknown)


def test_the_dict_that_gives_the_ids_is_told_with_the_rows_that_the_embedding_needs() -> None:
    ids = array("input", [32, 16], "int64", "torch.Tensor", min=0, max=27)
    call = {"function": "embedding", "file": "", "line": 1, "values": [ids, array("weight", [26, 8], kind="torch.Tensor")]}
    vocab = {"name": "vocab", "type": "dict", "length": 26, "keys": ["a"], "numbers": [2, 27]}
    row = line(40, "model.fit(x)", origins=[vocab])
    verdict = ids_out_of_range.examine(failed("IndexError", "index out of range in self", row, calls=[call]))
    assert isinstance(verdict, Found)
    assert (
        "`vocab` numbers its 26 entries from 2 to 27; ids 0 to 1 belong to no entry, as for padding and unknown words"
        in verdict.summary
    )
    assert verdict.actions[0] == "give the embedding 28 rows, as len(vocab) + 2 gives: one more than the largest id"


def test_a_dict_whose_largest_number_is_another_is_not_told() -> None:
    vocab = {"name": "vocab", "type": "dict", "length": 99, "keys": ["a"], "numbers": [1, 99]}
    ids = array("input", [4, 16], "int64", "torch.Tensor", min=3, max=117)
    call = {"function": "embedding", "file": "", "line": 1, "values": [ids, array("weight", [100, 8], kind="torch.Tensor")]}
    verdict = ids_out_of_range.examine(
        failed("IndexError", "index out of range in self", line(8, "f(ids)", origins=[vocab]), calls=[call])
    )
    assert isinstance(verdict, Found)
    assert "vocab" not in verdict.summary


def test_an_order_of_examples_is_not_taken_for_the_ids() -> None:
    message = "indices[0,3] = 51 is not in [0, 50) [[{{node model/embedding/embedding_lookup}}]]"
    order = array("order", [1000], "int64", min=0, max=999)
    verdict = ids_out_of_range.examine(failed("InvalidArgumentError", message, line(8, "model.fit(x[order], y)", order)))
    assert isinstance(verdict, Found)
    assert "is given the id 51" in verdict.summary
    assert "order" not in " ".join([verdict.summary, *verdict.actions])
    assert not any("`order` goes from" in each.claim for each in verdict.evidence)
