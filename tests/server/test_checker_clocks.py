"""The history checker follows clocks of every kind, and finds each number that is wrong (I23) and
each flag or move at a wrong time (I24).
"""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.oracle.clocks import start_clock
from tests.support.golden_logs import CLOCKS, read

Message = dict[str, Any]


def history(name: str) -> list[Message]:
    """Returns the events of a golden log as clients receive them."""
    return [{"at": at_ms, **json.loads(body)} for at_ms, body in read(name)]


def faults_of(events: list[Message]) -> list[str]:
    """Returns what the checker finds in the clocks of a room."""
    clock, faults = None, list[str]()
    for event in events:
        if event["kind"] == "started":
            faults += clock.faults if clock else []
            clock = start_clock(event)
        if clock is not None and "match" in event:
            clock.follow(event, event["at"])
    return faults + (clock.faults if clock else [])


@pytest.mark.parametrize("name", CLOCKS)
def test_histories_with_clocks_are_sound(name: str) -> None:
    """The checker finds nothing in what servers have written."""
    assert faults_of(history(name)) == []


def pair_plus(field: str, ms: int) -> Callable[[Message], None]:
    def change(event: Message) -> None:
        event[field] = [event[field][0] + ms, event[field][1]]

    return change


def plus(field: str, number: int) -> Callable[[Message], None]:
    def change(event: Message) -> None:
        event[field] = event.get(field, 0) + number

    return change


#: Changes of an event: its kind, what must hold of it, the change, and the invariant.
CHANGES: dict[str, tuple[str, Callable[[Message], bool], Callable[[Message], None], str]] = {
    "start": ("started", lambda e: "clock" in e, pair_plus("clocks_ms", 1), "I23"),
    "left": ("moved", lambda e: "clock_ms" in e, plus("clock_ms", 1), "I23"),
    "less left": ("moved", lambda e: "clock_ms" in e, plus("clock_ms", -1), "I23"),
    "spent more than passed": ("moved", lambda e: "spent_ms" in e, plus("spent_ms", 10**6), "I23"),
    "credit for nothing": ("moved", lambda e: "spent_ms" in e, plus("credit_ms", 10**6), "I23"),
    "stage": ("moved", lambda e: "stage" in e, plus("stage", 1), "I23"),
    "period": ("moved", lambda e: "periods" in e, plus("periods", 1), "I23"),
    "added": ("time_added", lambda e: True, plus("ms", 1), "I23"),
    "released": ("released", lambda e: True, pair_plus("clocks_ms", 1), "I23"),
    "released later": ("released", lambda e: True, plus("from_ms", 10**6), "I23"),
    "taken back": ("took_back", lambda e: True, pair_plus("clocks_ms", 10**5), "I23"),
    "early flag": ("finished", lambda e: e["how"] == "flag", plus("at", -11), "I24"),
    "early noshow": ("finished", lambda e: e["how"] == "noshow", plus("at", -11), "I24"),
    "fallen with time": (
        "finished",
        lambda e: e["how"] == "flag",
        pair_plus("clocks_ms", 7),
        "I23",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_each_wrong_number_is_found(change: str) -> None:
    """Whichever event has it, in every golden history with such an event."""
    kind, is_meant, apply, invariant = CHANGES[change]
    count = 0
    for name in CLOCKS:
        events = history(name)
        for number, event in enumerate(events):
            if event["kind"] != kind or not is_meant(event):
                continue
            changed = copy.deepcopy(events)
            apply(changed[number])
            found = faults_of(changed)
            assert any(fault.startswith(invariant) for fault in found), (name, event, found)
            count += 1
    assert count > 0
