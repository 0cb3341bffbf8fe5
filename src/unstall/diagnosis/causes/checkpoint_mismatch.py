"""A saved model or its weights do not fit: another model, another format, or a class that is not known.

What it is
----------
Weights belong to a model: their shapes must be those of its variables. A head that was trained for another number of classes
differs, and so does a model that was built in another way. Keras 3 saves to files that end in `.keras`, and weights to
`.weights.h5`, and knows a class of the user's own only if it is told of it.

How we know
-----------
Keras and TensorFlow name the layer and both shapes, the class that is not known, or the name of the file.

When this is wrong
------------------
If the file is damaged: this is about files that could be read.

What to do
----------
For another number of classes load all but the head: `load_weights(path, skip_mismatch=True)`. Give the file the ending that is
asked for. Pass own classes in `custom_objects`, or register them with `keras.saving.register_keras_serializable`.
"""

from __future__ import annotations

import re

from unstall.diagnosis.errors.evidence import create_found
from unstall.diagnosis.errors.failures import Failure, Shape, find_failure, format_shape, parse_shapes
from unstall.diagnosis.errors.fatal_error import find_unseen_end
from unstall.diagnosis.verdict import Clear, Verdict
from unstall.journal.reader import Journal

_SHAPES = (
    re.compile(r"variable\.shape=(?P<model>\([\d, ]*\)), Received: value\.shape=(?P<file>\([\d, ]*\))"),
    re.compile(
        r"Weight expects shape (?P<model>[\[(][\d, ]*[\])])\.? Received saved weight with shape (?P<file>[\[(][\d, ]*[\])])"
    ),
    re.compile(
        r"tensor with shape (?P<file>[\[(][\d, ]*[\])]) when attempting to restore variable with shape "
        r"(?P<model>[\[(][\d, ]*[\])])"
    ),
    re.compile(r"The variable shape (?P<model>\([\d, ]*\)), and the assigned value shape (?P<file>\([\d, ]*\)) are incompatible"),
)
_LAYER = re.compile(
    r"object <\w+ name=(?P<name>[\w./-]+)|layer #\d+ \(named (?P<name_2>[\w./-]+)|Target variable: <[\w "
    r"]*path=(?P<name_3>[\w./-]+)|variable ' ?(?P<name_4>[\w./-]+):\d+'"
)
_COUNTS = re.compile(
    r"(?:[Mm]odel expected (?P<model>\d+) layers, found (?P<file>\d+) saved layers|containing (?P<file_2>\d+) "
    r"layers into a model with (?P<model_2>\d+) layers"
    r"|Layer '(?P<layer>[\w./-]+)' expected (?P<model_3>\d+) variables, but received (?P<file_3>\d+) variables during loading)"
)
_FILE_NAME = (
    re.compile(r"Invalid filepath extension for saving"),
    re.compile(r"[Tt]he filename must end in `?\.weights\.h5`?|filepath` provided must end in `\.(?:weights\.h5|keras)`"),
    re.compile(r"File format not supported: filepath="),
)
_UNKNOWN = re.compile(
    r"Could not locate (?:class|function) '(?P<name>[\w.>]+)'|Unknown (?P<what>layer|loss function|metric "
    r"function|optimizer|object|activation"
    r" function|initializer|regularizer): '?(?P<name_2>[\w.>]+)'?"
)
_YOLO_ANCHORS = 3  # of each cell, on each level
_YOLO_BOX = 5  # numbers of each: its place, size and objectness
_LOADING = re.compile(r"sav(?:e|ing)|load|legacy|checkpoint|serializ|restore|h5", re.IGNORECASE)


def examine(journal: Journal) -> Verdict:
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    message = failure.error.message
    if not _is_of_loading(failure):
        return Clear("the error did not come from saving or loading")
    shapes = next((match for pattern in _SHAPES if (match := pattern.search(message))), None)
    if shapes is not None:
        return _of_shapes(failure, shapes)
    counts = _COUNTS.search(message)
    if counts is not None:
        return _of_counts(failure, counts)
    unknown = _UNKNOWN.search(message)
    if unknown is not None:
        return _of_class(failure, unknown["name"] or unknown["name_2"])
    if any(pattern.search(message) for pattern in _FILE_NAME):
        return _of_file_name(failure)
    return Clear("the error is about something else")


def _is_of_loading(failure: Failure) -> bool:
    """By the functions and files of the library that raised it, or the names in the user's line."""
    inner = failure.error.frames[:12]
    code = failure.raised.code if failure.raised is not None else ""
    return any(_LOADING.search(frame["function"]) or "saving" in frame["file"] for frame in inner) or bool(_LOADING.search(code))


def _path(failure: Failure) -> str:
    for call in failure.inspected.calls if failure.inspected is not None else []:
        for value in call["values"]:
            if value["name"] in ("filepath", "path", "filename") and "text" in value:
                return str(value["text"]).strip("'")
    return ""


def _of_shapes(failure: Failure, match: re.Match[str]) -> Verdict:
    layer = _LAYER.search(failure.error.message)
    name = next((group for group in layer.groups() if group), "") if layer is not None else ""
    model, file = parse_shapes(match["model"]), parse_shapes(match["file"])
    if not model or not file:
        return Clear("the shapes of the error are not known")
    who = f"of `{name}` " if name else ""
    said = f"A weight {who}has the shape {format_shape(model[0])} in the model, and {format_shape(file[0])} as it was loaded."
    outputs = _find_outputs(model[0], file[0])
    if outputs is not None:
        said += (
            f" Only the number of outputs differs: {outputs[0]} against {outputs[1]}, as it does for "
            f"another number of classes or anchors.{_as_yolo(model[0], *outputs)}"
        )
    maker = next((maker for maker in failure.makers if maker.what == "layer" and name and maker.name == name.split("/")[0]), None)
    claims = (f"{maker.words} was made at {maker.where}: {maker.code}",) if maker is not None and maker.where else ()
    return create_found(
        failure,
        f"The weights that are loaded do not belong to this model. {said}",
        (
            f"load all weights that fit and train the others: model.load_weights(path, {_skipping(failure)})",
            "or build the model as it was built when the weights were saved, with the same number of classes",
        ),
        claims,
    )


def _find_outputs(model: Shape, file: Shape) -> tuple[int, int] | None:
    """The last side of the model's weight and what the file has for it, where all others are the same, in whatever order."""
    rest = [side for side in file if side is not None]
    for side in model[:-1]:
        if side not in rest:
            return None
        rest.remove(side)
    last = model[-1] if model else None
    return (last, rest[0]) if len(rest) == 1 and last is not None and last != rest[0] else None


def _as_yolo(shape: Shape, model: int, file: int) -> str:
    """The classes of a YOLO head: for each of its anchors, 5 numbers of a box and one for each class."""
    is_head = len(shape) == 4 and shape[:2] == (1, 1)
    each = [count // _YOLO_ANCHORS - _YOLO_BOX for count in (model, file) if count % _YOLO_ANCHORS == 0]
    if not is_head or len(each) < 2 or min(each) < 1:
        return ""
    return (
        f" If it is the head of a YOLO with {_YOLO_ANCHORS} anchors, {file} = {_YOLO_ANCHORS} x ({_YOLO_BOX} + {each[1]}) is "
        f"that of {each[1]} classes, and {model} = {_YOLO_ANCHORS} x ({_YOLO_BOX} + {each[0]}) that of {each[0]}."
    )


def _skipping(failure: Failure) -> str:
    """Of a file in the old HDF5 format, weights that do not fit are skipped only where they are loaded by name."""
    values = failure.raised.values if failure.raised is not None else ()
    names = [_path(failure), *(str(value.facts.get("text", "")).strip("'\"") for value in values)]
    is_old = any(name.endswith((".h5", ".hdf5")) and not name.endswith(".weights.h5") for name in names)
    return "by_name=True, skip_mismatch=True" if is_old else "skip_mismatch=True"


def _of_counts(failure: Failure, match: re.Match[str]) -> Verdict:
    model, file = match["model"] or match["model_2"] or match["model_3"], match["file"] or match["file_2"] or match["file_3"]
    what = f"variables of the layer `{match['layer']}`" if match["layer"] else "layers with weights"
    return create_found(
        failure,
        f"The weights that are loaded do not belong to this model: it has {model} {what}, and the file {file}.",
        (
            "build the model as it was built when the weights were saved, and call it once before its weights are loaded",
            "or load by the names of the layers: model.load_weights(path, by_name=True), for files in the old HDF5 format",
        ),
    )


def _of_class(failure: Failure, name: str) -> Verdict:
    name = name.rpartition(">")[2]
    return create_found(
        failure,
        f"The saved model uses `{name}`, which is not a class or function that Keras knows in this program.",
        (
            f'pass it when the model is loaded: load_model(path, custom_objects={{"{name}": {name}}})',
            f"or register it where it is defined, before loading: @keras.saving.register_keras_serializable() above {name}",
            "or load for prediction alone, without what it was compiled with: load_model(path, compile=False), "
            "if it is a loss or a metric",
        ),
    )


def _of_file_name(failure: Failure) -> Verdict:
    path, message = _path(failure), failure.error.message
    named = f" The name is {path}." if path else ""
    actions: tuple[str, ...]
    if "weights.h5" in message and "`.keras`" not in message:
        said, actions = (
            "Keras 3 saves weights only to files whose names end in .weights.h5.",
            ("let the name end in .weights.h5",),
        )
    elif "File format not supported" in message:
        said = (
            "Keras 3 loads models from files that end in .keras or .h5, and not from the folder of a "
            "SavedModel or from a checkpoint of TensorFlow."
        )
        actions = (
            "load the model with the version of Keras that saved it, and save it again as .keras",
            'or use a SavedModel for prediction: keras.layers.TFSMLayer(path, call_endpoint="serving_default")',
        )
    else:
        said = (
            "Keras 3 saves models only to files whose names end in .keras or .h5; folders of SavedModel are "
            "written by model.export."
        )
        actions = ("let the name end in .keras", "or call model.export(path), for a SavedModel that is to be served")
    return create_found(failure, f"{said}{named}", actions)
