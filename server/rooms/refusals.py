"""The reasons for which a room refuses commands: the code for clients, and what was expected."""

from typing import NamedTuple

from server.codes import Code
from server.rooms.model import MAX_EVENTS, MAX_EVENTS_WITHOUT_MOVE


class Refusal(NamedTuple):
    """Why a command is refused: the arguments of CommandRejected."""

    code: Code
    message: str


NEWER = Refusal(
    Code.ROOM_NEWER,
    "this room was made by a newer Plyroom; it can be read here and played elsewhere",
)
FULL = Refusal(
    Code.ROOM_FULL,
    f"this room has {MAX_EVENTS:,} events and takes no more, except to end a match;"
    " it can be read; open a new room",
)
FULL_WITHOUT_MOVE = Refusal(
    Code.ROOM_FULL,
    f"this room has {MAX_EVENTS_WITHOUT_MOVE:,} events without a move and takes no more before one;"
    " it can be read; open a new room",
)
NO_SEAT = Refusal(Code.SEAT_NONE, "you have no seat in this room")
NOT_HOST = Refusal(Code.HOST_ONLY, "only the host of the room may do that")
SEAT_TAKEN = Refusal(Code.SEAT_TAKEN, "the seat is taken")
HAS_SEAT = Refusal(Code.SEAT_ALREADY, "you have a seat already")
SEAT_LOCKED = Refusal(
    Code.SEAT_LOCKED, "seats cannot change while a match is running; you may resign"
)  # fmt: skip
AI_LOCKED = Refusal(Code.SEAT_LOCKED, "seats cannot change while a match is running")
SETTING_LOCKED = Refusal(
    Code.MATCH_RUNNING, "this setting cannot change while a match is running"
)  # fmt: skip
NO_AI = Refusal(Code.SEAT_EMPTY, "no AI holds that seat")
SEAT_EMPTY = Refusal(Code.SEAT_EMPTY, "a seat is empty")
NOT_STARTED = Refusal(Code.MATCH_NONE, "the match begins when both seats are taken")
NO_MATCH = Refusal(Code.MATCH_NONE, "there has been no match yet")
MATCH_RUNNING = Refusal(Code.MATCH_RUNNING, "the match is still running")
MATCH_OVER = Refusal(Code.MATCH_OVER, "the match is over")
OUT_OF_TIME = Refusal(Code.MATCH_OVER, "the time of the side to move was over before that")
NO_CLOCK = Refusal(Code.TIME_LIMIT, "the clock is not running, so nobody can add time to it")
TIME_ADDED = Refusal(Code.TIME_LIMIT, "you have given your opponent time often enough")
ABORT_TOO_LATE = Refusal(
    Code.MATCH_STARTED, "a match can be aborted until both sides have moved; you may resign"
)
ABORT_BY_SPECTATOR = Refusal(
    Code.SEAT_NONE, "only a player may abort, or the host of a match between AI seats"
)
REMATCH_BY_SPECTATOR = Refusal(
    Code.SEAT_NONE, "only a player may offer a rematch, or the host of a match between AI seats"
)
NEXT_BY_SPECTATOR = Refusal(
    Code.SEAT_NONE,
    "only a player may choose the next game, or the host of a match between AI seats",
)
NEXT_REPLACED = Refusal(
    Code.OFFER_NONE, "that game is not proposed any more; accept names the version of the proposal"
)
NO_OFFER_BY_OPPONENT = Refusal(Code.OFFER_NONE, "the other side has not offered anything")
NO_OFFER = Refusal(Code.OFFER_NONE, "no offer is open")
NO_DRAWS = Refusal(Code.DRAW_NONE, "this game cannot end in a draw")
ONE_SCREEN = Refusal(Code.SEAT_LOCKED, "one player holds both seats of this room")
NO_TAKEBACKS = Refusal(Code.TAKEBACK_NONE, "no moves are taken back in this room")
NO_MOVE_TO_TAKE_BACK = Refusal(Code.TAKEBACK_NONE, "you have no move to take back")
ABSENT_MOVE = Refusal(
    Code.TAKEBACK_NONE, "your opponent is away and cannot agree to take a move back"
)
READ_ONLY = Refusal(
    Code.ROOM_FROZEN,
    "this match was played by other rules than this server has; it can only be read",
)
HUNG = Refusal(
    Code.GAME_HUNG,
    "one of this game's rules did not return; the match can go on after a restart of the server",
)
TAKEBACK_REQUESTED = Refusal(
    Code.OFFER_TWICE, "you have asked to take a move back in this position already"
)
REMATCH_OFFERED = Refusal(Code.OFFER_TWICE, "you have offered a rematch already")
NOBODY_TO_GO = Refusal(
    Code.CLAIM_NONE, "only a player whose opponent is another person may claim that"
)
OPPONENT_PRESENT = Refusal(Code.CLAIM_NONE, "your opponent is connected")
CLAIM_TOO_EARLY = Refusal(
    Code.CLAIM_NONE, "nobody can claim a match before both sides have moved; you may abort it"
)
CLAIM_ON_OWN_MOVE = Refusal(
    Code.CLAIM_NONE, "it is your move; you may claim the match after it, not before"
)
CANNOT_WIN = Refusal(
    Code.CLAIM_NONE,
    "no series of moves wins for your side any more, so you cannot claim the win",
)
UNSURE = Refusal(
    Code.CLAIM_UNSURE,
    "the server is not sure yet that your opponent has gone for so long; try again later",
)
CANNOT_PLAY_ON = Refusal(Code.ROOM_FROZEN, "the AI cannot play this match on")
HELP_IN_RATED_MATCH = Refusal(
    Code.HELP_NONE, "nobody gets help with positions in a rated match before it is over"
)
HELP_BETWEEN_PEOPLE = Refusal(
    Code.HELP_NONE,
    "in this room two people play each other without help; ask again when the match is over",
)
MUTED = Refusal(Code.CHAT_MUTED, "the host of this room has muted you; you cannot write here")
MUTE_SELF = Refusal(Code.MUTE_NONE, "you cannot mute yourself")
MUTE_UNKNOWN = Refusal(Code.MUTE_NONE, "nobody of that identity has a seat or has written here")
MUTE_TOO_MANY = Refusal(Code.MUTE_NONE, "too many people are muted in this room; unmute one first")
NOT_MUTED = Refusal(Code.MUTE_NONE, "nobody of that identity is muted here")
BARRED = Refusal(
    Code.SEAT_BARRED, "the host keeps the seats of this room for other people; you may watch"
)
BAR_UNKNOWN = Refusal(Code.BAR_NONE, "nobody of that identity has sat down here lately")
BAR_TOO_LATE = Refusal(
    Code.BAR_NONE, "both sides have moved since that person sat down; you may resign"
)
NO_KEPT_SEAT = Refusal(Code.SEAT_NONE, "the AI keeps no seat for you")
