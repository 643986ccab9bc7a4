"""Guests: identities without a password. Anyone who holds a guest's secret token is the guest; the
store keeps only the token's hash.
"""

import hashlib
import secrets

from server.ids import IdentityId
from server.limits.by_address import Limits
from server.ports import Ports
from server.rooms.names import clean_name
from server.rooms.text import clean_text
from server.store.base import Identity, day_of

#: Random bytes in a token.
TOKEN_BYTES = 32
#: Longest text that is looked up as a token, in characters; `hello` accepts no longer token.
MAX_TOKEN = 128


def may_be_token(text: str) -> bool:
    """Whether a text could be a token: visible ASCII of limited length. Only then look it up."""
    return 0 < len(text) <= MAX_TOKEN and text.isascii() and text.isprintable() and " " not in text


def token_hash(token: str) -> bytes:
    """Returns the hash that the store has of a token; 256 random bits need no slow hash."""
    return hashlib.sha256(token.encode()).digest()


async def new_guest(
    ports: Ports, limits: Limits, address: str, name: str | None
) -> tuple[Identity, str]:
    """Makes a new guest; returns it with its token, which cannot be recovered later.

    Raises CommandRejected for the name, and LimitExceeded if the address has made too many guests.
    """
    guest_name = clean_name(name) if name else f"Guest {secrets.randbelow(9000) + 1000}"
    created_ms = ports.now_ms()
    identity = Identity(IdentityId(ports.new_id()), guest_name, created_ms=created_ms)
    limits.guests.take(address, ports.uptime_ms() / 1000)
    token = secrets.token_urlsafe(TOKEN_BYTES)
    await ports.store.identities.add_guest(identity, token_hash(token), created_ms)
    return identity, token


async def find_guest(ports: Ports, token: str) -> Identity | None:
    """Returns the guest of a token, or None if the token is unknown or has expired.

    It records once a day that the guest was seen.
    """
    if not may_be_token(token):
        return None
    identity = await ports.store.identities.by_token(token_hash(token))
    if identity is None:
        return None
    today = day_of(ports.now_ms())
    is_marked = identity.seen_day is not None and identity.seen_day >= today
    if not is_marked and not await ports.store.expiry.mark_identities_seen([identity.id], today):
        return None  # the guest has just expired: see server/runtime/room/expiry.py
    return identity


async def rename_guest(ports: Ports, limits: Limits, guest: Identity, name: str) -> Identity:
    """Gives a guest a name, and returns the guest with it.

    Raises CommandRejected for the name, and LimitExceeded for a guest who has had too many names.
    """
    if not name or guest.name == clean_text(name):
        return guest
    renamed = Identity(guest.id, clean_name(name), guest.seen_day, guest.created_ms)
    limits.names.take(guest.id, ports.uptime_ms() / 1000)
    await ports.store.identities.rename(renamed.id, renamed.name)
    return renamed
