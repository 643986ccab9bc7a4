"""The chat of a room, with rate limits for each identity and for the room, and without repeated
lines.

The limits count the lines in the log, so all nodes decide alike.
"""

from collections.abc import Iterator

from server.codes import Code
from server.rooms.commands import Chat, Command
from server.rooms.events import RoomEvent, Said
from server.rooms.model import CommandRejected, Moment, Room, Rule
from server.rooms.text import clean_text
from server.settings import Settings

#: The window in which lines of chat are counted, in ms.
WINDOW_MS = 10_000


def check_rate_limits(
    room: Room, identity: str, now_ms: int, identity_limit: int, room_limit: int
) -> None:
    """Raises CommandRejected, with the time to wait, if a limit of lines in WINDOW_MS is reached.

    The limits are those of the identity and of the room, in lines; 0 means no limit. Lines more
    than WINDOW_MS in the future are ignored: a clock that was set back must not mute players.
    """
    for subject, until_ms in _reached_limits(room, identity, now_ms, identity_limit, room_limit):
        wait_s = -((now_ms - until_ms) // 1000)
        raise CommandRejected(Code.RATE_EXCEEDED, f"{subject}; try again in {wait_s} s")


def check_repeat(room: Room, identity: str, text: str, limit: int) -> None:
    """Raises CommandRejected if the text equals one of the identity's last `limit` lines.

    Only the lines that the room keeps in memory count, SNAPSHOT_CHAT_LINES of all people.
    """
    own = [line.text for line in room.chat if line.identity == identity]
    if limit and text in own[-limit:]:
        raise CommandRejected(Code.CHAT_REPEATED, "you have just said that; say something else")


def next_line_ms(room: Room, identity: str, now_ms: int, settings: Settings) -> int:
    """The time at which the limits allow an identity its next line; `now_ms` if they do now."""
    if not room.chat_stamps:
        return now_ms
    limits = settings.limit_chat, settings.limit_chat_room
    reached = _reached_limits(room, identity, now_ms, *limits)
    return max((until_ms for _, until_ms in reached), default=now_ms)


def _reached_limits(
    room: Room, identity: str, now_ms: int, identity_limit: int, room_limit: int
) -> Iterator[tuple[str, int]]:
    """Yields each limit that is reached: the start of its message, and the time until which it
    holds.
    """
    recent = [stamp for stamp in room.chat_stamps if abs(now_ms - stamp.at_ms) < WINDOW_MS]
    own = [stamp for stamp in recent if stamp.identity == identity]
    for stamps, limit, subject in (
        (own, identity_limit, "you write too fast"),
        (recent, room_limit, "all of you together write too fast"),
    ):
        if limit and len(stamps) >= limit:
            yield subject, stamps[-limit].at_ms + WINDOW_MS


def say(room: Room, command: Chat, moment: Moment) -> list[RoomEvent]:
    limits = moment.settings.limit_chat, moment.settings.limit_chat_room
    check_rate_limits(room, moment.actor.identity, moment.now_ms, *limits)
    text = clean_text(command.text)
    if not text:
        raise CommandRejected(Code.CHAT_EMPTY, "the line is empty")
    if command.to == "spectators" and room.has_player(moment.actor.identity):
        raise CommandRejected(Code.SEAT_ALREADY, "players talk to the whole room")
    check_repeat(room, moment.actor.identity, text, moment.settings.limit_chat_repeats)
    name = room.player_name(moment.actor.identity) or moment.actor.name
    return [Said(moment.actor.identity, name, text, command.to)]


#: The rules of this module.
RULES: dict[type[Command], Rule] = {Chat: say}
