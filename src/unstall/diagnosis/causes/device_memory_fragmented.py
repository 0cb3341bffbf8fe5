"""The program holds enough free device memory, but in pieces that are too small.

What it is
----------
The framework's allocator has taken memory from the card and has free pieces of it, together more than was asked for,
but no single piece is large enough. It comes with tensors of ever different sizes: images or boxes that vary from batch
to batch.

How we know
-----------
At the error the allocator's own count shows more unused memory than was asked for (PyTorch: reserved but unallocated;
JAX and TensorFlow: limit less use, with the largest free piece below what was asked for).

When this is wrong
------------------
If a part of what the allocator holds is pinned by a library and only looks unused.

What to do
----------
PyTorch: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True. TensorFlow: TF_GPU_ALLOCATOR=cuda_malloc_async. Better: give
batches few fixed shapes, by padding or buckets.
"""

from __future__ import annotations

from unstall.diagnosis.errors.fatal_error import find_user_line
from unstall.diagnosis.out_of_memory import describe_not_seen, find_device_shortage, format_gib
from unstall.diagnosis.verdict import Certainty, Clear, Evidence, Found, Verdict
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder


def examine(journal: Journal) -> Verdict:
    short = find_device_shortage(journal)
    if short is None:
        return describe_not_seen(journal) or Clear("no device ran out of memory")
    if short.asked is None or short.held_but_unused is None:
        return Clear("nothing tells of free pieces")
    if short.held_but_unused + (short.free_on_card or 0 if short.largest_piece is None else 0) < short.asked:
        return Clear("there was too little memory, in pieces or not")
    if short.held_but_unused < short.asked:
        return Clear("what the program held unused was too little by itself")
    if short.largest_piece is not None and short.largest_piece >= short.asked:
        return Clear("one piece was large enough")
    is_torch = short.shortage.error.kind.startswith("torch")
    largest = f"; the largest piece has {format_gib(short.largest_piece)}" if short.largest_piece is not None else ""
    setting = (
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True" if is_torch else "TF_GPU_ALLOCATOR=cuda_malloc_async (TensorFlow)"
    )
    return Found(
        certainty=Certainty.CERTAIN if is_torch or short.largest_piece is not None else Certainty.LIKELY,
        summary=f"{format_gib(short.asked)} were asked for and the program holds {format_gib(short.held_but_unused)} unused, "
        f"but in pieces{largest}: the memory is fragmented.",
        evidence=(
            Evidence(f"the error that ended it: {short.shortage.text}", short.asked, None, (short.shortage.error,)),
            Evidence(
                f"{format_gib(short.held_but_unused)} held and unused at the error",
                short.held_but_unused,
                short.asked,
                short.events,
            ),
        ),
        actions=(f"set {setting} before the start", "give batches few fixed shapes, by padding or by buckets"),
        where=find_user_line(short.shortage.error, find_program_folder(journal)),
    )
