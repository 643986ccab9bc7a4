"""Who sends a request: the one way from credentials to an actor, for HTTP and for WebSockets."""

from msgspec import Struct

from server.codes import Code
from server.identity.credentials import Credentials
from server.identity.guests import find_guest, new_guest
from server.limits.by_address import Limits
from server.ports import Ports
from server.rooms.model import Actor, CommandRejected
from server.store.base import Identity


class TokenUnknown(CommandRejected):
    """A request names a token that no identity has."""

    def __init__(self) -> None:
        super().__init__(
            Code.TOKEN_UNKNOWN,
            "no identity has this token; a token from an earlier welcome is expected, or none",
        )


class Authenticated(Struct, frozen=True):
    """The actor of a request.

    `new_token` is the secret of a guest that was made for it, and `notice` a sentence that the
    person must see once. The secret stays out of its repr.
    """

    actor: Actor
    new_token: str | None = None
    notice: str | None = None

    def __repr__(self) -> str:
        return f"Authenticated({self.actor!r}, …)"


async def authenticate(
    ports: Ports, limits: Limits, credentials: Credentials, address: str, name: str | None
) -> Authenticated:
    """Finds the person of a token, or else of a cookie, or else makes a new guest.

    A person chose the token, so an unknown one is refused. A browser sends its cookie of itself,
    so an unknown one makes a new guest, with a notice. A name renames the person. Raises
    TokenUnknown, LimitExceeded for too many new guests of the address, CommandRejected for the
    name, and StoreError.
    """
    is_named = credentials.token is not None
    secret = credentials.token if is_named else credentials.cookie
    guest = await find_guest(ports, secret, name) if secret is not None else None
    if guest is not None:
        return Authenticated(_person(guest))
    if is_named:
        raise TokenUnknown
    guest, token = await new_guest(ports, limits, address, name)
    return Authenticated(
        _person(guest), token, _not_found(guest.name) if secret is not None else None
    )


def _person(identity: Identity) -> Actor:
    return Actor(identity.id, identity.name)


def _not_found(new_name: str) -> str:
    """The notice of a cookie whose guest expired, or is of another installation on that host."""
    return f"Your earlier guest was not found on this server. You are a new guest now: {new_name}."
