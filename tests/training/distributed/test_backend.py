"""Which backend several workers run on, and what an error says of the others."""

from __future__ import annotations

import pytest

from unstall.backends import choose_backend_for
from unstall.base.errors import InvalidInputError
from unstall.training.distributed import collectives


def test_one_worker_runs_on_any_backend() -> None:
    assert [choose_backend_for(name, 1, {}) for name in ("auto", "tensorflow", "torch")] == ["auto", "tensorflow", "torch"]


def test_several_run_on_jax_where_nobody_says_otherwise() -> None:
    assert choose_backend_for("auto", 2, {}) == choose_backend_for("jax", 2, {"KERAS_BACKEND": "torch"}) == "jax"


@pytest.mark.parametrize(
    ("backend", "environ", "named"), [("torch", {}, "backend"), ("auto", {"KERAS_BACKEND": "tensorflow"}, "KERAS_BACKEND")]
)
def test_another_backend_is_refused_with_what_to_do(backend: str, environ: dict[str, str], named: str) -> None:
    with pytest.raises(InvalidInputError, match=rf"{named}: expected jax for 2 workers.*Write --backend jax, or --num-workers 1"):
        choose_backend_for(backend, 2, environ)


def test_an_error_of_whoever_carries_the_numbers_is_told_from_others() -> None:
    assert collectives.are_others_lost(ValueError("UNKNOWN: Gloo all-reduce failed: Connection closed by peer [127.0.0.1]:20898"))
    assert not collectives.are_others_lost(ValueError("operands could not be broadcast together"))
