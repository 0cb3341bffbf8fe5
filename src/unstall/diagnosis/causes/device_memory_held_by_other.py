"""Another process holds the device memory that this training lacks.

What it is
----------
A notebook kernel that was never shut down, a run that was left over, a colleague's job: it holds a part of the card,
and what is left is too little. "It worked yesterday" is often this.

How we know
-----------
The framework's error ended the program for want of device memory. NVML, or the error itself, names another process and
how much it holds; with that much free, what was asked for would have fitted.

When this is wrong
------------------
If the training would have asked for still more afterwards. In a container the other process may have no name, only a
number.

What to do
----------
End the other process if it is yours, or choose another card with CUDA_VISIBLE_DEVICES. TensorFlow and JAX take nearly
all the card at the start: let them grow instead (TF_FORCE_GPU_ALLOW_GROWTH=true, XLA_PYTHON_CLIENT_PREALLOCATE=false).
"""

from __future__ import annotations

from unstall.diagnosis.errors.fatal_error import find_user_line
from unstall.diagnosis.out_of_memory import describe_not_seen, find_device_shortage, format_gib
from unstall.diagnosis.verdict import Certainty, Clear, Evidence, Found, Verdict
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder

MIN_BYTES = 256 * 2**20  # a process that holds less has only opened the card


def examine(journal: Journal) -> Verdict:
    short = find_device_shortage(journal)
    if short is None:
        return describe_not_seen(journal) or Clear("no device ran out of memory")
    others = [process for process in short.others if int(process["bytes"]) >= MIN_BYTES]
    held = sum(int(process["bytes"]) for process in others)
    if not others:
        return Clear("nobody else was on the card")
    would_fit = short.asked is not None and short.asked <= held + (short.free_on_card or 0)
    if not would_fit:
        return Clear("it would not have fitted without the others either")
    first = others[0]
    name = f" ({first['name']})" if first["name"] else ""
    more = f" and {len(others) - 1} more" if len(others) > 1 else ""
    return Found(
        certainty=Certainty.CERTAIN,
        summary=f"Process {first['pid']}{name}{more} holds {format_gib(held)} of the card's {format_gib(short.capacity)}; "
        f"{format_gib(short.asked)} were asked for and {format_gib(short.free_on_card)} were free.",
        evidence=(
            Evidence(f"the error that ended it: {short.shortage.text}", short.asked, short.free_on_card, (short.shortage.error,)),
            Evidence(f"process {first['pid']} holds {format_gib(int(first['bytes']))} of the card", held, None, short.events),
        ),
        actions=(
            f"end process {first['pid']} if it is yours (a notebook's kernel, a run left over), or wait for it",
            "or choose another card: CUDA_VISIBLE_DEVICES=1",
        ),
        where=find_user_line(short.shortage.error, find_program_folder(journal)),
    )
