"""Quarantine for games whose own rules keep making their searches fail."""

from dataclasses import dataclass, field

from engine.search.job import GameQuarantined

#: Consecutive faults that put a game into quarantine. A fault is a search that raised an error, or
#: that failed because each worker that tried it died or hung.
FAULTS_IN_A_ROW = 3


@dataclass(slots=True)
class Quarantine:
    """Counts the faults of each version of a game since its last answer.

    Edited rules have a new digest and start from zero.
    """

    _faults: dict[tuple[str, str], int] = field(default_factory=dict)
    _reasons: dict[tuple[str, str], str] = field(default_factory=dict)

    def record_answer(self, game_id: str, digest: str) -> None:
        """Resets the count of faults after a search that was answered."""
        self._faults.pop((game_id, digest), None)

    def record_fault(self, game_id: str, digest: str, message: str) -> bool:
        """Counts a fault; returns whether it starts the quarantine."""
        key = (game_id, digest)
        if key in self._reasons:
            return False
        self._faults[key] = self._faults.get(key, 0) + 1
        if self._faults[key] < FAULTS_IN_A_ROW:
            return False
        self._reasons[key] = message
        return True

    def error(self, game_id: str, digest: str) -> GameQuarantined | None:
        """The error that refuses a search of this game; None when it is not in quarantine."""
        reason = self._reasons.get((game_id, digest))
        if reason is None:
            return None
        return GameQuarantined(
            f"{game_id} gets no more searches until its rules change or the server restarts: "
            f"{FAULTS_IN_A_ROW} failed in a row, the last one with: {reason}"
        )
