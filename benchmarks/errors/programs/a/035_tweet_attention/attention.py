import keras
from keras import layers, ops


@keras.saving.register_keras_serializable(package="tweets")
class AttentionPool(layers.Layer):
    """Weighted mean over the time steps."""

    def __init__(self, units, temperature, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.temperature = temperature
        self.project = layers.Dense(units, activation="tanh")
        self.score = layers.Dense(1, use_bias=False)

    def build(self, input_shape):
        self.project.build(input_shape)
        self.score.build((*input_shape[:-1], self.units))
        super().build(input_shape)

    def call(self, inputs):
        weights = ops.softmax(self.score(self.project(inputs)) / self.temperature, axis=1)
        return ops.sum(inputs * weights, axis=1)

    def get_config(self):
        config = super().get_config()
        config.update({"units": self.units})
        return config
