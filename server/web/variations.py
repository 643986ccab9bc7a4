"""The HTTP API for what people try beside a match: variations, and moves as they write them."""

import asyncio
from http import HTTPStatus

import msgspec
from aiohttp import web

from engine.game import GameError, GameFault, MalformedMove, Position
from engine.rules.numbering import move_number
from engine.typed_moves import AmbiguousMove, read_move
from server.codes import Code
from server.commands import MAX_MOVE
from server.limits.by_address import LimitExceeded, RateLimit
from server.ports import Ports
from server.protocol import messages as wire
from server.store.base import StoredMatch
from server.web.answers import (
    ORIGIN,
    ApiError,
    json_answer,
    query_number,
    rules_failed,
    too_many_requests,
)
from server.web.matches import Matches

#: Maximum number of moves of a variation.
MAX_MOVES = 40
#: Plies that are replayed before the event loop may serve other requests.
REPLAY_BATCH = 20


class Variations:
    """The handlers, documented in docs/reference/protocol.md."""

    def __init__(self, ports: Ports, matches: Matches) -> None:
        self._ports = ports
        self._matches = matches
        settings = ports.settings
        self._rate = RateLimit(
            "lines beside a match", settings.limit_replays_burst, settings.limit_replays_per_minute
        )
        self._readings = RateLimit(
            "moves as people write them",
            settings.limit_commands_address_burst,
            settings.limit_commands_address_per_minute,
        )

    def routes(self) -> list[web.RouteDef]:
        """The routes of the handlers."""
        return [
            web.get("/api/matches/{match}/variation", self.variation),
            web.get("/api/matches/{match}/reading", self.reading),
        ]

    async def variation(self, request: web.Request) -> web.Response:
        """Answers with a variation that branches off from a match at ply `?ply=`.

        `?moves=` has the tokens of its moves, at most 40, separated by spaces. `views` has the
        positions from ply `?ply=` to the end of the variation, and `moves` its moves with their
        notation. `start` is the last position as text, from which `create` starts a room. `over`
        says why the match would be over in that position, and is null otherwise. `legal` has the
        legal moves of that position, like those of `turn`. While two people play the match without
        help, `withheld` says why no match against an AI starts from there.
        """
        tokens = request.query.get("moves", "").split()
        if len(tokens) > MAX_MOVES or any(len(token) > MAX_MOVE for token in tokens):
            raise _malformed(f"a line has at most {MAX_MOVES} moves of {MAX_MOVE} characters")
        match, moves = await self._matches.find_with_moves(request.match_info["match"])
        ply = query_number(request, "ply", 0, 0, len(moves))
        try:
            self._rate.take(request[ORIGIN].address, self._ports.uptime_ms() / 1000)
            position = await self._position(match, moves[:ply])
            answer = await _play(position, ply, tokens)
            withheld = await self._matches.reason_for_no_help(match)
            return json_answer(answer | ({} if withheld is None else {"withheld": withheld}))
        except LimitExceeded as limit:
            raise too_many_requests(limit) from limit
        except GameError as error:
            raise _malformed(str(error)) from error
        except GameFault as fault:
            raise rules_failed(fault, "the rules of this game failed on this line") from fault

    async def reading(self, request: web.Request) -> web.Response:
        """Answers with the legal move that a person means by `?text=` at ply `?ply=` of a match.

        It reads more than the command `move`, which takes tokens and the notation of the game: any
        case, dashes and spaces, numbers and annotations, figurines, the letters of other languages.
        `move` is the token to play, and `says` how the text was read, or empty where that is plain.
        Where the text may be several moves the code is `move.ambiguous`, and the message names
        them.
        """
        text = request.query.get("text", "")
        match, moves = await self._matches.find_with_moves(request.match_info["match"])
        ply = query_number(request, "ply", len(moves), 0, len(moves))
        try:
            self._readings.take(request[ORIGIN].address, self._ports.uptime_ms() / 1000)
            read = read_move(await self._position(match, moves[:ply]), text)
        except LimitExceeded as limit:
            raise too_many_requests(limit) from limit
        except AmbiguousMove as error:
            raise ApiError(HTTPStatus.BAD_REQUEST, Code.MOVE_AMBIGUOUS, str(error)) from error
        except MalformedMove as error:
            raise ApiError(HTTPStatus.BAD_REQUEST, Code.MOVE_MALFORMED, str(error)) from error
        except GameError as error:
            raise ApiError(HTTPStatus.BAD_REQUEST, Code.MOVE_ILLEGAL, str(error)) from error
        except GameFault as fault:
            raise rules_failed(fault, "the rules of this game failed on this move") from fault
        return json_answer({"move": read.token, "says": read.says})

    async def _position(self, match: StoredMatch, moves: list[str]) -> Position:
        """The position of a match after these moves. Raises ApiError if its rules are gone."""
        try:
            game = self._ports.find_game(match.game)
            position = game.position(match.start, msgspec.json.decode(match.options))
            for number, token in enumerate(moves, 1):
                position = position.replay(token)
                if number % REPLAY_BATCH == 0:
                    await asyncio.sleep(0)
        except Exception as error:  # the game is missing or broken
            message = "this server no longer has the rules of this match"
            raise rules_failed(error, message, Code.GAME_CHANGED) from error
        return position


async def _play(position: Position, ply: int, tokens: list[str]) -> dict[str, object]:
    """The answer for a variation, with one position per iteration of the event loop.

    Raises GameError for a move that is not legal.
    """
    game, outcome = position.game, position.outcome()
    views, moves = [position.view()], []
    for number, text in enumerate(tokens, ply):
        seat = position.turn
        token, position, outcome = position.advance(text)
        moves.append(
            wire.Played(
                token,
                position.played() or None,
                move_number(game, number, seat),
                seat=seat if seat != number % 2 else None,
            )
        )
        views.append(position.view())
        await asyncio.sleep(0)
    over = None if outcome is None else outcome.reason
    legal = () if over is not None else position.move_views()
    return {
        "ply": ply,
        "start": position.text(),
        "moves": moves,
        "views": views,
        "over": over,
        "legal": legal,
    }


def _malformed(message: str) -> ApiError:
    return ApiError(HTTPStatus.BAD_REQUEST, Code.MESSAGE_MALFORMED, message)
