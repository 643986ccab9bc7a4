"""Which finished matches a list shows."""

from typing import Literal

from msgspec import Struct

#: A result: the player won, lost or drew; the first or the second seat won.
Result = Literal["won", "lost", "drawn", "first", "second"]

#: The start of the stored result of a match that each seat won.
WON_PREFIXES = (b'{"winner":0', b'{"winner":1')
#: The starts of the stored results of drawn matches. An aborted match has no winner either.
DRAWN_PREFIXES = tuple(
    b'{"winner":null,"how":"%s"' % how for how in (b"board", b"claim", b"agreement", b"gone")
)


class MatchFilter(Struct, frozen=True, kw_only=True):
    """Leaves out the matches of other players and games, with other results, lengths and dates.

    - `player` is a key as in server/store/players.py. The results "won" and "lost" are those of
      this player, and match nothing without one.
    - `min_plies` and `max_plies` limit the length, both inclusive.
    - `since_ms` is the first moment at which a match may have finished, `until_ms` the first one
      after that.
    """

    player: str | None = None
    game: str | None = None
    result: Result | None = None
    min_plies: int = 1
    max_plies: int | None = None
    since_ms: int | None = None
    until_ms: int | None = None

    def accepts(
        self, game: str, players: tuple[str | None, ...], over: bytes, plies: int, finished_ms: int
    ) -> bool:
        """Whether a list with this filter shows a match with these properties."""
        return (
            self.game in (None, game)
            and (self.player is None or self.player in players)
            and self.min_plies <= plies
            and (self.max_plies is None or plies <= self.max_plies)
            and (self.since_ms is None or self.since_ms <= finished_ms)
            and (self.until_ms is None or finished_ms < self.until_ms)
            and self._accepts_result(players, over)
        )

    def _accepts_result(self, players: tuple[str | None, ...], over: bytes) -> bool:
        if self.result is None:
            return True
        if self.result == "drawn":
            return over.startswith(DRAWN_PREFIXES)
        if self.result in ("first", "second"):
            return over.startswith(WON_PREFIXES[self.result == "second"])
        return any(
            over.startswith(prefix) and self.player is not None and players[seat] == self.player
            for seat, prefix in self.won_by(self.result == "won")
        )

    @staticmethod
    def won_by(is_won: bool) -> list[tuple[int, bytes]]:
        """The seats of a player who won, or lost, each with the start of that match's result."""
        return [(seat, WON_PREFIXES[seat if is_won else 1 - seat]) for seat in (0, 1)]


#: The filter of a list that shows every match.
EVERY_MATCH = MatchFilter()
