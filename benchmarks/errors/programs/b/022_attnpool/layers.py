import keras
from keras import ops


class AttentionPool(keras.layers.Layer):
    """Weighted mean over time with learned weights."""

    def __init__(self, units=16, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.project = keras.layers.Dense(units, activation="tanh")
        self.score = keras.layers.Dense(1)

    def build(self, input_shape):
        self.project.build(input_shape)
        self.score.build((*input_shape[:-1], self.units))
        super().build(input_shape)

    def call(self, x):
        weights = ops.softmax(self.score(self.project(x)), axis=1)
        return ops.sum(weights * x, axis=1)

    def compute_output_shape(self, input_shape):
        return (input_shape[0], input_shape[-1])

    def get_config(self):
        return {**super().get_config(), "units": self.units}
