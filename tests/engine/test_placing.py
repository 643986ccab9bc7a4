"""The choice of a place for a search, and the home of each room."""

from typing import Any

import pytest

from engine.dispatch import placing
from engine.dispatch.placing import Offer, Places, choose
from tests.support.dispatching import OWN, Search, search_of


def choice(search: Search, *offers: Offer[str], **options: Any) -> str | None:
    return choose(search, offers, **options)


def test_the_order_of_places() -> None:
    """Each place is chosen before all that follow it here, in any order of the offers."""
    search = search_of()
    search.lost_at = frozenset({"lost"})
    search.failed_at = frozenset({"failed"})
    order = [
        Offer("home", load=0.5),
        Offer("idle"),
        Offer("used before", used_s=1.0),
        Offer("used", used_s=2.0, speed=5),
        Offer("used and slow", used_s=2.0, speed=4),
        Offer("loaded", load=0.9),
        Offer(OWN),
        Offer("busy", load=1.0),
        Offer("busier", load=2.0),
        Offer("lost"),
    ]
    never = [
        Offer("failed"), Offer("paused"), Offer("full", is_full=True),
        Offer("cold", is_compiled=False),
    ]  # fmt: skip
    while order:
        offers = [*reversed(order), *never]
        assert choice(search, *offers, home="home", paused={"paused"}, own=OWN) == order[0].place
        assert choice(search, *offers, own=OWN, only_own=True) == (
            OWN if Offer(OWN) in order else None
        )
        order.pop(0)
    assert choice(search, *never[:3], paused={"paused"}) is None


def test_a_place_that_has_not_compiled_the_game() -> None:
    """A place that must still compile the game is chosen only if no other place is offered.

    That holds even if the other places are busy or resting.
    """
    search = search_of()
    cold, warm = Offer("cold", is_compiled=False), Offer("warm", load=1.0)
    own, cold_own = Offer(OWN, load=1.0), Offer(OWN, is_compiled=False)
    assert choice(search, cold) == "cold"
    assert choice(search, cold, warm) == "warm"
    assert choice(search, cold, warm, paused={"warm"}) is None
    assert choice(search, cold, own, own=OWN) == OWN
    assert choice(search, warm, cold_own, own=OWN) == "warm"
    assert choice(search, cold, cold_own, own=OWN) == OWN


def test_a_busy_home_does_not_come_first() -> None:
    """A room's home comes before other places only while it is free."""
    search = search_of()
    assert choice(search, Offer("home", load=1.0), Offer("other"), home="home") == "other"
    assert choice(search, Offer("home", load=1.0), Offer("other", load=1.5), home="home") == "home"


def test_the_callers_own_engine_comes_before_places_that_lost_the_search() -> None:
    """The caller's own engine is chosen even if it has a queue or has not compiled the game."""
    search = search_of()
    search.lost_at = frozenset({"lost"})
    for own in (Offer(OWN, load=3.0), Offer(OWN, is_compiled=False)):
        assert choice(search, Offer("lost"), own, own=OWN) == OWN


def test_rooms_have_homes(monkeypatch: pytest.MonkeyPatch) -> None:
    """`home` returns a room's last place, for the last MAX_HOMES rooms, until the place ends."""
    monkeypatch.setattr(placing, "MAX_HOMES", 2)
    places: Places[str] = Places()
    for room, place in (("x", "a"), ("y", "b"), ("x", "b"), ("z", "a")):
        places.begin(room, place, "live", is_home=True)
    places.begin("z", OWN, "live", is_home=False)
    assert [places.home(room) for room in "xyz"] == ["b", None, "a"]
    places.forget("b")
    assert [places.home(room) for room in "xyz"] == [None, None, "a"]
    assert (places.running_at("a"), places.running_at("b")) == (2, 2)
