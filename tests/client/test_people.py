"""The terminal: people of one name, muted people, and players who go."""

from pathlib import Path

import msgspec
import pytest

from client.model import Model
from client.terminal import names, words
from client.terminal.muted import MutedFile
from server.events import Occupant, Player
from server.protocol.messages import ChatLine

ADA, OTHER_ADA = Occupant("1", "Ada"), Occupant("2", "ADA")
KEPT = Occupant("ai", "AI level 4", "ai", 4, kept_for=Player("3", "Bob"))


def line(v: int, identity: str, name: str) -> ChatLine:
    return ChatLine(v, 0, name, "hello", identity=identity)


def room(*seats: Occupant | None, chat: tuple[ChatLine, ...] = ()) -> Model:
    return Model(room="r", seats=seats, chat=chat)


def test_people_of_one_name_are_numbered() -> None:
    """The first seat comes first, then the lines of chat; case makes no difference, and a person is
    counted once.
    """
    chat = (line(2, "4", "ada"), line(3, "2", "ADA"), line(4, "5", "Bob"), line(5, "4", "ada"))
    marks = names.marks(room(ADA, OTHER_ADA, chat=chat))
    assert marks == {"1": "", "2": " (2)", "4": " (3)", "5": ""}


def test_a_person_whose_seat_the_ai_keeps_has_a_name() -> None:
    """The absent player counts as a player, and the AI's name says for whom it plays."""
    model = room(ADA, KEPT, chat=(line(2, "9", "bob"),))
    assert names.marks(model)["9"] == " (2)"
    assert words.player_name(model, 1) == "AI level 4 for Bob"
    assert msgspec.structs.replace(model, me="3").kept_seat == 1


@pytest.mark.parametrize(
    ("name", "identity"), [("Ada", "1"), ("ada (2)", "2"), ("ADA (3)", None), ("", None)]
)
def test_a_person_is_found_by_name_and_number(name: str, identity: str | None) -> None:
    """A name without a number is the first person of that name."""
    assert names.find(room(ADA, OTHER_ADA), name) == identity


def test_nobody_is_found_as_oneself() -> None:
    """A viewer who mutes a person of their own name does not mute themselves."""
    model = msgspec.structs.replace(room(ADA, OTHER_ADA), me="1")
    assert [names.find(model, name) for name in ("Ada", "Ada (2)", "Bob")] == ["2", "2", None]


def test_muted_people_are_kept_in_a_file(tmp_path: Path) -> None:
    """A muted person stays muted in the next program; a damaged file mutes nobody."""
    path = tmp_path / "state" / "muted.json"
    muted = MutedFile(path)
    muted.add("1")
    muted.add("2")
    muted.remove("1")
    again = MutedFile(path)
    assert ("1" in again, "2" in again) == (False, True)
    path.write_text("{", "utf-8")
    assert "2" not in MutedFile(path)
