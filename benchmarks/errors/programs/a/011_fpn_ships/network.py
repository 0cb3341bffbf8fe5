import keras
from keras import layers


def backbone(image):
    x = layers.Conv2D(8, 7, strides=2, padding="same", activation="relu")(image)
    x = layers.MaxPooling2D(3, strides=2, padding="same")(x)
    stages = []
    for filters in (16, 32, 64):
        x = layers.Conv2D(filters, 3, strides=2, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization()(x)
        x = layers.ReLU()(x)
        stages.append(x)
    return stages


def feature_pyramid(c3, c4, c5, channels):
    p5 = layers.Conv2D(channels, 1, name="lateral_c5")(c5)
    p4 = layers.Conv2D(channels, 1, name="lateral_c4")(c4)
    p3 = layers.Conv2D(channels, 1, name="lateral_c3")(c3)
    p4 = layers.Add(name="merge_p4")([layers.UpSampling2D(2)(p5), p4])
    p3 = layers.Add(name="merge_p3")([layers.UpSampling2D(2)(p4), p3])
    return [layers.Conv2D(channels, 3, padding="same")(p) for p in (p3, p4, p5)]


def build(cfg):
    image = keras.Input((cfg.image_size, cfg.image_size, 3))
    levels = feature_pyramid(*backbone(image), cfg.fpn_channels)
    hidden = layers.Conv2D(cfg.fpn_channels, 3, padding="same", activation="relu", name="head_hidden")
    predict = layers.Conv2D(4 + cfg.num_classes, 1, name="head_predict")
    pooled = [layers.GlobalAveragePooling2D()(predict(hidden(level))) for level in levels]
    return keras.Model(image, layers.Average()(pooled), name="fpn_ships")
