"""The jobs that wait for a worker: first come, first served, but one room after the other."""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar


class HasAffinity(Protocol):
    @property
    def affinity(self) -> str: ...


T = TypeVar("T", bound=HasAffinity)


class FairQueue(Generic[T]):
    """A bounded queue that takes from the affinities in turn; within one affinity the order is
    kept.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._by_affinity: OrderedDict[str, deque[T]] = OrderedDict()

    def __len__(self) -> int:
        return sum(map(len, self._by_affinity.values()))

    def __iter__(self) -> Iterator[T]:
        for items in self._by_affinity.values():
            yield from items

    @property
    def is_full(self) -> bool:
        return len(self) >= self.size

    def put(self, item: T) -> None:
        self._by_affinity.setdefault(item.affinity, deque()).append(item)

    def put_first(self, item: T) -> None:
        """For an item that had its turn already; the bound does not count for it."""
        self._by_affinity.setdefault(item.affinity, deque()).appendleft(item)
        self._by_affinity.move_to_end(item.affinity, last=False)

    def take(self, wanted: Callable[[T], bool]) -> T | None:
        """The next item that is wanted; its affinity goes to the end of the line."""
        for affinity, items in self._by_affinity.items():
            for item in items:
                if wanted(item):
                    self.remove(item)
                    if affinity in self._by_affinity:
                        self._by_affinity.move_to_end(affinity)
                    return item
        return None

    def remove(self, item: T) -> None:
        """Takes an item out of the line; nothing happens when it is not in there."""
        items = self._by_affinity.get(item.affinity)
        if items is not None and item in items:
            items.remove(item)
            if not items:
                del self._by_affinity[item.affinity]
