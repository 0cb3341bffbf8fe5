"""Less precision is for a person to choose."""

from tests.remedies.builders import fault
from unstall.diagnosis.verdict import Safety
from unstall.remedies import use_bfloat16
from unstall.remedies.plan import Kind, Verb


def test_it_is_asked_for_and_not_done() -> None:
    planned = use_bfloat16.plan(fault(Kind.DEVICE_MEMORY))
    assert planned is not None
    assert planned.change == {"precision": "bfloat16"}
    assert planned.verb is Verb.ASK
    assert use_bfloat16.SAFETY is Safety.ASK


def test_half_precision_cannot_be_halved() -> None:
    assert use_bfloat16.plan(fault(Kind.DEVICE_MEMORY, precision="bfloat16")) is None
    assert use_bfloat16.plan(fault(Kind.DEVICE_MEMORY, precision="float16")) is None
