"""model_layers: what an input passes on its way to the first layer that learns."""

from typing import Any

import pytest

from unstall.probe.model import layers


@pytest.mark.tensorflow
def test_the_entry_tells_operations_between_layers_too() -> None:
    """`inputs / 255` scales as well as a layer does."""
    import keras

    def model(prepare: Any) -> Any:
        inputs = keras.Input((6, 6, 3))
        return keras.Model(inputs, keras.layers.Conv2D(4, 3)(prepare(inputs)))

    inner = model(lambda inputs: inputs / 255.0)
    assert layers.find_entry(inner) == ["TrueDivide", "Conv2D"]
    assert layers.find_entry(keras.Sequential([keras.Input((6, 6, 3)), keras.layers.RandomFlip(), inner])) == [
        "RandomFlip", "TrueDivide", "Conv2D",
    ]  # fmt: skip
    assert layers.find_entry(model(lambda inputs: keras.ops.cast(inputs, "float16"))) == ["Cast", "Conv2D"]
    assert layers.find_entry(model(lambda inputs: inputs)) == ["Conv2D"]
    assert [layer["class"] for layer in layers.list_weighted_layers(inner)] == ["Conv2D"]
