"""How much may be said: so many lines in a while for each identity, and for the room.

Judged from the lines of the log, so it is the same on every node.
"""

from server.protocol.codes import Code
from server.rooms.model import CommandRejected, Room

WINDOW_MS = 10_000


def check_pace(room: Room, identity: str, now_ms: int, lines: int, room_lines: int) -> None:
    """CommandRejected, with the time to wait, when the identity has said `lines` or the room heard
    `room_lines` within WINDOW_MS; 0 is no limit.

    Lines that the clock says are more than WINDOW_MS ahead are passed over: a clock that was set
    back mutes nobody.
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
