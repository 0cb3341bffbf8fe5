"""The shapes of published weights, and weights of Keras's own networks, are as specified; see `weights_spec.py`, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.detectors.specs import assert_holds


@pytest.mark.tensorflow  # which makes the variables of a large detector soonest
def test_the_file_of_shapes_is_fresh_and_networks_of_keras_applications_are_as_specified() -> None:
    assert_holds("tensorflow", Path(__file__).with_name("shapes_spec.py"), Path(__file__).with_name("keras_spec.py"))
