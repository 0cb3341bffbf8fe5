"""layer_shapes_mismatch: which shapes do not fit, the rounding of odd sizes, and which input size would fit."""

from __future__ import annotations

import pytest

from tests.diagnosis.failed_programs import array, failed, line, unseen
from unstall.diagnosis.causes import layer_shapes_mismatch
from unstall.diagnosis.verdict import Clear, Found, Unknown

KERAS = "keras/src/layers/merging/base_merge.py"
ADD_3 = "Inputs have incompatible shapes. Received shapes (25, 25, 32) and (26, 26, 32)"
ADD_2 = "Operands could not be broadcast together with shapes (25, 25, 32) (26, 26, 32)"
CONCATENATE = (
    "A `Concatenate` layer requires inputs with matching shapes except for the concatenation axis. Received: "
    "input_shape=[(None, 24, 24, 32), (None, 25, 25, 32)]"
)
IN_GRAPH = (
    "Dimension 0 in both shapes must be equal, but are 32 and 28. Shapes are [32,32,1] and [28,28,1]. for '{{node concat}} = "
    "ConcatV2[N=2, T=DT_FLOAT](a, b, concat/axis)' with input shapes: [?,32,32,1], [?,28,28,1], []."
)


def symbolic(name: str, shape: list[int], **more: object) -> dict[str, object]:
    return array(name, shape, kind="keras.KerasTensor", **more)


@pytest.mark.parametrize(("message", "within"), [(ADD_3, KERAS), (ADD_2, "keras/layers/merge.py")], ids=["Keras 3", "Keras 2"])
def test_found_for_branches_that_are_added_with_the_input_size_that_fits(message: str, within: str) -> None:
    verdict = layer_shapes_mismatch.examine(
        failed(
            "ValueError",
            message,
            line(39, "    levels = pyramid(inputs)", symbolic("inputs", [-1, 200, 200, 3]), function="retinanet"),
            line(
                25,
                "    p4 = Add()([p4, up(p5)])",
                symbolic("p4", [-1, 25, 25, 32], made_at=24, made_by=["    p4 = lateral(c4)"]),
                symbolic("p5", [-1, 13, 13, 32]),
                function="pyramid",
            ),
            within=within,
        )
    )
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:25"
    assert "(25, 25, 32), another (26, 26, 32)" in verdict.summary
    assert verdict.summary.endswith("The model's input has the side 200, 8 times as much; it is not a multiple of 16.")
    assert "192 or 208" in verdict.actions[0]
    claims = [evidence.claim for evidence in verdict.evidence]
    assert "`p4` was made at train.py:24: p4 = lateral(c4)" in claims


def test_found_for_a_concatenation_without_the_size_of_the_input() -> None:
    verdict = layer_shapes_mismatch.examine(failed("ValueError", CONCATENATE, line(9, "x = join([a, b])"), within=KERAS))
    assert isinstance(verdict, Found)
    assert "24 is what a stride of 2" in verdict.summary
    assert "even at every stride" in verdict.actions[0]


def test_found_for_a_concatenation_of_tensors_in_a_step() -> None:
    verdict = layer_shapes_mismatch.examine(
        failed("ValueError", IN_GRAPH, line(27, "x = tf.concat([a, b], 0)"), within="tensorflow/ops.py")
    )
    assert isinstance(verdict, Found)
    assert "(32, 32, 1), another (28, 28, 1)" in verdict.summary
    assert "do not say which" in verdict.actions[0]


@pytest.mark.parametrize(
    "message",
    [
        "The total size of the tensor must be unchanged. Received: input_shape=(16, 16, 16), target_shape=(1536, 4)",
        "total size of new array must be unchanged, input_shape = [16, 16, 16], output_shape = [1536, 4]",
    ],
    ids=["Keras 3", "Keras 2"],
)
def test_found_for_a_reshape_with_the_channels_that_it_would_take(message: str) -> None:
    verdict = layer_shapes_mismatch.examine(
        failed("ValueError", message, line(9, "x = Reshape(t)(loc)"), within="keras/layers/core.py")
    )
    assert isinstance(verdict, Found)
    assert "4,096 numbers" in verdict.summary and "6,144" in verdict.summary
    assert "it would take 24 channels, and there are 16" in verdict.summary


def test_branches_that_differ_in_their_channels_alone_take_a_convolution() -> None:
    x, shortcut = (array(name, [-1, 16, 16, side], kind="keras.KerasTensor") for name, side in (("x", 32), ("shortcut", 16)))
    message = "Inputs have incompatible shapes. Received shapes (16, 16, 32) and (16, 16, 16)"
    row = line(11, "return layers.Add()([x, shortcut])", x, shortcut)
    verdict = layer_shapes_mismatch.examine(failed("ValueError", message, row, within="keras/src/layers/merging/base_merge.py"))
    assert isinstance(verdict, Found)
    assert "They differ in the last side alone" in verdict.summary
    assert verdict.actions[0].startswith("give `shortcut` 32 channels, too")


@pytest.mark.parametrize(("made", "is_changed"), [("x = layers.Dense(1024)(z)", True), ("x = layers.Flatten()(z)", False)])
def test_found_for_a_reshape_of_a_dense_layer_with_the_units_that_it_would_take(made: str, is_changed: bool) -> None:
    message = "The total size of the tensor must be unchanged. Received: input_shape=(1024,), target_shape=(7, 7, 32)"
    given = array("x", [-1, 1024], kind="keras.KerasTensor", made_at=7, made_by=[made])
    verdict = layer_shapes_mismatch.examine(
        failed("ValueError", message, line(8, "x = layers.Reshape((7, 7, 32))(x)", given), within="keras/layers/core.py")
    )
    assert isinstance(verdict, Found)
    assert "which is 1,024 numbers for each example" in verdict.summary and "1,568" in verdict.summary
    assert [change.after for change in verdict.changes] == ([("x = layers.Dense(1568)(z)",)] if is_changed else [])
    assert ("let the layer before it give 1,568 numbers, 7 x 7 x 32" in verdict.actions[0]) != is_changed


@pytest.mark.parametrize(
    "message",
    [
        "Computed output size would be negative. Received: `inputs.shape=(None, 2, 2, 8)`, `kernel.shape=(3, 3, 8, 8)`.",
        "Negative dimension size caused by subtracting 3 from 2 for '{{node conv2d_4/Conv2D}} = Conv2D[T=DT_FLOAT](a, b)' with "
        "input shapes: [?,2,2,8], [3,3,8,8].",
    ],
    ids=["Keras 3", "Keras 2"],
)
def test_found_for_a_window_that_is_larger_than_its_input(message: str) -> None:
    verdict = layer_shapes_mismatch.examine(failed("ValueError", message, line(9, "x = Conv2D(8, 3)(x)"), within="keras/ops.py"))
    assert isinstance(verdict, Found)
    assert "(None, 2, 2, 8), its kernel (3, 3, 8, 8)" in verdict.summary
    assert verdict.where == "train.py:9"


@pytest.mark.parametrize(
    ("message", "within"),
    [
        ("operands could not be broadcast together with shapes (25,25) (26,26)", ""),
        ("operands could not be broadcast together with shapes (25,25) (26,26)", "keras/src/utils/numerical.py"),
        ("row 5 has no label", KERAS),
    ],
)
def test_clear_of_other_errors(message: str, within: str) -> None:
    assert isinstance(layer_shapes_mismatch.examine(failed("ValueError", message, line(9, "a + b"), within=within)), Clear)


def test_unknown_where_the_program_could_not_be_seen() -> None:
    assert isinstance(layer_shapes_mismatch.examine(unseen()), Unknown)


@pytest.mark.parametrize(("sides", "is_lacking"), [([64, 64, 1], True), ([8, 64, 64, 1], False), ([32, 32, 1], False)])
def test_an_example_without_a_batch_is_known_by_what_the_model_takes(sides: list[int], is_lacking: bool) -> None:
    model = {"name": "model", "type": "keras.Sequential", "takes": [None, 64, 64, 1], "in_failing": True}
    message = "Negative dimension size caused by subtracting 3 from 1 for 'a' with input shapes: [32,64,1,1], [3,3,1,16]."
    row = line(9, "model.predict(image)", model, array("image", sides))
    verdict = layer_shapes_mismatch.examine(failed("ValueError", message, row, within="keras/ops.py"))
    assert isinstance(verdict, Found)
    assert ("the batch dimension is missing" in verdict.summary) is is_lacking
    assert ("image[None, ...]" in " ".join(verdict.actions)) is is_lacking


def test_numbers_of_a_message_that_are_no_shapes_are_not_taken_for_them() -> None:
    message = (
        "Negative dimension size caused by subtracting 3 from 1 for '{{node a}} = Conv2D[dilations=[1, 1, 1, 1], "
        "explicit_paddings=[]](b, c)' with input shapes: [32,64,1,1], [3,3,1,16]."
    )
    verdict = layer_shapes_mismatch.examine(failed("ValueError", message, line(9, "conv(x)"), within="keras/ops.py"))
    assert isinstance(verdict, Found)
    assert "(32, 64, 1, 1), its kernel (3, 3, 1, 16)" in verdict.summary


@pytest.mark.parametrize(("stride", "is_known"), [(32, True), (4, False), (64, False)])
def test_the_size_of_the_input_is_known_that_the_strides_divide(stride: int, is_known: bool) -> None:
    sides = [[300, 300], [150, 150], [75, 75], [38, 38], [19, 19], [10, 10]]
    sizes = {"what": "sizes", "name": "image", "where": "/home/user/project/net.py:27", "sides": sides, "stride": stride}
    message = "Inputs have incompatible shapes. Received shapes (20, 20, 32) and (19, 19, 32)"
    row = line(21, "Add()([UpSampling2D(2)(p5), p4])", symbolic("p4", [-1, 19, 19, 32]))
    verdict = layer_shapes_mismatch.examine(failed("ValueError", message, row, within=KERAS, makers=[sizes]))
    assert isinstance(verdict, Found)
    assert ("strides make 150, 75, 38, 19 and 10" in verdict.summary) is is_known
    assert ("multiple of 32: 288 or 320 instead of 300" in verdict.actions[0]) is is_known
