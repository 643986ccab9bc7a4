"""The sender of a request of the HTTP API, by its token or its cookies."""

from aiohttp import web

from server.identity.authentication import known_guest
from server.identity.credentials import Credentials, parse_credentials
from server.ports import Ports
from server.store.base import Identity


def credentials_of(request: web.Request, ports: Ports) -> Credentials:
    """The credentials in a request's headers, for this installation."""
    headers = request.headers
    return parse_credentials(
        headers.getall("Cookie", ()), headers.getall("Authorization", ()), ports.store.installation
    )


async def guest_of(request: web.Request, ports: Ports) -> Identity | None:
    """The guest who sent a request; None if it names no known guest. Raises StoreError."""
    guest, _ = await known_guest(ports, credentials_of(request, ports))
    return guest
