"""The names and the chat lines of people in stored rows, cleaned as they are read.

Earlier versions stored characters and names that clients must not show. A log is never changed, so
the store cleans what it reads for others. A backup has the rows as they are, and `verify` compares
what is shown of them.
"""

from typing import Any

import msgspec
from msgspec.structs import replace

from server.rooms.names import shown_name
from server.rooms.text import clean_text
from server.store.base import Identity, StoredEvent, StoredMatch, StoredRoom

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
#: What the JSON of every name has; that of a move, which most of a log is, has none.
_NAME = b'"name":'


def shown_identity(identity: Identity) -> Identity:
    """The identity with the name that others may see."""
    name = shown_name(identity.id, identity.name)
    return identity if name == identity.name else replace(identity, name=name)


def shown_event(event: StoredEvent) -> StoredEvent:
    """The log entry with clean names, and a clean line of chat."""
    body = shown_json(event.body)
    return event if body is event.body else replace(event, body=body)


def shown_room(room: StoredRoom) -> StoredRoom:
    """The lobby's entry with clean names."""
    summary = shown_json(room.summary)
    return room if summary is room.summary else replace(room, summary=summary)


def shown_match(match: StoredMatch) -> StoredMatch:
    """The match with clean names."""
    seats, over = shown_json(match.seats), match.over and shown_json(match.over)
    if seats is match.seats and over is match.over:
        return match
    return replace(match, seats=seats, over=over)


def shown_json(body: bytes | str) -> bytes:
    """The JSON with clean names and lines; the same bytes if they are clean already.

    SQLite returns text where somebody has written text into a column of bytes.
    """
    if isinstance(body, str):
        body = body.encode()
    if _NAME not in body:
        return body
    value = _decode(body)
    cleaned = _cleaned(value)
    return body if cleaned == value else _encode(cleaned)


def _cleaned(value: Any) -> Any:
    """Decoded JSON with clean people, who are objects with an identity and a name."""
    if isinstance(value, list):
        return [_cleaned(each) for each in value]
    if not isinstance(value, dict):
        return value
    cleaned = {key: _cleaned(each) for key, each in value.items()}
    identity, name, text = cleaned.get("identity"), cleaned.get("name"), cleaned.get("text")
    is_of_server = value.get("kind") == "ai" or value.get("by") == "bot"
    if isinstance(identity, str) and isinstance(name, str) and not is_of_server:
        cleaned["name"] = shown_name(identity, name)
        if isinstance(text, str):
            cleaned["text"] = clean_text(text)
    return cleaned
