"""The dispatcher's queue: bounded, round-robin between rooms, FIFO within a room."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from engine.dispatch.fair_queue import FairQueue


@dataclass(frozen=True)
class Item:
    """A queued item: its room, its number, and whether `take` may return it."""

    affinity: str
    number: int
    is_wanted: bool = True


def drain(queue: FairQueue[Item]) -> list[Item]:
    """Takes all wanted items and returns them in order."""
    taken = []
    while (item := queue.take(lambda item: item.is_wanted)) is not None:
        taken.append(item)
    return taken


def test_rooms_take_turns() -> None:
    """A room with many jobs does not delay a room with one."""
    queue: FairQueue[Item] = FairQueue(10)
    for number, room in enumerate("aaaabab"):
        queue.put(Item(room, number))
    assert [f"{item.affinity}{item.number}" for item in drain(queue)] == [
        "a0",
        "b4",
        "a1",
        "b6",
        "a2",
        "a3",
        "a5",
    ]


def test_an_item_that_is_put_back_is_first() -> None:
    """`put_back` puts an item at the head of the queue, even if the queue is full.

    Within its room the items stay in the order of their numbers.
    """
    queue: FairQueue[Item] = FairQueue(2)
    queue.put(Item("a", 1))
    queue.put(Item("b", 1))
    assert queue.is_full
    queue.put_back(Item("b", 0))
    assert drain(queue) == [Item("b", 0), Item("a", 1), Item("b", 1)]
    for number in (2, 1):
        queue.put_back(Item("a", number))
    queue.put_back(Item("a", 3))
    assert drain(queue) == [Item("a", 1), Item("a", 2), Item("a", 3)]


@given(rooms=st.lists(st.tuples(st.sampled_from("abc"), st.booleans())))
def test_items_are_taken_in_order(rooms: list[tuple[str, bool]]) -> None:
    """Each wanted item is taken once, in the order of its room; the others stay in the queue."""
    queue: FairQueue[Item] = FairQueue(1000)
    items = [Item(room, number, is_wanted) for number, (room, is_wanted) in enumerate(rooms)]
    for item in items:
        queue.put(item)
    taken = drain(queue)
    for room in "abc":
        assert [item for item in taken if item.affinity == room] == [
            item for item in items if item.affinity == room and item.is_wanted
        ]
    assert set(queue) == {item for item in items if not item.is_wanted}
    for item in items:
        queue.remove(item)
    assert len(queue) == 0
