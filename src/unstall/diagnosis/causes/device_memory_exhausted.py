"""The training needs more memory than the card has.

What it is
----------
Weights, optimizer, activations and batch together do not fit on the device, with nobody else on it. It appears at the
first step, or at the first large batch: images of another size, more boxes in an image, a validation with a larger
batch.

How we know
-----------
The framework's own error ended the program: it asked for so much, and so much was free. No other process holds a part
of the card that would have made the difference, and the program's own allocator holds no free memory that would have
been enough.

When this is wrong
------------------
If the memory of another process was given back before it could be seen. Where fragmentation or another process explains
the failure, those causes are named instead.

What to do
----------
Make the batch or the images smaller; use mixed precision; accumulate gradients over smaller batches; rematerialise
blocks. If it worked before, find out what grew.
"""

from __future__ import annotations

from unstall.base.formatting import format_count
from unstall.diagnosis.causes import device_memory_fragmented, device_memory_held_by_other
from unstall.diagnosis.errors.fatal_error import count_steps_by_then, describe_steps, find_user_line
from unstall.diagnosis.out_of_memory import describe_not_seen, find_device_shortage, format_gib
from unstall.diagnosis.verdict import Certainty, Clear, Evidence, Found, Verdict
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder

EXPLAINS = ("compiling_long",)


def examine(journal: Journal) -> Verdict:
    short = find_device_shortage(journal)
    if short is None:
        return describe_not_seen(journal) or Clear("no device ran out of memory")
    for narrower in (device_memory_held_by_other, device_memory_fragmented):
        if isinstance(narrower.examine(journal), Found):
            return Clear("a narrower cause explains it")
    asked = f"{format_gib(short.asked)} more were asked for" if short.asked else "more was asked for than there is"
    free = f", {format_gib(short.free_on_card)} of {format_gib(short.capacity)} were free" if short.capacity else ""
    made = count_steps_by_then(journal, short.shortage.error)
    evidence = [Evidence(f"the error that ended it: {short.shortage.text}", short.asked, short.free_on_card, short.events)]
    if made:
        evidence.append(Evidence(f"{format_count(made, 'step')} fitted before it", made, None, (short.shortage.error,)))
    return Found(
        certainty=Certainty.CERTAIN,
        summary=f"The card has too little memory for this program: {asked}{free}.{describe_steps(made)}",
        evidence=tuple(evidence),
        actions=(
            "make the batch or the images smaller, or accumulate gradients over smaller batches",
            "use mixed precision: keras.mixed_precision.set_global_policy('mixed_bfloat16')",
        ),
        where=find_user_line(short.shortage.error, find_program_folder(journal)),
    )
