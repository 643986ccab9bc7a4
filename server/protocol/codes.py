"""What refusals and closed connections are called on the wire, version 1: the codes of both, with
their meanings.
"""

from enum import IntEnum, StrEnum
from typing import Self


class Code(StrEnum):
    """Every error code with its meaning; the part before the dot says what it is about, the message
    of the error what was expected.
    """

    meaning: str

    def __new__(cls, value: str, meaning: str = "") -> Self:
        code = str.__new__(cls, value)
        code._value_ = value
        code.meaning = meaning
        return code

    FRAME_MALFORMED = "frame.malformed", "The frame is no JSON in UTF-8."
    FRAME_TOO_DEEP = "frame.too_deep", "Objects and lists nest too deep."
    FRAME_TOO_BIG = "frame.too_big", "The frame is too long."
    FRAME_BINARY = "frame.binary", "Messages are text frames."
    MESSAGE_UNKNOWN = "message.unknown", "There is no message of that type."
    MESSAGE_MALFORMED = (
        "message.malformed",
        "A field is missing, of the wrong type, or beyond its limits.",
    )
    HELLO_EXPECTED = "hello.expected", "The first message is hello; the connection is closed."
    HELLO_TWICE = "hello.twice", "Hello was said already."
    PROTOCOL_UNSUPPORTED = (
        "protocol.unsupported",
        "The server speaks another version; the connection is closed.",
    )
    TOKEN_UNKNOWN = "token.unknown", "Nobody has that token; the connection is closed."
    NAME_REFUSED = (
        "name.refused",
        "The name is empty or too long when invisible characters are taken out, or would be taken for an AI's.",
    )
    GAME_UNKNOWN = "game.unknown", "The server does not have that game."
    GAME_CHANGED = (
        "game.changed",
        "The rules of the match are not those that the server has; it can only be read.",
    )
    GAME_FAULT = "game.fault", "The rules of the game failed; the server's log says how."
    OPTION_UNKNOWN = "option.unknown", "The game has no such option, or the option no such value."
    LEVEL_UNKNOWN = (
        "level.unknown",
        "The game has no such level of AI, or not one of level and persona was given.",
    )
    ROOM_UNKNOWN = "room.unknown", "There is no such room."
    ROOM_FROZEN = "room.frozen", "The room can be read but not played."
    ROOM_BUSY = "room.busy", "Too many commands at once; send the same command again."
    ROOM_LIMIT = (
        "room.limit",
        "The connection follows, or the address or the server has open, as many rooms as it may.",
    )
    SEAT_TAKEN = "seat.taken", "Somebody sits there."
    SEAT_EMPTY = "seat.empty", "A seat that must be taken is empty."
    SEAT_ALREADY = "seat.already", "Whoever has a seat may not do that."
    SEAT_NONE = "seat.none", "Only those who have a seat may do that."
    SEAT_LOCKED = "seat.locked", "Seats are kept while a match is running."
    HOST_ONLY = "host.only", "Only whoever made the room may do that."
    MATCH_NONE = "match.none", "There has been no match in the room yet."
    MATCH_RUNNING = "match.running", "Not while a match is running."
    MATCH_OVER = "match.over", "The match is over."
    MATCH_STARTED = "match.started", "Too many moves have been played for that."
    MATCH_UNKNOWN = "match.unknown", "There is no such match (HTTP)."
    MOVE_MALFORMED = "move.malformed", "The text is no move of this game at all."
    MOVE_ILLEGAL = "move.illegal", "The rules do not allow this move here."
    MOVE_STALE = "move.stale", "That ply has been played already."
    MOVE_EARLY = "move.early", "Earlier plies have not been played yet."
    MOVE_NOT_YOUR_TURN = "move.not_your_turn", "The other side is to move."
    CHAT_EMPTY = (
        "chat.empty",
        "Nothing is left of the line when invisible characters are taken out.",
    )
    OFFER_TWICE = "offer.twice", "You have offered that already, or not long ago."
    OFFER_NONE = "offer.none", "No offer is open."
    CLAIM_NONE = "claim.none", "There is no draw that you may claim now."
    ORIGIN_FOREIGN = "origin.foreign", "A page of another site may not do that (HTTP)."
    RATE_EXCEEDED = "rate.exceeded", "Too many in a short time; wait, then send it again."
    STORE_RETRY = (
        "store.retry",
        "The store does not answer, so it is not known whether it was done; send the same id again.",
    )
    SERVER_FAULT = "server.fault", "The server made a mistake with this; its log says which."
    UPGRADE_LATE = "upgrade.late", "A WebSocket needs a new connection (HTTP)."


class Close(IntEnum):
    """WebSocket close codes that this server sends, besides those of RFC 6455."""

    meaning: str

    def __new__(cls, value: int, meaning: str = "") -> Self:
        code = int.__new__(cls, value)
        code._value_ = value
        code.meaning = meaning
        return code

    POLICY = (
        1008,
        "No hello, a hello that was refused, silence, or far too many messages; the reason says which.",
    )
    TOO_BIG = 1009, "A frame was too long."
    RESTARTING = (
        1012,
        "The server restarts, or its store does not answer: connect again after a random moment.",
    )
    TOO_SLOW = (
        1013,
        "Too much was unsent to you (the connection may also just break): connect again and join.",
    )
    REPLACED = 4001, "Another connection has taken this one's place. Not used yet."
