"""tf.train.Example without TensorFlow: its definition is built here, in a pool of its own; TensorFlow's may stand beside it.

message Example  { Features features = 1; }
message Features { map<string, Feature> feature = 1; }
message Feature  { oneof kind { BytesList bytes_list = 1; FloatList float_list = 2; Int64List int64_list = 3; } }
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory

from unstall.data.io.reader import Unparsable

Values = Sequence[bytes] | Sequence[float] | Sequence[int]
KINDS = {"bytes_list": "bytes", "float_list": "float", "int64_list": "int64"}
_FIELD = descriptor_pb2.FieldDescriptorProto


@cache
def _example_class() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="unstall_example.proto", package="unstall", syntax="proto3")
    for name, kind in (("BytesList", _FIELD.TYPE_BYTES), ("FloatList", _FIELD.TYPE_FLOAT), ("Int64List", _FIELD.TYPE_INT64)):
        file.message_type.add(name=name).field.add(name="value", number=1, type=kind, label=_FIELD.LABEL_REPEATED)
    feature = file.message_type.add(name="Feature")
    feature.oneof_decl.add(name="kind")
    for number, (field, kind_name) in enumerate(
        (("bytes_list", "BytesList"), ("float_list", "FloatList"), ("int64_list", "Int64List")), start=1
    ):
        feature.field.add(name=field, number=number, oneof_index=0, **_of(f".unstall.{kind_name}"))
    features = file.message_type.add(name="Features")
    entry = features.nested_type.add(name="FeatureEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=_FIELD.TYPE_STRING, label=_FIELD.LABEL_OPTIONAL)
    entry.field.add(name="value", number=2, **_of(".unstall.Feature"))
    features.field.add(
        name="feature",
        number=1,
        type=_FIELD.TYPE_MESSAGE,
        label=_FIELD.LABEL_REPEATED,
        type_name=".unstall.Features.FeatureEntry",
    )
    file.message_type.add(name="Example").field.add(name="features", number=1, **_of(".unstall.Features"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("unstall.Example"))


def _of(type_name: str) -> dict[str, Any]:
    return {"type": _FIELD.TYPE_MESSAGE, "label": _FIELD.LABEL_OPTIONAL, "type_name": type_name}


def parse_features(data: bytes) -> dict[str, tuple[str, Values]]:
    """Key to kind ('bytes', 'float', 'int64'; empty for a feature without one) and values."""
    example = _example_class()()
    try:
        example.ParseFromString(data)
    except message.DecodeError:
        raise Unparsable("No tf.train.Example: the bytes are not of this message.") from None
    found: dict[str, tuple[str, Values]] = {}
    for key, feature in example.features.feature.items():
        field = feature.WhichOneof("kind")
        found[key] = (KINDS[field], getattr(feature, field).value) if field else ("", ())
    return found


def encode_example(values: Mapping[str, Values]) -> bytes:
    """The kind of each feature is that of its values; one of none is of floats where it is a box, else of whole numbers."""
    example = _example_class()()
    for key, items in values.items():
        first = items[0] if len(items) else 0.0 if "/bbox/" in key else b"" if key.endswith("/text") else 0
        field = "bytes_list" if isinstance(first, bytes) else "float_list" if isinstance(first, float) else "int64_list"
        values_of = getattr(example.features.feature[key], field)
        values_of.SetInParent()  # so that an empty list is of its kind, too
        values_of.value.extend(items)
    result: bytes = example.SerializeToString(deterministic=True)
    return result
