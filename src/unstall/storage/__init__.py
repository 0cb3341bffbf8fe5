"""Paths in buckets (gs://, s3://) beside paths on disks: the one seam through which Unstall reaches them.

    path = resolve_path("gs://bucket/coco")      a Path: of a disk as ever, of a bucket one that reads and writes there
    on_disk(path)                           for code that needs a file: the path itself, or a copy
    with whole_at(path) as local: …         for code that writes a file: it is put into the bucket when it is whole

`urls.py` tells the two apart and refuses what cannot be a path; `bucket_path.py` is the path in a bucket; `bucket.py` reads,
writes and lists, bounded in time by `retry.py`; `clients.py` alone loads fsspec, when the first byte is asked for.
"""

from unstall.storage.urls import is_bucket, resolve_path

__all__ = ["is_bucket", "resolve_path"]
