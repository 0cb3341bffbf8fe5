"""The images of the records are encoded otherwise than the records say, or in several ways.

What it is
----------
`image/format` says png and the bytes are those of a JPEG, or some records of a file hold PNG and others JPEG.

What it does to a training
--------------------------
A program that calls the decoder of one kind, or trusts the field, stops at the first image of the other kind. What is decoded
may differ in its channels: PNG may bring a fourth.

How we know
-----------
While reading: the first bytes of each image against the field, and against each other.

When this is wrong
------------------
If the reader decodes by the bytes, as `tf.io.decode_image` does; then nothing goes wrong.

What to do
----------
Decode by the bytes, or encode all images in one way.
"""

from __future__ import annotations

from unstall.data.check.context import CheckedData, Severity
from unstall.data.example import Finding

SEVERITY = Severity.WARNING


def examine(checked: CheckedData) -> list[Finding]:
    return checked.own("encodings_mixed")
