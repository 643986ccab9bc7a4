"""The waiting searches: a fair queue for each class, so that no class waits behind another."""

from collections.abc import Callable, Collection, Iterator
from typing import Generic, Protocol, TypeVar

from engine.dispatch.fair_queue import FairQueue, Queueable
from engine.search.job import USES, Use


class Classed(Queueable, Protocol):
    """An item of the queue with its class."""

    @property
    def use(self) -> Use: ...


T = TypeVar("T", bound=Classed)


class ClassQueue(Generic[T]):
    """Serves the most urgent class first. At most `size` items of each class wait."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._queues: dict[Use, FairQueue[T]] = {use: FairQueue(size) for use in USES}

    def __len__(self) -> int:
        return sum(map(len, self._queues.values()))

    def __iter__(self) -> Iterator[T]:
        for queue in self._queues.values():
            yield from queue

    def count(self, use: Use) -> int:
        """The number of waiting items of a class."""
        return len(self._queues[use])

    def of(self, use: Use) -> Iterator[T]:
        """The waiting items of a class."""
        return iter(self._queues[use])

    def is_full_for(self, use: Use) -> bool:
        """Whether the queue of a class is full."""
        return self._queues[use].is_full

    def put(self, item: T) -> None:
        """Appends an item to the queue of its class; the caller checks `is_full_for` first."""
        self._queues[item.use].put(item)

    def put_back(self, item: T) -> None:
        """Puts an item back at the head of the queue of its class, even when that is full."""
        self._queues[item.use].put_back(item)

    def take(self, is_wanted: Callable[[T], bool], uses: Collection[Use] = USES) -> T | None:
        """Removes and returns the next wanted item of the classes `uses`; None if there is none."""
        for use, queue in self._queues.items():
            if use in uses and queue and (item := queue.take(is_wanted)) is not None:
                return item
        return None

    def remove(self, item: T) -> None:
        """Removes an item from the queue; does nothing when the item is not queued."""
        self._queues[item.use].remove(item)
