"""The label map gives one number, or one name, twice.

What it is
----------
Two entries of the label map, the categories or the list of names have the same number or the same name.

What it does to a training
--------------------------
Which of them counts depends on the loader: two classes are taught as one, or one class as two, which then fight for every
object.

How we know
-----------
While reading the label map, the categories or the list of names.

When this is wrong
------------------
If two names were given one number on purpose, to merge classes.

What to do
----------
Give each class one name and one number.
"""

from __future__ import annotations

from unstall.data.check.context import CheckedData, Severity
from unstall.data.example import Finding

SEVERITY = Severity.ERROR


def examine(checked: CheckedData) -> list[Finding]:
    return checked.own("label_map_duplicates")
