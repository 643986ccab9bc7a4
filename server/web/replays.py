"""The views of a match's plies, which the server draws one at a time and caches.

Drawing a whole chess match takes tens of milliseconds, during which the event loop could serve
nothing else. So the server draws at most one ply per iteration of the loop, for all requests
together.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from engine.game import Position

#: Capacity of the cache, in bytes.
CACHE_BYTES = 32 * 2**20
#: Approximate memory of a ply's position without its view, in bytes.
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

    def add(self, view_json: bytes) -> None:
        """Appends the view of the next ply."""
        self.views.append(view_json)
        self.cached_bytes += len(view_json) + PLY_BYTES


class Replays:
    """Draws views and caches up to `capacity_bytes` of them.

    It drops the least recently used match first.
    """

    def __init__(self, capacity_bytes: int = CACHE_BYTES) -> None:
        self._capacity_bytes = capacity_bytes
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

        Calls `charge` once per CHARGED_PLIES plies that must be drawn; it may raise to refuse.
        Passes on exceptions of the game and of `charge`. Raises ConnectionError when `has_left`
        says that the client has left.
        """
        drawn = self._cached_match(match, start, moves)
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

    def _cached_match(self, match: str, start: Position, moves: Sequence[str]) -> DrawnMatch:
        """The cached views of the match; an empty entry if there are none or its moves differ."""
        drawn = self._cache.get(match)
        if drawn is None or any(
            drawn_move != move for drawn_move, move in zip(drawn.moves, moves, strict=False)
        ):
            self._drop(match)
            drawn = self._cache[match] = DrawnMatch(start)
        self._cache.move_to_end(match)
        return drawn

    def _draw_next(self, match: str, drawn: DrawnMatch, moves: Sequence[str]) -> None:
        """Draws the next view. An exception of the game leaves the cache unchanged."""
        ply = len(drawn.views)
        position = drawn.position.replay(moves[ply - 1]) if ply else drawn.position
        view_json = _encode({"ply": ply, "view": position.view()})
        drawn.position = position
        drawn.moves += moves[ply - 1 : ply] if ply else ()
        before_bytes = drawn.cached_bytes
        drawn.add(view_json)
        if self._cache.get(match) is drawn:
            self.cached_bytes += drawn.cached_bytes - before_bytes
            self._shrink()

    def _shrink(self) -> None:
        """Drops matches until the cache is within its capacity.

        A request whose match is dropped still draws it to the end.
        """
        while self.cached_bytes > self._capacity_bytes:
            self._drop(next(iter(self._cache)))

    def _drop(self, match: str) -> None:
        drawn = self._cache.pop(match, None)
        if drawn is not None:
            self.cached_bytes -= drawn.cached_bytes
