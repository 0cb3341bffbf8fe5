"""What is told of programs that an error ended: real ones, with the frameworks' own wrappings around the error."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.diagnosis.ended import ended
from unstall.report.text import no_verdict


@pytest.mark.tensorflow
def test_an_error_inside_tensorflow_is_told_by_its_innermost_sentence_and_line(tmp_path: Path) -> None:
    story = ended(
        tmp_path,
        'import tensorflow as tf\n\n\ndef parse(number):\n    return number + "text"\n\n\ntf.data.Dataset.range(3).map(parse)\n',
    )
    said = no_verdict(story)
    assert said.startswith("no cause was found for this end: TypeError: Input 'y' of 'AddV2' Op has type string")
    assert said.endswith("argument 'x', at train.py:5")
    assert story["failure"]["text"].startswith("in user code:")


@pytest.mark.torch
def test_an_error_of_a_worker_process_is_told_as_it_was_raised_there(tmp_path: Path) -> None:
    story = ended(
        tmp_path,
        """\
import torch


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, number):
        if number == 5:
            raise LookupError("row 5 has no label")
        return torch.zeros(3)


if __name__ == "__main__":
    for batch in torch.utils.data.DataLoader(Rows(), batch_size=2, num_workers=1):
        pass
""",
    )
    assert no_verdict(story) == "no cause was found for this end: LookupError: row 5 has no label, at train.py:10"
