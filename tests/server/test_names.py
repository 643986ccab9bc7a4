"""Guest names that look like an AI's name."""

# ruff: noqa: RUF001 (these tests need letters that look alike)

import pytest

from engine.rules.registry import load_game
from engine.search.job import PERSONAS
from server.identity.guests import find_guest, is_ai_name, new_guest, rename_guest, token_hash
from server.ids import IdentityId
from server.limits.by_address import Limits
from server.protocol.codes import Code
from server.rooms.model import CommandRejected
from server.rooms.seats import ai_occupant
from server.store.base import Identity
from tests.support.fake_server import START_MS, FakeServer

#: Variants with Cyrillic, Greek, full-width, accented and otherwise similar letters.
AI_NAMES = [
    "AI", "ai", "AI level 5", "ai LEVEL 5", "A.I. level 5", "AI-level-12", "AILevel5", "AI  level",
    "AI level five",
    "ＡＩ level ５", "АІ level 5", "Al level 5", "A1 leve1 5", "AI lеvеl 5", "ΑΙ level 5",
    "A\u0301I level 5",
    "AI level ⑤", "CP #1", "CP", "cp1", "CPU", "CPU 2", "Computer", "COMPUTER 3", "AI 5", "AI #5",
    "СР #1",
    "AI average", "ai_swindler", "AI random", "Al random",
]  # fmt: skip


@pytest.mark.parametrize("name", AI_NAMES)
def test_an_ai_like_name_is_refused(name: str) -> None:
    """An AI's name is refused in any case, spacing and punctuation, and with look-alike letters."""
    assert is_ai_name(name)


def test_names_of_ai_seats_are_refused() -> None:
    """The name of every AI level and every persona is refused."""
    game = load_game("chess")
    seats = [ai_occupant(game, level, None) for level in range(1, game.levels + 1)]
    seats += [ai_occupant(game, None, persona) for persona in PERSONAS]
    for seat in seats:
        assert is_ai_name(seat.name)


@pytest.mark.parametrize(
    "name",
    ["Ada", "Al", "Ali", "Ai Weiwei", "Aidan", "Cpt. Kirk", "Computer science", "Level 5",
     "Guest 1234", "Алла", "Ciara", "Random", "A. Level", "Αλέξης", "7", "💡", "AI fan"],
)  # fmt: skip
def test_other_names_are_accepted(name: str) -> None:
    """Ordinary names are accepted, even unusual ones."""
    assert not is_ai_name(name)


async def test_an_older_guest_keeps_a_refused_name() -> None:
    """New guests and new names get name.refused; a guest who has such a name already keeps it."""
    ports = FakeServer().ports("n1")
    await ports.store.identities.add_guest(
        Identity(IdentityId("ada"), "Ada"), token_hash("token"), START_MS
    )
    limits = Limits(ports.settings)
    ada = await find_guest(ports, "token")
    assert ada is not None
    for call in (
        new_guest(ports, limits, "", "CP #1"),
        rename_guest(ports, limits, "", ada, "AI level 5"),
    ):
        with pytest.raises(CommandRejected) as refused:
            await call
        assert refused.value.code is Code.NAME_REFUSED
        assert "AI" in refused.value.message
    await ports.store.identities.add_guest(
        Identity(IdentityId("old"), "AI level 5"), token_hash("old"), START_MS
    )
    old = await find_guest(ports, "old")
    assert old is not None
    for name in ("", "AI level 5", " AI  level 5"):
        guest = await rename_guest(ports, limits, "", old, name)
        assert (guest.id, guest.name) == ("old", "AI level 5")
