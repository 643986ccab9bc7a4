"""Guests: identities without a password. Anyone who holds a guest's secret token is the guest; the
store keeps only the token's hash.
"""

import hashlib
import secrets

from server.identity.names import is_ai_name
from server.limits.by_address import Limits
from server.ports import Ports
from server.protocol.codes import Code
from server.protocol.messages import MAX_NAME
from server.rooms.model import CommandRejected
from server.rooms.rules import clean_text
from server.store.base import Identity, day_of

#: Random bytes in a token.
TOKEN_BYTES = 32
#: The name of the cookie that holds a guest's token.
COOKIE = "plyroom"


def token_hash(token: str) -> bytes:
    """The hash under which the store keeps a token; 256 random bits need no slow hash."""
    return hashlib.sha256(token.encode(errors="surrogatepass")).digest()


def clean_name(name: str) -> str:
    """Returns the name on one line, without invisible characters.

    Raises CommandRejected if the result is empty, too long, or could be taken for an AI's name.
    """
    cleaned = clean_text(name)
    if not cleaned or len(cleaned) > MAX_NAME:
        raise CommandRejected(Code.NAME_REFUSED, f"a name has 1 to {MAX_NAME} visible characters")
    if is_ai_name(cleaned):
        raise CommandRejected(
            Code.NAME_REFUSED, "names like those of an AI (AI level 5, CP #1) are reserved"
        )
    return cleaned


async def new_guest(
    ports: Ports, limits: Limits, address: str, name: str | None
) -> tuple[Identity, str]:
    """Makes a new guest; returns it with its token, which cannot be recovered later.

    Raises CommandRejected for the name, and LimitExceeded if the address has made too many guests.
    """
    identity = Identity(
        ports.new_id(), clean_name(name) if name else f"Guest {secrets.randbelow(9000) + 1000}"
    )
    limits.guests.take(address, ports.now_ms() / 1000)
    token = secrets.token_urlsafe(TOKEN_BYTES)
    await ports.store.identities.add_guest(identity, token_hash(token), ports.now_ms())
    return identity, token


async def find_guest(ports: Ports, token: str, name: str | None) -> Identity | None:
    """Returns the guest of a token, or None if the token is unknown or has expired.

    Renames the guest if a name is given, and records once a day that the guest was seen.
    """
    identity = await ports.store.identities.by_token(token_hash(token))
    if identity is None:
        return None
    today = day_of(ports.now_ms())
    is_marked = identity.seen_day is not None and identity.seen_day >= today
    if not is_marked and not await ports.store.expiry.mark_identities_seen([identity.id], today):
        return None  # the guest has just expired: see server/runtime/expiry.py
    # Guests with an older name keep it even if it is refused today.
    if not name or identity.name == clean_text(name):
        return identity
    renamed = Identity(identity.id, clean_name(name))
    await ports.store.identities.rename(renamed.id, renamed.name)
    return renamed
