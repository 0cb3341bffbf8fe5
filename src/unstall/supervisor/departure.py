"""A program that moves again after a stall: has it gone on, or is it only on its way out?

Who meets a hang ends the program. Then it moves, too: the interrupt unwinds its stack, it saves, it cleans up. The stall has
lasted to the end all the same, unless a training step is made.
"""

from __future__ import annotations

import signal

from unstall.diagnosis.stalls import was_asked_to_end
from unstall.journal.events import ENDING, FitBegan, SignalSent, StallBegan
from unstall.journal.pulse import Beat
from unstall.journal.reader import Journal

ASIDE = frozenset({"validate", "predict"})
LEAVES_WITHIN_S = 60.0  # of the signal: a program without visible steps that works for longer has gone on in spite of it


def is_signal_pending() -> bool:
    """Somebody asks for the end, and it has not been passed on yet: what is seen from now on may be the program's way out."""
    return bool(ENDING & signal.sigpending())


def is_leaving(journal: Journal, stall: StallBegan, before: Beat | None, beat: Beat | None, moved_at: float) -> bool:
    """Whether it moves only because it was asked to end. `before` is its pulse when the stall was noticed."""
    if not (is_signal_pending() or was_asked_to_end(journal, stall)):
        return False
    if before is None or beat is None:
        asked = max((sent.at for sent in journal.since(SignalSent, stall.since) if sent.asks_for_the_end), default=moved_at)
        return moved_at <= asked + LEAVES_WITHIN_S
    fit = journal.last(FitBegan)
    has_begun_again = fit is not None and fit.at > stall.at
    # Of a validation its own steps count. Those of a training are told late, on the way out: only their number tells.
    has_gone_on_aside = beat.phase == before.phase and beat.phase in ASIDE and beat.steps_done > before.steps_done
    return not (has_begun_again or has_gone_on_aside or beat.step > before.step)
