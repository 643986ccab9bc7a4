"""A subscription passes each event once and in order, and reports a gap."""

import json

from client.following import Subscription, Verdict
from client.messages import LoggedEvent, RoomMessage, parse_server_message
from server.events import Hidden
from server.protocol.messages import Presence, Snapshot
from tests.support.scripted_server import joined


def joined_message(v: int, epoch: str = "e1") -> RoomMessage:
    message = parse_server_message(json.dumps(joined("r", v, epoch)))
    assert message is not None
    return message  # type: ignore[return-value]


def snapshot(v: int) -> Snapshot:
    return Snapshot(room="r", v=v, seats=(None, None), match=None)


def event(v: int) -> LoggedEvent:
    return LoggedEvent("r", v, 0, Hidden())


def subscribed(v: int) -> Subscription:
    """Returns a subscription with a snapshot at v."""
    subscription = Subscription("r")
    subscription.join("1")
    assert subscription.check(joined_message(v)) is Verdict.PASS
    assert subscription.check(snapshot(v)) is Verdict.PASS
    return subscription


def test_the_first_join_is_from_0_and_a_later_one_from_the_last_event() -> None:
    subscription = Subscription("r")
    assert subscription.join("1").since == 0
    subscription = subscribed(3)
    assert subscription.check(event(4)) is Verdict.PASS
    join = subscription.join("2")
    assert (join.id, join.room, join.since, join.epoch) == ("2", "r", 4, "e1")


def test_messages_of_an_earlier_join_are_dropped() -> None:
    """That includes its snapshot, which may be older than the events that have passed."""
    subscription = subscribed(3)
    subscription.join("2")
    for message in (event(4), snapshot(2), Presence(room="r", seats=(), watching=1)):
        assert subscription.check(message) is Verdict.DROP
    assert subscription.check(joined_message(4)) is Verdict.PASS
    assert subscription.check(event(4)) is Verdict.PASS


def test_a_gap_is_reported_once_and_later_events_are_dropped_until_a_snapshot() -> None:
    subscription = subscribed(3)
    assert subscription.check(event(5)) is Verdict.GAP
    assert subscription.join("2").since == 0
    assert subscription.check(joined_message(6)) is Verdict.PASS
    assert subscription.check(event(6)) is Verdict.DROP
    assert subscription.check(snapshot(6)) is Verdict.PASS
    assert subscription.check(event(7)) is Verdict.PASS


def test_after_require_snapshot_the_next_join_is_from_0() -> None:
    subscription = subscribed(3)
    subscription.require_snapshot()
    assert subscription.join("2").since == 0
