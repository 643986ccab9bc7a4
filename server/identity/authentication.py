"""Authenticates requests: returns the actor of given credentials, for HTTP and WebSockets."""

from msgspec import Struct

from server.bidi import isolated
from server.codes import Code
from server.identity.credentials import Credentials
from server.identity.guests import find_guest, new_guest, rename_guest
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

    If the request made a new guest, `new_token` is that guest's token. If only the cookie of the
    old name names the guest, `old_cookie` is its token. `notice` is a sentence to show to the
    person once. `is_renamed` says that the request gave a known guest another name. The repr hides
    the tokens.
    """

    actor: Actor
    new_token: str | None = None
    old_cookie: str | None = None
    notice: str | None = None
    is_renamed: bool = False

    def __repr__(self) -> str:
        return f"Authenticated({self.actor!r}, …)"


async def authenticate(
    ports: Ports, limits: Limits, credentials: Credentials, address: str, name: str | None
) -> Authenticated:
    """Returns the guest of the token or of a cookie, or makes a new guest.

    A client names its token on purpose, so an unknown token is refused. A browser sends its cookie
    automatically, so an unknown cookie gives a new guest. A notice says so, unless the cookie is of
    the old name, and so perhaps of another server on that host. A name renames the guest.
    Raises TokenUnknown, LimitExceeded for too many new guests of the address or names of the guest,
    CommandRejected for the name, and StoreError.
    """
    guest, secret = await known_guest(ports, credentials)
    if guest is not None:
        named = await rename_guest(ports, limits, guest, name) if name else guest
        is_old = secret not in (credentials.token, credentials.cookie)
        return Authenticated(
            _person(named), old_cookie=secret if is_old else None, is_renamed=named != guest
        )
    if credentials.token is not None:
        raise TokenUnknown
    guest, token = await new_guest(ports, limits, address, name)
    notice = None if credentials.cookie is None else _lost_guest_notice(guest.name)
    return Authenticated(_person(guest), token, notice=notice)


async def known_guest(
    ports: Ports, credentials: Credentials
) -> tuple[Identity, str] | tuple[None, None]:
    """Returns the guest of the token or of a cookie, and the secret that names it; None if no
    guest has them. Raises StoreError.
    """
    for secret in credentials.secrets:
        guest = await find_guest(ports, secret)
        if guest is not None:
            return guest, secret
    return None, None


def _person(identity: Identity) -> Actor:
    return Actor(identity.id, identity.name, since_ms=identity.created_ms)


def _lost_guest_notice(new_name: str) -> str:
    """The notice for a cookie of this installation whose guest has expired."""
    name = isolated(new_name)
    return f"Your earlier guest was not found on this server. You are a new guest now: {name}."
