"""Guests: an identity without a password, held by whoever has its secret token. The store keeps only a hash of it."""

import hashlib
import secrets

from server.codes import Code
from server.ports import Ports
from server.protocol import MAX_NAME
from server.room.model import CommandRejected
from server.room.rules import clean_text
from server.store.base import Identity

TOKEN_BYTES = 32
COOKIE = "plyroom"


def token_hash(token: str) -> bytes:
    """What the store knows of a token; 256 random bits need no slow hash."""
    return hashlib.sha256(token.encode(errors="surrogatepass")).digest()


def clean_name(name: str) -> str:
    """The name on one line without invisible characters; CommandRejected if nothing is left or it is too long."""
    cleaned = clean_text(name)
    if not cleaned or len(cleaned) > MAX_NAME:
        raise CommandRejected(Code.NAME_REFUSED, f"a name has 1 to {MAX_NAME} visible characters")
    return cleaned


async def new_guest(ports: Ports, name: str | None) -> tuple[Identity, str]:
    """A new guest and its token, which nobody can find out later."""
    identity = Identity(ports.new_id(), clean_name(name) if name else f"Guest {secrets.randbelow(9000) + 1000}")
    token = secrets.token_urlsafe(TOKEN_BYTES)
    await ports.store.add_identity(identity, token_hash(token), ports.now_ms())
    return identity, token


async def known_guest(ports: Ports, token: str, name: str | None) -> Identity | None:
    """The guest that a token belongs to, under a new name if one is given; None for a token that nobody has."""
    identity = await ports.store.identity_by_token(token_hash(token))
    if identity is None or not name or identity.name == clean_name(name):
        return identity
    renamed = Identity(identity.id, clean_name(name))
    await ports.store.rename_identity(renamed.id, renamed.name)
    return renamed
