"""The seats to move in running matches, from the logs of their rooms."""

from collections import OrderedDict
from collections.abc import Sequence

import msgspec

from server.ids import MatchId
from server.ports import Ports
from server.store.base import StoredMatch
from server.web.matches import Matches

#: Capacity of the cache, in matches.
CACHED_TURNS = 5000

_decode = msgspec.json.decode


class Turns:
    """Finds the seats to move; it reads a log only after the room has changed."""

    def __init__(self, ports: Ports, matches: Matches) -> None:
        self._ports = ports
        self._matches = matches
        #: The head of the room and the seat to move, by match; the least recently read first.
        self._cached: OrderedDict[MatchId, tuple[int, int | None]] = OrderedDict()

    async def of(self, matches: Sequence[StoredMatch]) -> dict[MatchId, int | None]:
        """The seats to move in running matches; None where the rules cannot replay the moves."""
        if not matches:
            return {}
        heads = await self._ports.store.logs.heads([match.room for match in matches])
        return {match.match: await self._turn(match, heads.get(match.room, 0)) for match in matches}

    async def _turn(self, match: StoredMatch, head: int) -> int | None:
        cached = self._cached.pop(match.match, None)
        if cached is None or cached[0] != head:
            cached = head, await self._compute(match)
        self._cached[match.match] = cached
        while len(self._cached) > CACHED_TURNS:
            self._cached.popitem(last=False)
        return cached[1]

    async def _compute(self, match: StoredMatch) -> int | None:
        moves = (await self._matches.record(match)).moves
        try:
            game = self._ports.find_game(match.game)
            position = game.position(match.start, _decode(match.options))
            if not game.rules.EXTRA_TURNS:
                return (position.turn + len(moves)) % 2
            for played in moves:
                position = position.replay(played.move)
            return position.turn
        except Exception:  # the game is missing, broken or has changed
            return None
