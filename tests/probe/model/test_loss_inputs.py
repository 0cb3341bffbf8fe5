"""loss_calls: which operation made what a loss is given."""

import pytest

from unstall.probe.model import loss_inputs


@pytest.mark.tensorflow
def test_what_made_the_predictions_and_not_where_shares_are_mixed() -> None:
    import tensorflow as tf

    with tf.Graph().as_default():
        hidden, matrix = tf.ones([8, 5]), tf.ones([5, 5])
        scores, shares = tf.matmul(hidden, matrix), tf.nn.softmax(hidden)
        assert loss_inputs._made_by(scores) == "MatMul"
        assert loss_inputs._made_by(tf.reshape(shares, [4, 10])) == "Softmax"
        assert loss_inputs._made_by(tf.matmul(shares, matrix)) is None, "shares times a confusion matrix are shares"
        assert loss_inputs._made_by(tf.matmul(hidden, tf.nn.softmax(matrix))) is None, "or experts that are mixed"
        assert loss_inputs._made_by(tf.nn.bias_add(tf.matmul(shares, matrix), tf.ones([5]))) == "BiasAdd"
