import cv2
import tensorflow as tf

TARGET = (96, 64)  # width, height


def load_image(path):
    raw = tf.io.read_file(path)
    return tf.io.decode_jpeg(raw, channels=3)


def letterbox(image, target=TARGET):
    resized = cv2.resize(image, target, interpolation=cv2.INTER_AREA)
    return tf.cast(resized, tf.float32) / 255.0


def load_example(path, box):
    image = letterbox(load_image(path))
    image.set_shape((TARGET[1], TARGET[0], 3))
    return image, box


def build_pipeline(paths, boxes, batch_size):
    ds = tf.data.Dataset.from_tensor_slices((paths, boxes))
    ds = ds.shuffle(len(paths), seed=0)
    ds = ds.map(load_example, num_parallel_calls=tf.data.AUTOTUNE)
    return ds.batch(batch_size).prefetch(tf.data.AUTOTUNE)
