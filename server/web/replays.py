"""The views of matches' plies: drawn one ply at a time between the server's other work, and cached.

Drawing a whole chess match takes some tens of milliseconds, during which the event loop would serve
nothing else. So the process draws at most one ply per iteration of the loop, for all requests
together.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from engine.game import Position

#: Cache capacity.
CACHE_BYTES = 32 * 2**20
#: Approximate memory of a ply's position, beside its view.
PLY_BYTES = 2048
#: Drawn plies per unit of the rate limit.
CHARGED_PLIES = 100

_encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class DrawnMatch:
    """A match's views, from its start up to the last ply that was requested."""

    #: The position at the last view.
    position: Position
    #: The moves that lead to `position`.
    moves: list[str] = field(default_factory=list)
    views: list[bytes] = field(default_factory=list)
    cached_bytes: int = 0

    def add(self, frame: bytes) -> None:
        """Appends the view of the next ply."""
        self.views.append(frame)
        self.cached_bytes += len(frame) + PLY_BYTES


class Replays:
    """Draws and caches views, at most `cached_bytes`; drops the least recently used match first."""

    def __init__(self, cached_bytes: int = CACHE_BYTES) -> None:
        self._limit_bytes = cached_bytes
        self._cache: OrderedDict[str, DrawnMatch] = OrderedDict()
        self._drawing = asyncio.Lock()
        self.cached_bytes = 0

    async def page(
        self,
        match: str,
        start: Position,
        moves: Sequence[str],
        first: int,
        last: int,
        charge: Callable[[], None],
        has_left: Callable[[], bool],
    ) -> bytes:
        """The views from ply `first` to ply `last`, as the members of a JSON array.

        Calls `charge` once per CHARGED_PLIES plies that must be drawn; it may refuse by raising.
        Raises what the game raises, and ConnectionError once `gone` reports that the client has
        left.
        """
        drawn = self._find_drawn(match, start, moves)
        missing = last + 1 - len(drawn.views)
        for _ in range(0, missing, CHARGED_PLIES):
            charge()
        while len(drawn.views) <= last:
            async with self._drawing:
                if has_left():
                    raise ConnectionError("the client has left")
                if len(drawn.views) <= last:  # another request may have drawn it meanwhile
                    self._draw_next(match, drawn, moves)
                await asyncio.sleep(0)
        return b",".join(drawn.views[first : last + 1])

    def _find_drawn(self, match: str, start: Position, moves: Sequence[str]) -> DrawnMatch:
        """The cached views of the match, or new ones if the cached views are of other moves."""
        drawn = self._cache.get(match)
        if drawn is None or any(
            one != other for one, other in zip(drawn.moves, moves, strict=False)
        ):
            self._drop(match)
            drawn = self._cache[match] = DrawnMatch(start)
        self._cache.move_to_end(match)
        return drawn

    def _draw_next(self, match: str, drawn: DrawnMatch, moves: Sequence[str]) -> None:
        """Draws the next view; an exception of the game leaves the cache unchanged."""
        ply = len(drawn.views)
        position = drawn.position.replay(moves[ply - 1]) if ply else drawn.position
        frame = _encode({"ply": ply, "view": position.view()})
        drawn.position = position
        drawn.moves += moves[ply - 1 : ply] if ply else ()
        before_bytes = drawn.cached_bytes
        drawn.add(frame)
        if self._cache.get(match) is drawn:
            self.cached_bytes += drawn.cached_bytes - before_bytes
            self._shrink()

    def _shrink(self) -> None:
        """Drops matches down to the limit; a dropped one is still drawn to the end of its
        request.
        """
        while self.cached_bytes > self._limit_bytes:
            self._drop(next(iter(self._cache)))

    def _drop(self, match: str) -> None:
        drawn = self._cache.pop(match, None)
        if drawn is not None:
            self.cached_bytes -= drawn.cached_bytes
