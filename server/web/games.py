"""The HTTP API for the games: their options, levels, rules and boards, in one fixed order."""

import asyncio
import math
from typing import Any

import msgspec
import structlog
from aiohttp import web

from engine.formats.registry import formats_of
from engine.game import Game, Option
from engine.rules.call import refused_games
from engine.rules.measured import measured_of
from engine.rules.registry import game_ids
from server.ports import Ports
from server.protocol.level_names import level_names
from server.web.encodings import Encoded, encode

log = structlog.get_logger()

_encode = msgspec.json.Encoder().encode


def well_known_place(game: Game) -> float:
    """The game's place among those that most people know, from 1; infinity for any other game."""
    return measured_of(game).well_known or math.inf


class Games:
    """The handler, documented in docs/reference/protocol.md."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        #: The entry of each game as JSON, without those that fail.
        self._entries: dict[str, msgspec.Raw] = {}
        #: The ids of the games in the list.
        self._listed: list[str] | None = None
        self._list = Encoded(b"")
        #: Held while the list is made: other requests wait for it.
        self._lock = asyncio.Lock()

    def routes(self) -> list[web.RouteDef]:
        """The route of the handler."""
        return [web.get("/api/games", self.games)]

    async def games(self, request: web.Request) -> web.Response:
        """Lists the games with their goals, options, levels, rules and boards: those that most
        people know first, then the others by title. The order is always the same.

        A game whose file fails is left out, and so is one that is refused because a rule hung.
        """
        async with self._lock:
            if self._listed is None or not refused_games.keys().isdisjoint(self._listed):
                await self._make_list()
        return self._list.response(request, "application/json", "no-cache")

    async def _make_list(self) -> None:
        """Encodes the list of the games that can be played."""
        if not self._entries:
            self._entries = await self._make_entries()
        listed = [game_id for game_id in self._entries if game_id not in refused_games]
        body = _encode({"games": [self._entries[game_id] for game_id in listed]})
        self._list = await asyncio.to_thread(encode, body)
        self._listed = listed

    async def _make_entries(self) -> dict[str, msgspec.Raw]:
        entries: dict[str, msgspec.Raw] = {}
        places: dict[str, tuple[float, str]] = {}
        for game_id in game_ids():
            try:
                game = self._ports.find_game(game_id)
                places[game_id] = well_known_place(game), game.title
                entries[game_id] = msgspec.Raw(msgspec.json.encode(_entry(game)))
            # A plug-in may raise anything; the other games stay available.
            except Exception:
                log.exception("game left out", game=game_id)
            await asyncio.sleep(0)  # serve other requests between the games
        return {game_id: entries[game_id] for game_id in sorted(entries, key=places.__getitem__)}


def format_entries(game_id: str) -> list[dict[str, str]]:
    """The formats of files that matches of a game can be written in, the usual one first."""
    return [
        {"name": each.name, "title": each.title, "suffix": each.suffix}
        for each in formats_of(game_id)
    ]


def _entry(game: Game) -> dict[str, Any]:
    """The entry of a game in the list."""
    return {
        "id": game.id,
        "title": game.title,
        "levels": game.levels,
        "level_names": level_names(game.levels),
        "search": game.rules.SEARCH,
        "aliases": game.rules.ALIASES,
        "options": {name: _option(option) for name, option in game.options.items()},
        "goal": game.goal,
        "rules": game.rules.RULES,
        "formats": format_entries(game.id),
        "view": game.board(game.check_options({})),
        "start": game.start().view(),
    }


def _option(option: Option) -> dict[str, Any]:
    """An option with a phrase for each value that it offers."""
    phrases = {value: option.phrase(value) for value in option.offered}
    return {
        "title": option.title,
        "default": option.default,
        "offered": option.offered,
        "free": option.free,
        "phrases": phrases,
    }
