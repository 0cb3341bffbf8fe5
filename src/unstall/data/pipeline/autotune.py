"""How many threads make examples at once: as many as help, and no more.

Reading, decoding and resizing let go of the interpreter's lock, all else of an example holds it for a tenth of a millisecond or
two. Threads beyond what is needed mostly queue up for it, and with them the thread that trains: it launches a step by a hundred
small calls, each of which lets go of the lock and queues up again. So it begins with few. While the training waits, one step more
or less is tried, and kept if more examples come of it; while hands are idle, one is sent home.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from statistics import median

FIRST = 3  # hands to begin with
LADDER = (1, 2, 3, 5, 8, 12, 18, 27, 40, 60, 90, 135, 200, 300, 450, 675, 1024)
PERIOD_S = 1.0  # between looks, at least
MIN_BATCHES = 3  # that were taken in between
WAITED_SHARE = 0.01  # of the time; a training that waits longer is hungry
BEHIND_SHARE = 0.5  # of what is to be made ahead: more of it not yet begun, and the training will wait soon
BETTER = 1.03  # times as many examples as before
IDLE_THREADS = 1.2  # one can go, and the others are not busy all the time
IDLE_PERIODS = 3  # in a row
RECENT = 5  # batches
GAP_S, GAP_TIMES = 3.0, 10.0  # between two batches, and times as long as usual: nobody trained meanwhile, or all was stopped
FIRST_PAUSE_S, LONGEST_PAUSE_S = 10.0, 600.0  # after trials that were in vain, both ways


@dataclass(frozen=True, slots=True)
class ThroughputSample:
    """Counted from the beginning on."""

    at: float
    batches: int = 0  # that the training took
    made: int = 0  # examples
    waited_s: float = 0.0  # the training, for batches
    idle_s: float = 0.0  # the hands, all together
    behind: float = 0.0  # of what is to be made ahead, the share that is not begun; of this moment


class ThreadAutotuner:
    def __init__(self, most: int, at: float) -> None:
        self.most = most
        self.count = min(most, FIRST)
        self._last, self._looked_at = ThroughputSample(at), at
        self._recent_s: deque[float] = deque(maxlen=RECENT)  # between two looks
        self._idle_periods = 0
        self._tried: tuple[int, float] | None = None  # hands before a trial, and examples a second that they made
        self._way = 1  # up the ladder, or down
        self._failed_trials = 0  # ways that did not help, one after the other
        self._pause_s = FIRST_PAUSE_S
        self._paused_until = at

    def look(self, seen: ThroughputSample) -> int:
        """How many there should be from now on."""
        if self._is_gap(seen.at - self._looked_at):
            self._restart(seen)
        self._looked_at = seen.at
        last, seconds = self._last, seen.at - self._last.at
        if seconds < PERIOD_S or seen.batches - last.batches < MIN_BATCHES:
            return self.count
        self._last = seen
        rate = (seen.made - last.made) / seconds
        if (seen.waited_s - last.waited_s) / seconds > WAITED_SHARE or seen.behind > BEHIND_SHARE:
            self._idle_periods = 0
            self._feed(seen.at, rate)
        else:
            self._rest((seen.idle_s - last.idle_s) / seconds)
        return self.count

    def _is_gap(self, seconds: float) -> bool:
        usual = median(self._recent_s) if self._recent_s else seconds
        self._recent_s.append(seconds)
        return seconds > GAP_S and seconds > GAP_TIMES * usual

    def _restart(self, seen: ThroughputSample) -> None:
        """A period with a gap in it says nothing, and a trial that it was in is not judged."""
        self._last = seen
        if self._tried is not None:
            self.count, self._tried = self._tried[0], None

    # --- while the training waits ---

    def _feed(self, now: float, rate: float) -> None:
        if self._tried is not None:
            before, rate_before = self._tried
            self._tried = None
            if rate < BETTER * rate_before:
                self.count, rate = before, rate_before
                self._turn(now)
            else:
                self._failed_trials, self._pause_s = 0, FIRST_PAUSE_S
        if now >= self._paused_until:
            self._try(now, rate)

    def _try(self, now: float, rate: float) -> None:
        wanted = self._next_rung()
        if wanted == self.count:
            self._turn(now)
            wanted = self._next_rung() if now >= self._paused_until else self.count
        if wanted != self.count:
            self._tried = (self.count, rate)
            self.count = wanted

    def _turn(self, now: float) -> None:
        """The other way next time; after both in vain, not for a while."""
        self._way, self._failed_trials = -self._way, self._failed_trials + 1
        if self._failed_trials >= 2:
            self._way, self._failed_trials = 1, 0
            self._paused_until = now + self._pause_s
            self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)

    def _next_rung(self) -> int:
        if self._way > 0:
            return min(self.most, next((rung for rung in LADDER if rung > self.count), self.most))
        return max((rung for rung in LADDER if rung < self.count), default=self.count)

    # --- while it does not ---

    def _rest(self, idle_threads: float) -> None:
        self._tried = None  # it helped, or was not needed: then some will be idle
        self._way, self._failed_trials, self._pause_s = 1, 0, FIRST_PAUSE_S
        self._idle_periods = self._idle_periods + 1 if idle_threads > IDLE_THREADS else 0
        if self._idle_periods >= IDLE_PERIODS and self.count > 1:
            self.count, self._idle_periods = self.count - 1, 0
