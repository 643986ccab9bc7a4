"""The HTTP API that checks the text of a start position and shows its board."""

import asyncio
from http import HTTPStatus

import structlog
from aiohttp import web

from engine.formats.read.positions import PositionReading
from engine.game import GameFault, PositionError, UnknownGame
from engine.rules.errors import GameHung
from engine.view import cell_ids
from server.codes import Code
from server.commands import MAX_START
from server.limits.by_address import LimitExceeded, RateLimit
from server.ports import Ports
from server.rooms.model import CommandRejected
from server.rooms.placing import is_placeable, place
from server.rooms.starts import read_start
from server.web.answers import (
    ORIGIN,
    ApiError,
    json_answer,
    rules_failed,
    too_many_requests,
)

log = structlog.get_logger()

#: The query parameters that are not options of the game.
OWN_PARAMETERS = frozenset({"game", "start", "pieces", "turn"})
#: Longest list of pieces, in characters: that of a full board of gomoku is shorter.
MAX_PIECES = 3000


class Positions:
    """The handler, documented in docs/reference/protocol.md."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        settings = ports.settings
        self._rate = RateLimit(
            "texts of positions", settings.limit_replays_burst // 10,
            settings.limit_replays_per_minute,
        )  # fmt: skip
        #: A list of 220 moves takes 20 ms to read. One at a time, so that the event loop serves
        #: others between two of them.
        self._turn = asyncio.Lock()

    def routes(self) -> list[web.RouteDef]:
        """The routes of the handler."""
        return [web.get("/api/position", self.position)]

    async def position(self, request: web.Request) -> web.Response:
        """Answers with the board of a position from which a match can start.

        `?game=` is the game and `?start=` the text of the position; without it the answer has the
        game's own start, and `placeable`: whether the game accepts `?pieces=e1:K,e8:k&turn=0`, the
        cells with the kinds of their pieces and the seat to move, in place of a text. Any other
        parameter is an option of the game. The answer has the text as the log would store it, the
        board and the view. The text may be a FEN with fields left out, an EPD, a position of PDN
        without counters, a board of 64 discs, or, in games in which a move names a cell or a
        column, a list of moves; `mended` lists what was put right in it, as sentences.
        """
        query = request.query
        start = query.get("start")
        if start is not None and len(start) > MAX_START:
            raise _refusal(f"a position has at most {MAX_START} characters")
        options = {name: query[name] for name in query if name not in OWN_PARAMETERS}
        pieces = query.get("pieces")
        if pieces is not None:
            start = self._place(query.get("game", ""), options, pieces, query.get("turn") == "1")
        if start is None or pieces is not None:
            reading = self._check(query.get("game", ""), options, start)
        else:
            reading = await self._read(request, query.get("game", ""), options, start)
        position = reading.position
        try:
            game = position.game
            body = {
                "start": position.text(),
                "board": game.board(position.options),
                "view": position.view(),
                **({"placeable": is_placeable(game, position.options)} if start is None else {}),
                **({"mended": reading.mended} if reading.mended else {}),
            }
        except GameFault as fault:
            raise self._fault(position.game.id, fault) from fault
        return json_answer(body)

    async def _read(
        self, request: web.Request, game_id: str, options: dict[str, str], start: str
    ) -> PositionReading:
        """The position that a text means, within the limit of the request's address.

        Raises ApiError.
        """
        try:
            self._rate.take(request[ORIGIN].address, self._ports.uptime_ms() / 1000)
        except LimitExceeded as limit:
            raise too_many_requests(limit) from limit
        async with self._turn:
            await asyncio.sleep(0)
            return self._check(game_id, options, start)

    def _place(
        self, game_id: str, options: dict[str, str], pieces: str, is_second_to_move: bool
    ) -> str:
        """The text of the position with these pieces. Raises ApiError if the game has none."""
        start = self._check(game_id, options, None).position
        game, turn = start.game, int(is_second_to_move)
        placed = dict(piece.split(":", 1) for piece in pieces.split(",") if ":" in piece)
        board = game.board(start.options)
        if (
            len(pieces) > MAX_PIECES
            or not placed.keys() <= set(cell_ids(board.board))
            or not set(placed.values()) <= board.kinds.keys()
        ):
            raise _refusal(f"the cells and kinds of pieces of {game.title} are expected: e1:K,e8:k")
        try:
            position = place(game, start.options, placed, turn)
            position = position or place(game, start.options, placed, 1 - turn)
        except PositionError as error:
            # Without the text, which the sender has not written.
            expected = f" is not a position of {game.title}: "
            reason = str(error).rpartition(expected)[2]
            raise _refusal(f"this{expected}{reason}") from error
        except GameFault as fault:
            raise self._fault(game.id, fault) from fault
        if position is None:
            raise _refusal(f"these pieces make no position of {game.title}")
        return position.text()

    def _check(self, game_id: str, options: dict[str, str], start: str | None) -> PositionReading:
        """The position, and what was put right. Raises ApiError if no match can start from it."""
        try:
            return read_start(self._ports.find_game(game_id), options, start)
        except UnknownGame as error:
            raise ApiError(HTTPStatus.BAD_REQUEST, Code.GAME_UNKNOWN, str(error)) from error
        except CommandRejected as rejection:
            raise ApiError(HTTPStatus.BAD_REQUEST, rejection.code, rejection.message) from rejection
        except Exception as fault:  # a plug-in's file may raise anything while it is imported
            raise self._fault(game_id, fault) from fault

    def _fault(self, game_id: str, fault: Exception) -> ApiError:
        if not isinstance(fault, GameHung):  # the watchdog has logged that, once
            log.error("game fault", game=game_id, fault=str(fault), exc_info=True)
        return rules_failed(fault, "the rules of this game failed on this position")


def _refusal(message: str) -> ApiError:
    return ApiError(HTTPStatus.BAD_REQUEST, Code.POSITION_REFUSED, message)
