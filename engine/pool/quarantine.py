"""Quarantine for games whose own rules keep making their searches fail."""

from dataclasses import dataclass, field

from engine.search.job import GameQuarantined

#: Consecutive faults that put a game into quarantine. A fault is a search that raised, or over
#: which all the workers that tried it died or hung.
FAULTS_IN_A_ROW = 3


@dataclass(slots=True)
class Quarantine:
    """Counts the faults of each version of a game since its last answer.

    Edited rules have a new digest and start from zero.
    """

    _faults: dict[tuple[str, str], int] = field(default_factory=dict)
    _why: dict[tuple[str, str], str] = field(default_factory=dict)

    def answered(self, game_id: str, digest: str) -> None:
        self._faults.pop((game_id, digest), None)

    def fault(self, game_id: str, digest: str, message: str) -> bool:
        """Counts a search that the game's rules made fail; true if it starts the quarantine."""
        key = (game_id, digest)
        if key in self._why:
            return False
        self._faults[key] = self._faults.get(key, 0) + 1
        if self._faults[key] < FAULTS_IN_A_ROW:
            return False
        self._why[key] = message
        return True

    def error(self, game_id: str, digest: str) -> GameQuarantined | None:
        """The error that refuses a search of this game; None when it is not in quarantine."""
        why = self._why.get((game_id, digest))
        if why is None:
            return None
        return GameQuarantined(
            f"{game_id} gets no more searches until its rules change or the server restarts: "
            f"{FAULTS_IN_A_ROW} failed in a row, the last one with: {why}"
        )
