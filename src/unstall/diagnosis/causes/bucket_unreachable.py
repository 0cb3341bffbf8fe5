"""A bucket that the program reads from or writes to cannot be reached, or does not let it in.

What it is
----------
Data, weights or checkpoints lie in object storage (gs://, s3://), and a request there failed for good: the credentials are
missing, have expired or may not do this; there is no such bucket; the service answers that it is busy, or not at all.

How we know
-----------
The error that ended the program says so: one of Unstall's own trainer, or one of gcsfs, s3fs, google-cloud-storage, botocore or
TensorFlow's gs:// file system, by its text or by the library in its traceback. Why it failed is read from that text: HTTP 401 and
403, what the services call it (AccessDenied, ExpiredToken, BucketNotFoundError, SlowDown), or that no connection came about.

When this is wrong
------------------
An error that the program raises itself, with such a text, for another reason. That a single object is not there is another
fault, and is not told here.

What to do
----------
Sign in, or have the account be given the bucket; correct its name; see that the machine reaches it. A training of `unstall train`
goes on from its checkpoint: `unstall train --resume RUN`.
"""

from __future__ import annotations

import re

from unstall.diagnosis.errors.fatal_error import find_fatal_error, find_unseen_end, find_user_line, format_texts, get_first_line
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Verdict
from unstall.journal.events import ErrorRaised
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder

_OURS = re.compile(r"(?P<place>(?:gs|s3)://\S*) cannot be (?:read|written|listed|deleted): (?P<why>.+)", re.DOTALL)
_PLACE = re.compile(r"(?:gs|s3)://[^\s'\"]+")
_SPEAKS_OF_STORAGE = re.compile(
    r"(?:gs|s3)://|storage\.googleapis\.com|storage\.(?:objects|buckets)\.|/storage/v1/|\bs3[.-][\w.-]*amazonaws\.com"
    r"|\b(?:Get|Put|Head|Copy|Delete)Object\b|\bListObjects(?:V2)?\b|\bHeadBucket\b|\bUploadPart\b"
)
_LIBRARY = re.compile(r"/(?:gcsfs|s3fs|s3transfer|google/cloud/storage)/")


def _answered(codes: str) -> str:
    """A number as an answer of HTTP stands in a text: of pixels or classes there may be 403, too."""
    methods = r"GET|POST|PUT|HEAD|DELETE|Client|Server|Forbidden|Unauthori[sz]ed|Too Many|Internal|Bad|Service|Gateway|message="
    return rf"(?:HTTP(?:/\d\.\d)?|[Ss]tatus(?:[_ ]code)?|[Cc]ode|[Rr]esponse)\W{{1,4}}(?:{codes})\b|\b(?:{codes}),? (?:{methods})"


# What the service or its library says, and what it means; in this order.
_MEANS = (
    ("absent", re.compile(r"BucketNotFoundError|[Bb]ucket does not exist|there is no such bucket")),
    (
        "denied",
        re.compile(
            _answered("40[13]")
            + r"|\b[Ff]orbidden\b|Access ?Denied|access is denied|PermissionDenied|Unauthori[sz]ed|Unauthenticated"
            r"|ExpiredToken|InvalidAccessKeyId|SignatureDoesNotMatch|[Cc]redentials"
        ),
    ),
    (
        "away",
        re.compile(
            _answered("429|50[0234]")
            + r"|SlowDown|TooManyRequests|ServiceUnavailable|EndpointConnection|Connect(?:ion)?Timeout|ReadTimeout"
            r"|[Cc]ould ?n.t (?:connect|resolve)|Could not connect|Cannot connect|Connection (?:refused|reset|aborted)|timed out"
            r"|falls silent|connection breaks|not available|asked too often"
        ),
    ),
)
_SAID = {
    "absent": "there is no such bucket",
    "denied": "the account is not let in, or its credentials do not hold",
    "away": "no answer came in time, or the service answered that it cannot serve the request now",
}
_DO = {
    "absent": ("correct the name of the bucket; a variable in it may not be set",),
    "denied": (
        "sign in: gcloud auth application-default login; aws sso login; or a key that holds",
        "have the account be given the bucket: `unstall cloud check --bucket gs://NAME` tries what it may do",
    ),
    "away": (
        "see that this machine reaches the service: `unstall cloud check --bucket gs://NAME`",
        "many small files ask too often: `unstall data pack SRC DST`",
    ),
}


def examine(journal: Journal) -> Verdict:
    error = find_fatal_error(journal)
    if error is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    for text in format_texts(error):
        if _OURS.search(text) or _SPEAKS_OF_STORAGE.search(text) or _came_from_a_library(error):
            meaning = next((name for name, said in _MEANS if said.search(text)), None)
            if meaning is not None:
                return _found(journal, error, text, meaning)
    return Clear("the error is about something else")


def _came_from_a_library(error: ErrorRaised) -> bool:
    return any(_LIBRARY.search(frame["file"]) for frame in error.frames)


def _found(journal: Journal, error: ErrorRaised, text: str, meaning: str) -> Found:
    ours = _OURS.search(text)
    named = _PLACE.search(text)
    place = ours["place"] if ours else named[0] if named else "a bucket"
    why = _SAID[meaning] if ours is None else ours["why"].partition(". Sign in:")[0].rstrip(".")
    return Found(
        certainty=Certainty.CERTAIN if ours else Certainty.LIKELY,
        summary=f"{place[:1].upper() + place[1:] if place == 'a bucket' else place} cannot be used: {why}.",
        evidence=(Evidence(f"the error that ended it: {get_first_line(text)}", text[:500], None, (error,)),),
        actions=(*_DO[meaning], "then go on from the last checkpoint"),
        where=find_user_line(error, find_program_folder(journal)),
        effect=Effect.STOPS,
    )
