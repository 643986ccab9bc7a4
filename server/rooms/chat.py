"""The pace of the chat: limits for each identity and for a room within WINDOW_MS.

They are checked against the lines of the log, so every node decides the same.
"""

from server.protocol.codes import Code
from server.rooms.model import CommandRejected, Room

#: The window in which lines of chat are counted, in ms.
WINDOW_MS = 10_000


def check_pace(room: Room, identity: str, now_ms: int, lines: int, room_lines: int) -> None:
    """Raises CommandRejected, with the time to wait, when a limit is reached within WINDOW_MS.

    `lines` is the limit of the identity and `room_lines` that of the room; 0 is no limit. Lines
    more than WINDOW_MS in the future are ignored, so a clock that was set back mutes nobody.
    """
    near = [said for said in room.said if abs(now_ms - said.at_ms) < WINDOW_MS]
    own = [said for said in near if said.identity == identity]
    seconds = WINDOW_MS // 1000
    for said, most, whose in (
        (own, lines, "you may say"),
        (near, room_lines, "all together may say"),
    ):
        if most and len(said) >= most:
            wait_s = -((now_ms - said[-most].at_ms - WINDOW_MS) // 1000)
            raise CommandRejected(
                Code.RATE_EXCEEDED,
                f"{whose} {most} lines in {seconds} s; say it again in {wait_s} s",
            )
