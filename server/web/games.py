"""The HTTP API for the games: their options, levels, rules and boards, the most played first."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import structlog
from aiohttp import web

from engine.rules.call import refused_games
from engine.rules.registry import game_ids
from server.ports import Ports
from server.protocol.levels import level_names
from server.store.base import StoreError
from server.web.encodings import Encoded, encode

log = structlog.get_logger()

#: The number of finished matches that decide the order of the games.
COUNTED_MATCHES = 1000
#: Time for which the order of the games is cached, in ms.
ORDER_MS = 60_000
#: The games that come first as long as few matches have been played: most people know them.
WELL_KNOWN = ("chess", "connect-four", "draughts", "othello", "tic-tac-toe", "nine-mens-morris")

_encode = msgspec.json.Encoder().encode


def well_known_first(ids: Sequence[str]) -> list[str]:
    """The ids of games: those of WELL_KNOWN in that order, then the others in their own."""
    known = [game_id for game_id in WELL_KNOWN if game_id in ids]
    return [*known, *[game_id for game_id in ids if game_id not in WELL_KNOWN]]


class Games:
    """The handler, documented in docs/reference/protocol.md."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        #: The entry of each game as JSON, without those that fail.
        self._entries: dict[str, msgspec.Raw] = {}
        #: The ids of the games in the order of `_list`.
        self._listed: list[str] | None = None
        self._list = Encoded(b"")
        self._ordered_ms: int | None = None
        #: Held while the list is made: other requests wait for it.
        self._lock = asyncio.Lock()

    def routes(self) -> list[web.RouteDef]:
        """The route of the handler."""
        return [web.get("/api/games", self.games)]

    async def games(self, request: web.Request) -> web.Response:
        """Lists the games with their options, levels, rules and boards, the most played first.

        A game whose file fails is left out, and so is one that is refused because a rule hung.
        """
        async with self._lock:
            now_ms = self._ports.now_ms()
            is_new = self._ordered_ms is not None and 0 <= now_ms - self._ordered_ms < ORDER_MS
            if not is_new or not refused_games.keys().isdisjoint(self._listed or ()):
                await self._order()
                self._ordered_ms = now_ms
        return self._list.response(request, "application/json", "no-cache")

    async def _order(self) -> None:
        """Sorts the list by the number of matches, and encodes it if its order has changed."""
        if not self._entries:
            self._entries = await self._make_entries()
        counts = await self._counts()
        playable = [game_id for game_id in self._entries if game_id not in refused_games]
        order = sorted(playable, key=lambda game_id: -counts.get(game_id, 0))
        if order == self._listed:
            return
        body = _encode({"games": [self._entries[game_id] for game_id in order]})
        self._list = await asyncio.to_thread(encode, body)
        self._listed = order

    async def _counts(self) -> dict[str, int]:
        """How often each game was played lately; none if the store fails."""
        try:
            return await self._ports.store.projections.game_counts(COUNTED_MATCHES)
        except StoreError as error:
            log.warning("store unavailable", duty="order of the games", error=str(error))
            return {}

    async def _make_entries(self) -> dict[str, msgspec.Raw]:
        entries = {}
        # Games that were played equally often keep this order.
        for game_id in well_known_first(game_ids()):
            try:
                entries[game_id] = msgspec.Raw(msgspec.json.encode(self._entry(game_id)))
            # A plug-in may raise anything; the other games stay available.
            except Exception:
                log.exception("game left out", game=game_id)
            await asyncio.sleep(0)  # serve other requests between the games
        return entries

    def _entry(self, game_id: str) -> dict[str, Any]:
        """The entry of a game in the list."""
        game = self._ports.find_game(game_id)
        return {
            "id": game.id,
            "title": game.title,
            "levels": game.levels,
            "level_names": level_names(game.levels),
            "search": game.rules.SEARCH,
            "aliases": game.rules.ALIASES,
            "options": dict(game.options),
            "rules": game.rules.RULES,
            "view": game.board(game.check_options({})),
            "start": game.start().view(),
        }
