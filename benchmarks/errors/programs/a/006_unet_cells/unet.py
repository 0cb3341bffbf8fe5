from keras import Model, Input, layers


def conv_block(x, filters):
    for _ in range(2):
        x = layers.Conv2D(filters, 3, padding="same", kernel_initializer="he_normal")(x)
        x = layers.BatchNormalization()(x)
        x = layers.Activation("relu")(x)
    return x


def up_block(x, skip, filters):
    x = layers.Conv2DTranspose(filters, 2, strides=2, padding="same")(x)
    x = layers.concatenate([x, skip])
    return conv_block(x, filters)


def build_unet(input_shape, base=8, depth=3):
    inputs = Input(input_shape)
    skips = []
    x = inputs
    for level in range(depth):
        x = conv_block(x, base * 2 ** level)
        skips.append(x)
        x = layers.MaxPooling2D(2)(x)
    x = conv_block(x, base * 2 ** depth)
    for level in reversed(range(depth)):
        x = up_block(x, skips[level], base * 2 ** level)
    outputs = layers.Conv2D(1, 1, activation="sigmoid")(x)
    return Model(inputs, outputs, name="unet")
