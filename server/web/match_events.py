"""The HTTP API for the events around a match: offers, takebacks, who came and went."""

from http import HTTPStatus

from aiohttp import web

from server.codes import Code
from server.events import Said, Started, parse_event_body
from server.ids import MatchId
from server.ports import Ports
from server.protocol.codec import HIDDEN_BODY, event_frame
from server.store.base import EVERYONE, StoredEvent
from server.web.answers import ApiError, raw_answer
from server.web.senders import room_for

#: Maximum number of events in one response.
MAX_EVENTS = 3000
#: Log entries per read from the store. Those of one read are parsed without a pause.
LOG_PAGE = 250


class MatchEvents:
    """The handler, documented in docs/reference/protocol.md."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports

    def routes(self) -> list[web.RouteDef]:
        """The route of the handler."""
        return [web.get("/api/matches/{match}/events", self.events)]

    async def events(self, request: web.Request) -> web.Response:
        """Answers with the events from the match's start up to the room's next match.

        Those of a room's first match begin with the room's creation. Each is an
        [event](#events) as a client receives it, with a number one higher than the one before; a
        line of chat is `hidden`. There are at most 3000, the first ones. Their `room` is
        empty for a match of an unlisted room that the sender has not played.
        """
        match_id = MatchId(request.match_info["match"][:64])
        match = await self._ports.store.projections.match(match_id)
        if match is None:
            raise ApiError(HTTPStatus.NOT_FOUND, Code.MATCH_UNKNOWN, "there is no such match")
        room = await room_for(request, self._ports, match)
        v = 0 if match.number == 1 else match.first_v - 1
        frames: list[bytes] = []
        while page := await self._ports.store.logs.events(match.room, v, LOG_PAGE):
            for entry in page:
                event = parse_event_body(entry.body)
                is_next_match = isinstance(event, Started) and event.match != match_id
                if is_next_match or len(frames) == MAX_EVENTS:
                    return _answer(frames)
                is_hidden = isinstance(event, Said) or entry.audience != EVERYONE
                frames.append(_frame(room, entry, is_hidden))
            v = page[-1].v
        return _answer(frames)


def _frame(room: str, entry: StoredEvent, is_hidden: bool) -> bytes:
    return event_frame(room, entry.v, entry.at_ms, HIDDEN_BODY if is_hidden else entry.body)


def _answer(frames: list[bytes]) -> web.Response:
    return raw_answer(b'{"events":[' + b",".join(frames) + b"]}", "no-cache")
