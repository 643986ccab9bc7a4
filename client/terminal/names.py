"""Tells people of the same name in a room apart. The browser does it in the same way."""

import re
import unicodedata
from collections.abc import Iterator

from client.model import Model

#: The name of a user on a server of their own.
OWN_NAME = "You"
#: The names of two people on one screen who give none.
ON_ONE_SCREEN = ("Player 1", "Player 2")
#: The joiners and variation selectors that a name may have.
_INVISIBLE = re.compile("[\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef]")


def key(name: str) -> str:
    """What names that count as the same have in common: letters, but neither their case nor form,
    nor what nobody can see.
    """
    return unicodedata.normalize("NFKC", _INVISIBLE.sub("", name)).casefold()


def marks(model: Model) -> dict[str, str]:
    """What to add to the name of each identity in the room: nothing, or " (2)" if one other person
    of that name comes first.

    The order is that of the seats, then of the lines of chat.
    """
    counts: dict[str, int] = {}
    result: dict[str, str] = {}
    for identity, name in _people(model):
        if identity and identity not in result:
            count = counts[key(name)] = counts.get(key(name), 0) + 1
            result[identity] = "" if count == 1 else f" ({count})"
    return result


def players(model: Model) -> dict[str, str]:
    """The names of the people who hold a seat or for whom an AI keeps one, by identity."""
    return dict(_players(model))


def find(model: Model, name: str) -> str | None:
    """The identity of the other person with this name and mark, "Ada (2)"; None if there is none.

    A name without a mark is the first other person of that name: nobody means themselves.
    """
    by_identity = marks(model)
    others = [(identity, shown) for identity, shown in _people(model) if identity != model.me]
    for has_mark in (True, False):
        for identity, shown in others:
            mark = by_identity.get(identity, "") if has_mark else ""
            if key(f"{shown}{mark}") == key(name):
                return identity
    return None


def _players(model: Model) -> Iterator[tuple[str, str]]:
    for occupant in model.seats:
        if occupant is None:
            continue
        if occupant.kept_for is not None:
            yield occupant.kept_for.identity, occupant.kept_for.name
        elif occupant.kind != "ai":
            yield occupant.identity, occupant.name


def _people(model: Model) -> Iterator[tuple[str, str]]:
    yield from _players(model)
    for line in model.chat:
        yield line.identity, line.name
