"""Guests: identities without a password. Anyone who holds a guest's secret token is the guest; the
store keeps only the token's hash.

A name shows whether a person or an AI holds a seat: "AI level 5", "AI swindler". So guests may not
have names that begin with "AI level", or with CP and a number ("CP #1 MiniMax depth=3"); "AI" with
the name of a persona; and AI, CP, CPU and Computer, alone or with a number. Case, spacing,
punctuation and look-alike letters make no difference. "Ai Weiwei" and "Al" are allowed.
"""

import hashlib
import re
import secrets
import unicodedata

from engine.search.job import PERSONAS
from server.codes import Code
from server.ids import IdentityId
from server.limits.by_address import Limits
from server.ports import Ports
from server.protocol.messages import MAX_NAME
from server.rooms.model import CommandRejected
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
    limits.guests.take(address, created_ms / 1000)
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


async def rename_guest(
    ports: Ports, limits: Limits, address: str, guest: Identity, name: str
) -> Identity:
    """Gives a guest a name, and returns the guest with it. A rename counts as a new guest.

    Raises CommandRejected for the name, and LimitExceeded if the address has made too many guests.
    """
    # A guest may keep an old name even if a new guest may not have it now.
    if not name or guest.name == clean_text(name):
        return guest
    renamed = Identity(guest.id, clean_name(name), guest.seen_day, guest.created_ms)
    limits.guests.take(address, ports.uptime_ms() / 1000)
    await ports.store.identities.rename(renamed.id, renamed.name)
    return renamed


# --- names ---


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


#: Cyrillic and Greek lower-case letters that look like Latin ones.
_LOOKALIKES = str.maketrans("аіӏсеорѕυѵαιοερν", "ailceopsuvaioepv")
#: Characters that look like an i: "Al leve1 5".
_I_LOOKALIKES = str.maketrans("l1", "ii")


def _normalized(name: str) -> str:
    """Returns the lower-case letters and digits of a name, without accents and look-alikes."""
    parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    return "".join(c for c in parts.translate(_LOOKALIKES) if c.isalnum())


#: Names that are refused as a whole, and those of strategies.
_WHOLE_NAME = re.compile(r"(ai|cpu?|computer)\d*|cp\d.*")
#: The beginning of names that are refused.
_PREFIX = "ailevel".translate(_I_LOOKALIKES)
#: The names of AI seats with a persona.
_PERSONAS = frozenset(f"ai{persona}".translate(_I_LOOKALIKES) for persona in PERSONAS)


def is_ai_name(name: str) -> bool:
    """Whether people could take a guest with this name for an AI."""
    normalized = _normalized(name)
    folded = normalized.translate(_I_LOOKALIKES)
    return (
        bool(_WHOLE_NAME.fullmatch(normalized)) or folded.startswith(_PREFIX) or folded in _PERSONAS
    )
