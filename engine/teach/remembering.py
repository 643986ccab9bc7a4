"""A game that remembers what it has computed, for a search that meets a position many times.

Different orders of the same moves lead to the same position, and the legal moves in plain Python
take longer than everything else that a search of chess does.
"""

from engine.game import Game, State

#: Maximum number of states that a search remembers.
MAX_STATES = 50_000


class RememberingGame(Game):
    """A game that computes the result and the moves of a state once."""

    __slots__ = ("_known", "original")

    def __init__(self, original: Game) -> None:
        super().__init__(original.module, original.digest)
        self.original = original
        self._known: dict[State, tuple[int, list[int]]] = {}

    def result_and_moves(self, state: State) -> tuple[int, list[int]]:
        """Returns the same as the original game; the caller must not change the list."""
        known = self._known.get(state)
        if known is None:
            known = self.original.result_and_moves(state)
            if len(self._known) < MAX_STATES:
                self._known[state] = known
        return known
