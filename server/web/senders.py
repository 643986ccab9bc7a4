"""The sender of a request of the HTTP API, by its token or its cookies."""

import msgspec
from aiohttp import web

from server.events import Occupant
from server.identity.authentication import known_guest
from server.identity.credentials import Credentials, parse_credentials
from server.ports import Ports
from server.store.base import Identity, StoredMatch

_decode_seats = msgspec.json.Decoder(tuple[Occupant, ...]).decode


def credentials_of(request: web.Request, ports: Ports) -> Credentials:
    """The credentials in a request's headers, for this installation."""
    headers = request.headers
    return parse_credentials(
        headers.getall("Cookie", ()), headers.getall("Authorization", ()), ports.store.installation
    )


async def room_for(request: web.Request, ports: Ports, match: StoredMatch) -> str:
    """The room of a match, for its sender: "" for a match of an unlisted room that others played.

    A link to a match shows the match; whoever has the id of its room may sit there and chat.
    """
    if match.public:
        return match.room
    guest = await guest_of(request, ports)
    seats = _decode_seats(match.seats)
    is_player = guest is not None and any(seat.identity == guest.id for seat in seats)
    return match.room if is_player else ""


async def guest_of(request: web.Request, ports: Ports) -> Identity | None:
    """The guest who sent a request; None if it names no known guest. Raises StoreError."""
    guest, _ = await known_guest(ports, credentials_of(request, ports))
    return guest
