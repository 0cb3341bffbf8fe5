import tensorflow as tf

SIZE = 64
CLASS_WEIGHTS = [0.4, 1.0, 2.5]


def decode(image_path, mask_path):
    image = tf.io.decode_png(tf.io.read_file(image_path), channels=3)
    mask = tf.io.decode_png(tf.io.read_file(mask_path), channels=1)
    image = tf.ensure_shape(image, (SIZE, SIZE, 3))
    mask = tf.ensure_shape(mask, (SIZE, SIZE, 1))
    return tf.image.convert_image_dtype(image, tf.float32), tf.cast(mask, tf.int32)


def flip(image, mask):
    if tf.random.uniform(()) > 0.5:
        image = tf.image.flip_left_right(image)
        mask = tf.image.flip_left_right(mask)
    return image, mask


def add_sample_weights(image, mask):
    weights = tf.gather(tf.constant(CLASS_WEIGHTS), mask)
    return image, mask, weights / tf.reduce_mean(weights)


def make(image_paths, mask_paths, batch_size, training):
    ds = tf.data.Dataset.from_tensor_slices((image_paths, mask_paths))
    ds = ds.map(decode, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.map(add_sample_weights)
    if training:
        ds = ds.shuffle(64).map(flip)
    return ds.batch(batch_size).prefetch(tf.data.AUTOTUNE)
