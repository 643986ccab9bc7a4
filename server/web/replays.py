"""The views of a match's plies, which the server renders one at a time and caches.

Rendering a whole chess match takes tens of milliseconds, during which the event loop could serve
nothing else. So the server renders at most one ply per iteration of the loop, for all requests
together.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from engine.game import Position
from server.ids import MatchId

#: Capacity of the cache, in bytes.
CACHE_BYTES = 32 * 2**20
#: Approximate memory of a ply's position without its view, in bytes.
PLY_BYTES = 2048
#: Rendered plies per unit of the rate limit.
CHARGED_PLIES = 100

_encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class RenderedMatch:
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
    """Renders views and caches up to `capacity_bytes` of them.

    It drops the least recently used match first.
    """

    def __init__(self, capacity_bytes: int = CACHE_BYTES) -> None:
        self._capacity_bytes = capacity_bytes
        self._cache: OrderedDict[MatchId, RenderedMatch] = OrderedDict()
        self._render_lock = asyncio.Lock()
        self.cached_bytes = 0

    async def page(
        self,
        match: MatchId,
        start: Position,
        moves: Sequence[str],
        first: int,
        last: int,
        charge: Callable[[], None],
        has_left: Callable[[], bool],
    ) -> bytes:
        """The views from ply `first` to ply `last`, as the members of a JSON array.

        Calls `charge` once per CHARGED_PLIES plies that must be rendered; it may raise to refuse.
        Passes on exceptions of the game and of `charge`. Raises ConnectionError when `has_left`
        returns True: the client has left.
        """
        rendered = self._cached_match(match, start, moves)
        missing = last + 1 - len(rendered.views)
        for _ in range(0, missing, CHARGED_PLIES):
            charge()
        while len(rendered.views) <= last:
            async with self._render_lock:
                if has_left():
                    raise ConnectionError("the client has left")
                if len(rendered.views) <= last:  # another request may have rendered it
                    self._render_next(match, rendered, moves)
                await asyncio.sleep(0)
        return b",".join(rendered.views[first : last + 1])

    def _cached_match(self, match: MatchId, start: Position, moves: Sequence[str]) -> RenderedMatch:
        """The cached views of the match; an empty entry if there are none or its moves differ."""
        rendered = self._cache.get(match)
        if rendered is None or any(
            rendered_move != move
            for rendered_move, move in zip(rendered.moves, moves, strict=False)
        ):
            self._drop(match)
            rendered = self._cache[match] = RenderedMatch(start)
        self._cache.move_to_end(match)
        return rendered

    def _render_next(self, match: MatchId, rendered: RenderedMatch, moves: Sequence[str]) -> None:
        """Renders the next view. An exception of the game leaves the cache unchanged."""
        ply = len(rendered.views)
        position = rendered.position.replay(moves[ply - 1]) if ply else rendered.position
        view_json = _encode({"ply": ply, "view": position.view()})
        rendered.position = position
        rendered.moves += moves[ply - 1 : ply] if ply else ()
        before_bytes = rendered.cached_bytes
        rendered.add(view_json)
        if self._cache.get(match) is rendered:
            self.cached_bytes += rendered.cached_bytes - before_bytes
            self._shrink()

    def _shrink(self) -> None:
        """Drops matches until the cache is within its capacity.

        A request whose match is dropped still renders it to the end.
        """
        while self.cached_bytes > self._capacity_bytes:
            self._drop(next(iter(self._cache)))

    def _drop(self, match: MatchId) -> None:
        rendered = self._cache.pop(match, None)
        if rendered is not None:
            self.cached_bytes -= rendered.cached_bytes
