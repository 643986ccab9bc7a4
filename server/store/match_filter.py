"""The filter of a list of finished matches, and how far a query looks for them."""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from engine.ends import DRAWN_ENDS, has_result
from server.time_controls import UNTIMED, Speed

#: The wanted result: the player won or lost, the match was drawn, or that seat won.
ResultFilter = Literal["won", "lost", "drawn", "first", "second"]

#: The (finished_ms, match) of a match, or of a place between two matches.
Key = tuple[int, str]

#: Maximum number of matches that a query looks at for a page. It looks at all that finished in the
#: same millisecond as one of them.
SCAN_LIMIT = 2000

#: The winner of a finished match that no seat won: nobody, for it was drawn, or nobody, for it has
#: no result: it was aborted, or the AI failed. The winner of any other match is a seat, 0 or 1.
DRAWN, NO_RESULT = 2, 3
#: The first bytes of the stored result of a match, with its winner. That of a match without a
#: result begins with none of them.
OVER_PREFIXES = (
    (b'{"winner":0', 0), (b'{"winner":1', 1),
    *((b'{"winner":null,"how":"%s"' % how.encode(), DRAWN) for how in DRAWN_ENDS),
)  # fmt: skip


def winner_of(winner: int | None, how: str) -> int:
    """The column `winner` of a match that this seat won, or nobody, and that ended like this."""
    if winner is not None:
        return winner
    return DRAWN if has_result(winner, how) else NO_RESULT


def parse_winner(over: bytes) -> int:
    """The winner of a match that an older program finished, from its stored result."""
    return next((winner for prefix, winner in OVER_PREFIXES if over.startswith(prefix)), NO_RESULT)


class MatchFilter(Struct, frozen=True, kw_only=True):
    """The conditions for a match in a list; None accepts any value.

    - `player` is a key as in server/store/match_columns.py. The results "won" and "lost" are those
      of this player; without a player they accept no match.
    - `min_plies` and `max_plies` limit the length, both inclusive.
    - `speed` is the class of the time control. A match of an older program whose row does not have
      it yet counts as untimed.
    - `viewer` is who asks: with a player, the matches of unlisted rooms that both of them played
      are in the list, which are all of the player's if that is the viewer.
    - `since_ms` (inclusive) and `until_ms` (exclusive) limit the time at which the match finished.
    """

    player: str | None = None
    game: str | None = None
    speed: Speed | None = None
    result: ResultFilter | None = None
    min_plies: int = 1
    max_plies: int | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    viewer: str | None = None

    def accepts(
        self,
        game: str,
        players: tuple[str | None, ...],
        winner: int,
        plies: int,
        finished_ms: int,
        speed: str | None,
    ) -> bool:
        """Whether the filter accepts a match with these properties."""
        return (
            self.game in (None, game)
            and self.speed in (None, speed or UNTIMED)
            and (self.player is None or self.player in players)
            and self.min_plies <= plies
            and (self.max_plies is None or plies <= self.max_plies)
            and self.is_dated(finished_ms)
            and self._accepts_winner(players, winner)
        )

    def is_dated(self, finished_ms: int) -> bool:
        """Whether a match that finished then is within the dates of the filter."""
        is_late_enough = self.since_ms is None or self.since_ms <= finished_ms
        return is_late_enough and (self.until_ms is None or finished_ms < self.until_ms)

    def _accepts_winner(self, players: tuple[str | None, ...], winner: int) -> bool:
        if self.result is None:
            return True
        if (wanted := self.wanted_winner()) is not None:
            return winner == wanted
        return any(
            self.player is not None and players[seat] == self.player and winner == wanted
            for seat, wanted in enumerate(self.winners_by_seat())
        )

    def wanted_winner(self) -> int | None:
        """The winner that the result demands; None if it depends on the player's seat."""
        return {"first": 0, "second": 1, "drawn": DRAWN}.get(self.result or "")

    def winners_by_seat(self) -> tuple[int, int]:
        """For each seat, the winner of the matches that its player won, or lost."""
        return (0, 1) if self.result == "won" else (1, 0)


#: The filter that accepts every match.
EVERY_MATCH = MatchFilter()


def scan_end(ends_ms: Iterable[int | None], before: Key | None, after: Key | None) -> int | None:
    """The time of the first matches, in the order of a scan, that are beyond its limit; None if it
    has none.

    `ends_ms` has that time for each index that is scanned. At least one time is scanned, so that a
    list that goes on at `scan_rest` comes to its end.
    """
    found = [end_ms for end_ms in ends_ms if end_ms is not None]
    if not found:
        return None
    if after is not None:
        return max(min(found), after[0] + 1)
    if before is not None:
        at_ms, match = before
        return min(max(found), at_ms - 1 if match else at_ms - 2)
    return max(found)


def scan_rest(end_ms: int, *, is_newer: bool) -> Key:
    """The cursor at which a list goes on after a scan that ended at `end_ms`.

    It is for matches that are newer than those of the scan, or older.
    """
    return (end_ms, "") if is_newer else (end_ms + 1, "")
