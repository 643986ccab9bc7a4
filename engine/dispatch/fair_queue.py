"""A queue of jobs that wait for a worker: by rank, round-robin between the rooms of a rank, and
FIFO within a room.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Protocol, TypeVar


class Queueable(Protocol):
    """An item of the queue: its affinity, and its number in the order of admission."""

    @property
    def affinity(self) -> str: ...

    @property
    def number(self) -> int: ...


class Ranked(Queueable, Protocol):
    """An item with a rank: those of rank 0 are served first."""

    @property
    def rank(self) -> int: ...


T = TypeVar("T", bound=Queueable)
R = TypeVar("R", bound=Ranked)


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


class RankedQueue(Generic[R]):
    """A fair queue for each of `count` ranks, so that no item waits behind one of a later rank.

    At most `size` items of each rank wait.
    """

    def __init__(self, size: int, count: int) -> None:
        self.size = size
        self._queues: list[FairQueue[R]] = [FairQueue(size) for _ in range(count)]

    def __len__(self) -> int:
        return sum(map(len, self._queues))

    def __iter__(self) -> Iterator[R]:
        for queue in self._queues:
            yield from queue

    def count(self, rank: int) -> int:
        """The number of waiting items of a rank."""
        return len(self._queues[rank])

    def of(self, rank: int) -> Iterator[R]:
        """The waiting items of a rank."""
        return iter(self._queues[rank])

    def is_full_for(self, rank: int) -> bool:
        """Whether the queue of a rank is full."""
        return self._queues[rank].is_full

    def put(self, item: R) -> None:
        """Appends an item to the queue of its rank; the caller checks `is_full_for` first."""
        self._queues[item.rank].put(item)

    def put_back(self, item: R) -> None:
        """Puts an item back at the head of the queue of its rank, even when that is full."""
        self._queues[item.rank].put_back(item)

    def take(self, is_wanted: Callable[[R], bool], ranks: Iterable[int] | None = None) -> R | None:
        """Removes and returns the next wanted item, of these ranks only; None for none."""
        for rank in range(len(self._queues)) if ranks is None else ranks:
            queue = self._queues[rank]
            if queue and (item := queue.take(is_wanted)) is not None:
                return item
        return None

    def remove(self, item: R) -> None:
        """Removes an item from the queue; does nothing when the item is not queued."""
        self._queues[item.rank].remove(item)
