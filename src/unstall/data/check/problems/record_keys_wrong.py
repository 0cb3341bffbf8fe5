"""A record lacks a feature that is needed, or names it differently.

What it is
----------
A TFRecord example has no `image/encoded`, no corners of boxes, or lists of boxes and classes that differ in length; often the
keys have other names than the TF Object Detection API gives them.

What it does to a training
--------------------------
TensorFlow stops with 'Key: image/encoded … is required but could not be found'; or, where a default is given, every image
comes without boxes and the detector learns that there is nothing to find.

How we know
-----------
While reading: the keys that are there are told beside those that are needed.

When this is wrong
------------------
If the records belong to another reader with keys of its own.

What to do
----------
Write the records again with the keys that are named, or convert: `unstall data convert`.
"""

from __future__ import annotations

from unstall.data.check.context import CheckedData, Severity
from unstall.data.example import Finding

SEVERITY = Severity.ERROR


def examine(checked: CheckedData) -> list[Finding]:
    return checked.own("record_keys_wrong")
