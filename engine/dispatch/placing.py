"""Chooses the place for a search. Pure."""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Generic

from msgspec import Struct

from engine.dispatch.search import P, PendingSearch
from engine.search.job import USES, Use

#: Maximum number of rooms for which the last place is remembered.
MAX_HOMES = 10_000
#: The tiers of places for a search, from the first choice to the last.
HOME, FREE, OWN_READY, BUSY, OWN_BUSY, LOST = range(6)


class Offer(Struct, Generic[P], frozen=True):
    """A place that could take a search now.

    `load` is its searches per core: below 1 it has a free core. A place that is full gets no search
    until it has answered one. `speed` is in nodes per second, and `used_s` is the loop time at
    which the place last got a search.
    """

    place: P
    load: float = 0.0
    speed: int = 0
    used_s: float = 0.0
    is_compiled: bool = True
    is_full: bool = False


class Places(Generic[P]):
    """The home of each room, the paused places, and the number of attempts at each place."""

    def __init__(self) -> None:
        self._homes: dict[str, P] = {}
        self._paused_until_s: dict[P, float] = {}
        self._running: Counter[tuple[P, Use]] = Counter()

    def home(self, affinity: str) -> P | None:
        """The place that had the room's last search, and so holds its table."""
        return self._homes.get(affinity)

    def running_at(self, place: P, uses: Iterable[Use] = USES) -> int:
        """The number of attempts of these classes that the place has not ended yet."""
        return sum(self._running[place, use] for use in uses)

    def begin(self, affinity: str, place: P, use: Use, *, is_home: bool) -> None:
        """Counts an attempt; with `is_home` it also makes the place the room's home."""
        self._running[place, use] += 1
        if not is_home:
            return
        self._homes.pop(affinity, None)
        self._homes[affinity] = place
        if len(self._homes) > MAX_HOMES:
            del self._homes[next(iter(self._homes))]

    def end(self, place: P, use: Use) -> None:
        """Counts the end of an attempt."""
        self._running[place, use] -= 1
        if not self._running[place, use]:
            del self._running[place, use]

    def pause(self, place: P, until_s: float) -> None:
        """Keeps searches from a busy place until loop time `until_s`."""
        self._paused_until_s[place] = until_s

    def paused(self, now_s: float) -> Collection[P]:
        """The places that get no searches at `now_s`."""
        if self._paused_until_s:
            self._paused_until_s = {
                place: until_s for place, until_s in self._paused_until_s.items() if until_s > now_s
            }
        return self._paused_until_s

    def next_pause_end_s(self) -> float | None:
        """Loop time in seconds at which the next pause ends; None if no place is paused."""
        return min(self._paused_until_s.values(), default=None)

    def forget(self, place: P) -> None:
        """Forgets a place that will not come back."""
        self._paused_until_s.pop(place, None)
        for affinity in [room for room, home in self._homes.items() if home == place]:
            del self._homes[affinity]


def choose(
    search: PendingSearch[P],
    offers: Iterable[Offer[P]],
    *,
    home: P | None = None,
    paused: Collection[P] = (),
    own: P | None = None,
    only_own: bool = False,
) -> P | None:
    """Returns the place for the next attempt at a search; None if no place suits now.

    The order is: free places that have compiled the game, the `home` of the search before the
    others; `own`, the caller's own engine, if it is free and has compiled the game; busy places;
    `own` in any state; places that have lost the search. A place that has not compiled the game
    gets the search only if no place has compiled it and `own` makes no offer. A place that
    failed at the search never gets it again; one that is full or `paused` does not get it now.
    """
    own_offer, others, has_compiled = None, [], False
    for offer in offers:
        if offer.place in search.failed_at:
            continue
        if offer.place == own:
            own_offer = offer
        elif not only_own:
            others.append(offer)
            has_compiled = has_compiled or offer.is_compiled
    may_be_uncompiled = not has_compiled and own_offer is None

    def rank(offer: Offer[P]) -> tuple[int, float, float, int]:
        if offer is own_offer:
            tier = OWN_READY if offer.load < 1 and offer.is_compiled else OWN_BUSY
        elif offer.place in search.lost_at:
            tier = LOST
        elif offer.load >= 1:
            tier = BUSY
        else:
            tier = HOME if offer.place == home else FREE
        return (tier, offer.load, offer.used_s, -offer.speed)

    suitable = [
        offer
        for offer in others
        if (offer.is_compiled or may_be_uncompiled)
        and not offer.is_full
        and offer.place not in paused
    ]
    if own_offer is not None and not own_offer.is_full:
        suitable.append(own_offer)
    return min(suitable, key=rank).place if suitable else None
