"""The codes of protocol version 1: the server's error codes, and WebSocket close codes."""

from enum import IntEnum
from typing import Self

from server.codes import Code as Code


class Close(IntEnum):
    """The WebSocket close codes of the server and its clients, besides those of RFC 6455."""

    meaning: str

    def __new__(cls, value: int, meaning: str = "") -> Self:
        code = int.__new__(cls, value)
        code._value_ = value
        code.meaning = meaning
        return code

    POLICY = (
        1008,
        "A late or refused hello, silence, or far too many messages; the reason says which.",
    )
    TOO_BIG = 1009, "A frame was too long."
    RESTARTING = (
        1012,
        "The server restarts, or its store does not answer: reconnect after a random delay.",
    )
    TOO_SLOW = (
        1013,
        "The client reads too slowly; reconnect and join again. The connection may also break.",
    )
    REPLACED = 4001, "Reserved: another connection has replaced this one."
    PAGE_CLOSED = (
        4002,
        "Sent by a client: the person has closed the page or quit the program.",
    )
