"""Blocks computed again: once."""

from tests.remedies.builders import fault
from unstall.remedies.enable_remat import plan
from unstall.remedies.plan import Kind


def test_outputs_of_blocks_are_not_kept_any_more() -> None:
    planned = plan(fault(Kind.DEVICE_MEMORY, micro_batch_size=1))
    assert planned is not None
    assert (planned.change, planned.undo) == ({"remat": True}, {"remat": False})


def test_what_is_so_already_does_not_help() -> None:
    assert plan(fault(Kind.DEVICE_MEMORY, micro_batch_size=1, remat=True)) is None
