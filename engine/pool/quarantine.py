"""Quarantine for games whose searches keep failing."""

import math
from dataclasses import dataclass, field

from engine.search.job import GameQuarantined

#: Consecutive faults that put a game into quarantine. A fault is a search that raised an error,
#: that failed because each worker that tried it died or hung, or that ended without an answer of a
#: worker because one hung: its answer was the best move before that, or its caller had cancelled it
#: and the worker did not stop.
FAULTS_IN_A_ROW = 3
#: Length of a game's first quarantine after its workers died or hung, in seconds. A machine that
#: has no memory or processor time left ends workers of faultless games too, so the game gets
#: another try. Each further quarantine is twice as long, up to MAX_PAUSE_S.
FIRST_PAUSE_S = 60.0
#: Maximum length of such a quarantine, in seconds.
MAX_PAUSE_S = 3600.0


@dataclass(slots=True)
class _Record:
    """The faults of one version of a game since its last answer."""

    faults: int = 0
    #: The time of the last search that counted because its workers died or hung, in seconds.
    lost_s: float = -math.inf
    #: The message of the fault that started the last quarantine.
    reason: str = ""
    #: The time at which the last quarantine ends, in seconds.
    until_s: float = -math.inf
    next_pause_s: float = FIRST_PAUSE_S


@dataclass(slots=True)
class Quarantine:
    """Counts the faults of each version of a game since its last answer.

    Edited rules have a new digest and start from zero. All times are of one clock, in seconds.
    """

    _records: dict[tuple[str, str], _Record] = field(default_factory=dict)

    def record_answer(self, game_id: str, digest: str, now_s: float) -> None:
        """Resets the count of faults after a search that was answered, but ends no quarantine."""
        record = self._records.get((game_id, digest))
        if record is not None and now_s >= record.until_s:
            del self._records[game_id, digest]

    def record_fault(self, game_id: str, digest: str, message: str, now_s: float) -> bool:
        """Counts a search that raised an error; returns whether that starts the quarantine.

        The quarantine has no end: the same rules would raise again.
        """
        return self._record(game_id, digest, message, now_s, is_lasting=True)

    def record_loss(
        self, game_id: str, digest: str, message: str, begun_s: float, now_s: float
    ) -> bool:
        """Counts a search whose workers died or hung; returns whether that starts the quarantine.

        Only a search that began after the last one that counted does: a machine that was suspended
        or had no memory left loses all the searches of a moment. After the end of the quarantine
        one more fault starts the next one.
        """
        record = self._records.get((game_id, digest))
        if record is not None and begun_s < record.lost_s:
            return False
        self._records.setdefault((game_id, digest), _Record()).lost_s = now_s
        return self._record(game_id, digest, message, now_s, is_lasting=False)

    def error(self, game_id: str, digest: str, now_s: float) -> GameQuarantined | None:
        """The error that refuses a search of this game; None when it is not in quarantine."""
        record = self._records.get((game_id, digest))
        if record is None or now_s >= record.until_s:
            return None
        end = (
            "until its rules change or the server restarts"
            if math.isinf(record.until_s)
            else f"for {math.ceil(record.until_s - now_s)} s"
        )
        return GameQuarantined(
            f"{game_id} gets no more searches {end}: "
            f"{FAULTS_IN_A_ROW} failed in a row, the last one with: {record.reason}",
            record.until_s - now_s,
        )

    def _record(
        self, game_id: str, digest: str, message: str, now_s: float, *, is_lasting: bool
    ) -> bool:
        record = self._records.setdefault((game_id, digest), _Record())
        if now_s < record.until_s:
            return False
        record.faults += 1
        if record.faults < FAULTS_IN_A_ROW:
            return False
        record.reason = message
        if is_lasting:
            record.until_s = math.inf
        else:
            record.until_s = now_s + record.next_pause_s
            record.next_pause_s = min(2 * record.next_pause_s, MAX_PAUSE_S)
        return True
