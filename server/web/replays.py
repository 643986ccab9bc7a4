"""Pictures of the plies of matches: drawn one ply at a time between the server's other work, and
kept for a while.

To draw a match of chess takes some tens of milliseconds, in which a loop that did nothing else
would serve nobody. So the whole process draws one ply a turn of the loop, whoever asks.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from engine.game import Position

KEPT_BYTES = 32 * 2**20
#: What a ply's position takes besides its picture, about.
PLY_BYTES = 2048
CHARGED_PLIES = 100

_encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class Film:
    """A match's pictures from its first ply on, as far as somebody wanted them."""

    #: Of the last picture.
    position: Position
    #: The moves that lead there.
    moves: list[str] = field(default_factory=list)
    frames: list[bytes] = field(default_factory=list)
    kept_bytes: int = 0

    def add(self, frame: bytes) -> None:
        """The picture of the next ply."""
        self.frames.append(frame)
        self.kept_bytes += len(frame) + PLY_BYTES


class Replays:
    """Draws and keeps films, of all matches together at most `kept_bytes`; the least wanted go
    first.
    """

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._limit_bytes = kept_bytes
        self._films: OrderedDict[str, Film] = OrderedDict()
        self._turn = asyncio.Lock()
        self.kept_bytes = 0

    async def page(
        self,
        match: str,
        start: Position,
        moves: Sequence[str],
        first: int,
        last: int,
        charge: Callable[[], None],
        gone: Callable[[], bool],
    ) -> bytes:
        """The pictures from ply `first` to ply `last` as the members of a JSON array.

        `charge` is called once for each CHARGED_PLIES plies that must be drawn, and may refuse by
        raising. Raises what a game raises, and ConnectionError when `gone` tells that nobody waits
        any more.
        """
        film = self._find(match, start, moves)
        missing = last + 1 - len(film.frames)
        for _ in range(0, missing, CHARGED_PLIES):
            charge()
        while len(film.frames) <= last:
            async with self._turn:
                if gone():
                    raise ConnectionError("nobody waits for these pictures any more")
                if len(film.frames) <= last:  # another request may have drawn it meanwhile
                    self._draw_next(match, film, moves)
                await asyncio.sleep(0)
        return b",".join(film.frames[first : last + 1])

    def _find(self, match: str, start: Position, moves: Sequence[str]) -> Film:
        """The film of that match, a new one if the one that is kept shows other moves."""
        film = self._films.get(match)
        if film is None or any(one != other for one, other in zip(film.moves, moves, strict=False)):
            self._forget(match)
            film = self._films[match] = Film(start)
        self._films.move_to_end(match)
        return film

    def _draw_next(self, match: str, film: Film, moves: Sequence[str]) -> None:
        """What a game raises leaves the film as it was."""
        ply = len(film.frames)
        position = film.position.replay(moves[ply - 1]) if ply else film.position
        frame = _encode({"ply": ply, "view": position.view()})
        film.position = position
        film.moves += moves[ply - 1 : ply] if ply else ()
        before_bytes = film.kept_bytes
        film.add(frame)
        if self._films.get(match) is film:
            self.kept_bytes += film.kept_bytes - before_bytes
            self._make_room()

    def _make_room(self) -> None:
        """A film that somebody waits for is drawn to its end even when it is not kept."""
        while self.kept_bytes > self._limit_bytes:
            self._forget(next(iter(self._films)))

    def _forget(self, match: str) -> None:
        film = self._films.pop(match, None)
        if film is not None:
            self.kept_bytes -= film.kept_bytes
