"""A queue of jobs that wait for a worker: FIFO within a room, round-robin between rooms."""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar


class Queueable(Protocol):
    """An item of the queue: its affinity, and its number in the order of admission."""

    @property
    def affinity(self) -> str: ...

    @property
    def number(self) -> int: ...


T = TypeVar("T", bound=Queueable)


class FairQueue(Generic[T]):
    """A bounded queue that serves its affinities round-robin, and FIFO within one affinity."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._count = 0
        self._by_affinity: OrderedDict[str, deque[T]] = OrderedDict()

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[T]:
        for items in self._by_affinity.values():
            yield from items

    @property
    def is_full(self) -> bool:
        return self._count >= self.size

    def put(self, item: T) -> None:
        """Appends an item; the caller checks `is_full` first."""
        self._by_affinity.setdefault(item.affinity, deque()).append(item)
        self._count += 1

    def put_back(self, item: T) -> None:
        """Puts an item back at the head of the queue, even when the queue is full.

        Within its affinity it goes before the items with higher numbers.
        """
        items = self._by_affinity.setdefault(item.affinity, deque())
        items.insert(sum(other.number < item.number for other in items), item)
        self._by_affinity.move_to_end(item.affinity, last=False)
        self._count += 1

    def take(self, is_wanted: Callable[[T], bool]) -> T | None:
        """Removes and returns the next wanted item; None if there is none.

        Its affinity goes to the end of the round.
        """
        for affinity, items in self._by_affinity.items():
            for item in items:
                if is_wanted(item):
                    self.remove(item)
                    if affinity in self._by_affinity:
                        self._by_affinity.move_to_end(affinity)
                    return item
        return None

    def remove(self, item: T) -> None:
        """Removes an item from the queue; does nothing when the item is not queued."""
        items = self._by_affinity.get(item.affinity)
        if items is not None and item in items:
            items.remove(item)
            self._count -= 1
            if not items:
                del self._by_affinity[item.affinity]
