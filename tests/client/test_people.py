"""The terminal: people of one name, muted people, and players who go."""

import io
import unicodedata
from pathlib import Path

import msgspec
import pytest

from client.address import parse_address
from client.messages import LoggedEvent
from client.model import Model
from client.terminal import names, words
from client.terminal.muted import MutedFile
from client.terminal.output import Output
from client.terminal.transcript import Transcript
from server.bidi import FSI, PDI, isolated
from server.events import (
    AnyEvent,
    Muted,
    Occupant,
    Player,
    Renamed,
    Said,
    SeatLeft,
    SeatTaken,
    Started,
    Unmuted,
)
from server.protocol.messages import ChatLine
from server.series import Score

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
    ("first", "second"),
    [
        ("Zo\u00eb", "ZOE\u0308"),
        ("\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u062e"),
        ("\u2764\ufe0f", "\u2764"),
    ],
)
def test_names_that_differ_in_nothing_visible_are_numbered(first: str, second: str) -> None:
    """Names count as the same if only case, form or joiners tell them apart."""
    assert names.marks(room(Occupant("1", first), Occupant("2", second))) == {"1": "", "2": " (2)"}
    assert names.find(room(Occupant("1", first)), second) == "1"


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


# --- names from right to left ---------------------------------------------------------------------

OMAR, DAVID = "\u0639\u0645\u0631", "\u05d3\u05d5\u05d3"


@pytest.mark.parametrize(
    "text",
    [
        "Ann",
        "Zo\u00eb",
        "\u738b\u4f1f",
        "\u041e\u043b\u044f",
        "5",
        "",
        OMAR,
        f"Ann {DAVID}",
        "\u07d2",
        "\U0001e900",
        "\ufe8e",
    ],
)
def test_a_text_with_letters_from_right_to_left_is_isolated(text: str) -> None:
    """Exactly a text with characters of the classes R and AL is isolated."""
    turns = any(unicodedata.bidirectional(character) in ("R", "AL") for character in text)
    assert isolated(text) == (f"{FSI}{text}{PDI}" if turns else text)


def test_every_letter_from_right_to_left_is_isolated() -> None:
    """Of all letters those of the classes R and AL are isolated, and no others."""
    for character in map(chr, range(0x11_0000)):
        if character.isalpha():
            turns = unicodedata.bidirectional(character) in ("R", "AL")
            assert (isolated(character) != character) == turns, ascii(character)


def test_the_score_stands_in_one_order_for_who_watches() -> None:
    """It is the browser's: your own first, for others whoever sat first in the first match."""
    bob = Occupant("2", "Bob")
    series = (Score(("1", "2"), (4, 2)),)
    for seats in ((ADA, bob), (bob, ADA)):
        texts = [
            words.series_text(Model(room="r", me=me, seats=seats, series=series)) for me in "123"
        ]
        assert texts == ["Score: Ada 2 : 1 Bob.", "Score: Bob 1 : 2 Ada.", "Score: Ada 2 : 1 Bob."]


def printed(model: Model, event: AnyEvent) -> str:
    """Returns what the terminal prints for an event."""
    data, messages = io.StringIO(), io.StringIO()
    transcript = Transcript(
        Output(data, messages, interactive=False),
        parse_address("http://x"),
        brief=True,
        server_ms=int,
    )
    transcript.show(model, model, LoggedEvent("r", 9, 0, event))
    return data.getvalue() + messages.getvalue()


@pytest.mark.parametrize(
    "event",
    [
        SeatTaken(0, Occupant("3", OMAR)), SeatLeft(0),
        Started("m", 1, "", "", (Occupant("3", OMAR),)),
        Renamed("1", OMAR), Muted("3", OMAR), Unmuted("3", OMAR), Said("3", OMAR, "hi"),
        Said("1", "Ann", f"{DAVID} 5 hi"), Said("1", "\x1b[31m\x9b1mAnn", "\x07x\x1b[2J"),
    ],
)  # fmt: skip
def test_the_terminal_isolates_names_and_lines(event: AnyEvent) -> None:
    """Each name and line from right to left stands in an isolate, and brings no control codes."""
    text = printed(room(Occupant("1", OMAR), None), event)
    assert text
    assert text.count(FSI) == text.count(PDI)
    for name in (OMAR, f"{DAVID} 5 hi"):
        assert text.count(name) == text.count(f"{FSI}{name}{PDI}")
    assert not [c for c in text if unicodedata.category(c) == "Cc" and c != "\n"]
