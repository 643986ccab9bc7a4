"""The limits of the chat: the rates of each identity and of the spectators, and repeated lines.

The limits count the lines in the log, so that all nodes decide alike. Questions to the room's bot
have further limits of their own.
"""

from collections.abc import Iterator, Sequence

from server.codes import Code
from server.ids import IdentityId
from server.rooms.model import ChatStamp, CommandRejected, Room
from server.settings import Settings

#: The window in which lines of chat are counted, in ms.
WINDOW_MS = 10_000
#: The window in which questions to the bot are counted, in ms.
QUESTION_WINDOW_MS = 60_000


def check_rate_limits(
    room: Room, identity: str, now_ms: int, identity_limit: int, room_limit: int
) -> None:
    """Raises CommandRejected, with the time to wait, if a limit of lines in WINDOW_MS is reached.

    The limits are those of the identity and of the spectators together, in lines; 0 means no limit.
    The players have their own limit only: spectators cannot use up what a player may write. Lines
    more than WINDOW_MS in the future are ignored: a clock that was set back must not mute players.
    """
    subjects = "you write too fast", "all of you together write too fast"
    stamps, room_limit = _shared_stamps(room, identity, room.chat_stamps, room_limit)
    limits = identity_limit, room_limit
    _check(_reached_limits(stamps, identity, now_ms, limits, subjects), now_ms)


def check_private_limits(room: Room, identity: str, now_ms: int, settings: Settings) -> None:
    """Raises CommandRejected, with the time to wait, if a limit of private lines in
    QUESTION_WINDOW_MS is reached. Nobody sees these lines, so they do not count for the chat.

    The players have their own limit only: spectators cannot use up what a player may ask.
    """
    subjects = "you ask the bot too often", "all of you together ask the bot too often"
    stamps, room_limit = _shared_stamps(
        room, identity, room.private_stamps, settings.limit_private_room
    )
    limits = settings.limit_private, room_limit
    reached = _reached_limits(stamps, identity, now_ms, limits, subjects, QUESTION_WINDOW_MS)
    _check(reached, now_ms)


def check_question_limits(room: Room, identity: str, now_ms: int, settings: Settings) -> None:
    """Raises CommandRejected, with the time to wait, if a limit of questions in QUESTION_WINDOW_MS
    is reached. Cheap questions do not count, and the players have their own limit only.
    """
    subjects = (
        "you ask for searches too often", "all of you together ask for searches too often",
    )  # fmt: skip
    stamps, room_limit = _shared_stamps(
        room, identity, room.question_stamps, settings.limit_questions_room
    )
    limits = settings.limit_questions, room_limit
    reached = _reached_limits(stamps, identity, now_ms, limits, subjects, QUESTION_WINDOW_MS)
    _check(reached, now_ms)


def _shared_stamps(
    room: Room, identity: str, stamps: Sequence[ChatStamp], room_limit: int
) -> tuple[Sequence[ChatStamp], int]:
    """The stamps that count against an identity, and the room's limit for it: that of the
    spectators together, none for a player.
    """
    if room.has_player(IdentityId(identity)):
        return stamps, 0
    return [stamp for stamp in stamps if not room.has_player(stamp.identity)], room_limit


def check_repeat(room: Room, identity: str, text: str, limit: int) -> None:
    """Raises CommandRejected if the text equals one of the identity's last `limit` lines.

    Only lines in memory count: the last SNAPSHOT_CHAT_LINES of the room.
    """
    own = [line.text for line in room.chat if line.identity == identity]
    if limit and text in own[-limit:]:
        raise CommandRejected(Code.CHAT_REPEATED, "you have just said that; say something else")


def next_line_ms(room: Room, identity: str, now_ms: int, settings: Settings) -> int:
    """The time at which the limits allow an identity its next line; `now_ms` if they do now."""
    if not room.chat_stamps:
        return now_ms
    stamps, room_limit = _shared_stamps(room, identity, room.chat_stamps, settings.limit_chat_room)
    reached = _reached_limits(stamps, identity, now_ms, (settings.limit_chat, room_limit))
    return max((until_ms for _, until_ms in reached), default=now_ms)


def _check(reached: Iterator[tuple[str, int]], now_ms: int) -> None:
    """Raises CommandRejected for the first limit that is reached."""
    for subject, until_ms in reached:
        wait_s = -((now_ms - until_ms) // 1000)
        raise CommandRejected(Code.RATE_EXCEEDED, f"{subject}; try again in {wait_s} s")


def _reached_limits(
    stamps: Sequence[ChatStamp],
    identity: str,
    now_ms: int,
    limits: tuple[int, int],
    subjects: tuple[str, str] = ("", ""),
    window_ms: int = WINDOW_MS,
) -> Iterator[tuple[str, int]]:
    """Yields each reached limit of the identity and of the room: its subject, and its end in ms."""
    recent = [stamp for stamp in stamps if abs(now_ms - stamp.at_ms) < window_ms]
    own = [stamp for stamp in recent if stamp.identity == identity]
    for counted, limit, subject in zip((own, recent), limits, subjects, strict=True):
        if limit and len(counted) >= limit:
            yield subject, counted[-limit].at_ms + window_ms
