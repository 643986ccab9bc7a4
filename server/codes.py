"""The error codes, which say why the server refuses a command or a request.

The rules of a room, the HTTP API and the messages of every protocol version use the same codes, so
this module imports none of them.
"""

from enum import StrEnum
from typing import Self


class Code(StrEnum):
    """Every error code with its meaning.

    The part before the dot names the subject; the error's `message` says what the server expected.
    """

    meaning: str

    def __new__(cls, value: str, meaning: str = "") -> Self:
        code = str.__new__(cls, value)
        code._value_ = value
        code.meaning = meaning
        return code

    FRAME_MALFORMED = "frame.malformed", "The frame is not JSON in UTF-8."
    FRAME_TOO_DEEP = "frame.too_deep", "Objects and lists are nested too deeply."
    FRAME_TOO_BIG = "frame.too_big", "The frame is too long."
    FRAME_BINARY = "frame.binary", "The frame is binary; messages are text frames."
    MESSAGE_UNKNOWN = "message.unknown", "No message has that type."
    MESSAGE_MALFORMED = (
        "message.malformed",
        "A field is missing, has the wrong type, or exceeds its limits.",
    )
    HELLO_EXPECTED = "hello.expected", "The first message was not hello; the connection is closed."
    HELLO_TWICE = "hello.twice", "The client sent a second hello."
    PROTOCOL_UNSUPPORTED = (
        "protocol.unsupported",
        "The server speaks another protocol version and closes the connection.",
    )
    TOKEN_UNKNOWN = "token.unknown", "No identity has that token; the server closes the connection."
    NAME_REFUSED = (
        "name.refused",
        "The name is empty or too long, or it looks like one of the server, its bot or an AI.",
    )
    GAME_UNKNOWN = "game.unknown", "The server does not have that game."
    GAME_CHANGED = (
        "game.changed",
        "The game's rules have changed since the match began; the match can only be read.",
    )
    GAME_FAULT = "game.fault", "The game's rules raised an error; the server's log has the details."
    GAME_HUNG = (
        "game.hung",
        "One of the game's rules did not return; this server plays the game again after a restart.",
    )
    OPTION_UNKNOWN = "option.unknown", "The game has no such option, or no such value of it."
    LEVEL_UNKNOWN = (
        "level.unknown",
        "The game has no such AI level, or the command does not give exactly one of level, persona"
        " and strategy.",
    )
    STRATEGY_UNKNOWN = (
        "strategy.unknown",
        "The server has no such strategy, or it cannot have that depth or evaluator in this game.",
    )
    ROOM_UNKNOWN = "room.unknown", "There is no such room."
    ROOM_FROZEN = "room.frozen", "The room can be read but not played."
    ROOM_NEWER = (
        "room.newer",
        "The room was made by a newer Plyroom; it can be read here and played elsewhere.",
    )
    ROOM_FULL = (
        "room.full",
        "The room has as many events as it takes; it can be read. Open a new room.",
    )
    ROOM_BUSY = "room.busy", "Too many commands are waiting; send the same command again."
    ROOM_LIMIT = (
        "room.limit",
        "The connection, the address or the server has reached its limit of rooms.",
    )
    SEAT_TAKEN = "seat.taken", "The seat is taken."
    SEAT_EMPTY = "seat.empty", "A seat that must be taken is empty."
    SEAT_ALREADY = "seat.already", "A player who has a seat may not do that."
    SEAT_NONE = "seat.none", "Only a player who has a seat may do that."
    SEAT_BARRED = (
        "seat.barred",
        "The host keeps the seats of this room for others; the person may watch.",
    )
    BAR_NONE = (
        "bar.none",
        "There is no such person to bar, or both sides have moved since the person sat down.",
    )
    SEAT_LOCKED = "seat.locked", "Seats cannot change while a match is running."
    HOST_ONLY = "host.only", "Only the host, who created the room, may do that."
    MATCH_NONE = "match.none", "The room has not had a match yet."
    MATCH_RUNNING = "match.running", "A match is running."
    MATCH_OVER = "match.over", "The match is over."
    MATCH_STARTED = "match.started", "Too many moves have been played to abort the match."
    MATCH_UNKNOWN = "match.unknown", "There is no such match (HTTP only)."
    MOVE_MALFORMED = "move.malformed", "The text is not a move of this game in any position."
    MOVE_AMBIGUOUS = (
        "move.ambiguous",
        "The text may be several moves, which the message names (HTTP only).",
    )
    MOVE_ILLEGAL = "move.illegal", "The move is not legal in this position."
    MOVE_STALE = "move.stale", "That ply has already been played."
    MOVE_EARLY = "move.early", "An earlier ply has not been played yet."
    MOVE_NOT_YOUR_TURN = "move.not_your_turn", "The other side is to move."
    CHAT_EMPTY = (
        "chat.empty",
        "The line is empty after removing invisible characters.",
    )
    OFFER_TWICE = "offer.twice", "The player has an open offer, or offered too recently."
    OFFER_NONE = "offer.none", "No offer is open."
    CHAT_MUTED = "chat.muted", "The host has muted the person in this room."
    MUTE_NONE = "mute.none", "There is no such person to mute, or the person is not muted."
    CHAT_REPEATED = "chat.repeated", "The line equals one of the author's last lines."
    CLAIM_NONE = "claim.none", "The player has nothing to claim now."
    CLAIM_UNSURE = (
        "claim.unsure",
        "The server is not sure that the opponent has gone for long enough; try again.",
    )
    DRAW_NONE = "draw.none", "The game cannot end in a draw."
    HELP_NONE = (
        "help.none",
        "The room gives no help with positions while this match is running.",
    )
    CLOCK_REFUSED = "clock.refused", "The text is not a time control that the server plays by."
    TIME_LIMIT = "time.limit", "No time can be added to the clock now."
    TAKEBACK_NONE = (
        "takeback.none",
        "The player has no move to take back, or the room does not allow it.",
    )
    POSITION_REFUSED = (
        "position.refused",
        "The text is not a position of this game from which a match can start.",
    )
    TRACE_TEXT = (
        "trace.text",
        "The text is not a tree or a graph; `line` and `column` say where, if known (HTTP only).",
    )
    TRACE_UNKNOWN = (
        "trace.unknown",
        "There is no algorithm, form, order, evaluator or cut-off of that name (HTTP only).",
    )
    TRACE_IMPOSSIBLE = "trace.impossible", "The choices for the search conflict (HTTP only)."
    TRACE_TOO_LARGE = (
        "trace.too_large",
        "The search needs more than its limits allow; ask for less depth (HTTP only).",
    )
    TRACE_WITHHELD = (
        "trace.withheld",
        "The sender may not see searches of the running match (HTTP only).",
    )
    LESSON_UNKNOWN = "lesson.unknown", "There is no such lesson (HTTP only)."
    STUDY_OFF = "study.off", "The server has no study processes, or is stopping (HTTP only)."
    STUDY_BUSY = "study.busy", "Too many searches are waiting; try again later (HTTP only)."
    STUDY_FAILED = "study.failed", "The study process ended; send the request again (HTTP only)."
    ANALYSIS_REFUSED = (
        "analysis.refused",
        "The match cannot be analysed; the message says why (HTTP only).",
    )
    EXPORT_REFUSED = (
        "export.refused",
        "The format cannot write the match; the message says why (HTTP only).",
    )
    ORIGIN_FOREIGN = "origin.foreign", "A page of another site sent the request (HTTP only)."
    RATE_EXCEEDED = "rate.exceeded", "A rate limit is exceeded; wait, then send it again."
    ENGINE_BUSY = "engine.busy", "No engine has room for the search now; try again later."
    STORE_RETRY = (
        "store.retry",
        "The store does not answer, so the outcome is unknown; send the same id again.",
    )
    SERVER_FAULT = "server.fault", "The server failed on this message; its log has the details."
    UPGRADE_LATE = "upgrade.late", "A WebSocket needs a new connection (HTTP only)."
