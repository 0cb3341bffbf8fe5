"""SSD, RetinaNet and Faster R-CNN, in Keras layers and `keras.ops` alone: the same code on TensorFlow, JAX and PyTorch."""
