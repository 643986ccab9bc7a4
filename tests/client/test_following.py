"""The promises of client.following, message by message."""

import json

from client.following import Following, Verdict
from client.messages import Happened, RoomMessage, parse_server_message
from server.protocol.messages import Hidden, Presence, Snapshot
from tests.support.scripted_server import joined


def joined_message(v: int, epoch: str = "e1") -> RoomMessage:
    message = parse_server_message(json.dumps(joined("r", v, epoch)))
    assert message is not None
    return message  # type: ignore[return-value]


def snapshot(v: int) -> Snapshot:
    return Snapshot(room="r", v=v, seats=(None, None), match=None)


def event(v: int) -> Happened:
    return Happened("r", v, 0, Hidden())


def started(v: int) -> Following:
    """A room that was joined and is known up to v."""
    following = Following("r")
    following.join("1")
    assert following.judge(joined_message(v)) is Verdict.PASS
    assert following.judge(snapshot(v)) is Verdict.PASS
    return following


def test_the_first_join_is_from_0_and_a_later_one_from_the_last_event() -> None:
    following = Following("r")
    assert following.join("1").since == 0
    following = started(3)
    assert following.judge(event(4)) is Verdict.PASS
    join = following.join("2")
    assert (join.id, join.room, join.since, join.epoch) == ("2", "r", 4, "e1")


def test_messages_of_an_earlier_join_are_dropped() -> None:
    """Its snapshot is dropped too, which may be older than the passed events."""
    following = started(3)
    following.join("2")
    for message in (event(4), snapshot(2), Presence(room="r", seats=(), watching=1)):
        assert following.judge(message) is Verdict.DROP
    assert following.judge(joined_message(4)) is Verdict.PASS
    assert following.judge(event(4)) is Verdict.PASS


def test_a_gap_is_reported_once_and_then_everything_waits_for_the_snapshot() -> None:
    following = started(3)
    assert following.judge(event(5)) is Verdict.GAP
    assert following.join("2").since == 0
    assert following.judge(joined_message(6)) is Verdict.PASS
    assert following.judge(event(6)) is Verdict.DROP
    assert following.judge(snapshot(6)) is Verdict.PASS
    assert following.judge(event(7)) is Verdict.PASS


def test_starting_anew_joins_from_0() -> None:
    following = started(3)
    following.start_anew()
    assert following.join("2").since == 0
