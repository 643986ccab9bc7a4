"""The chat: its lines, their audience, and its rate limits for each identity and for the room.

The limits are computed from the log, so they are the same on every node.
"""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.commands import MAX_CHAT, Chat
from server.events import Said
from server.ids import IdentityId
from server.protocol import views
from server.protocol.codes import Code
from server.rooms import chat, rules
from server.rooms.model import SNAPSHOT_CHAT_LINES, Actor, CommandRejected, Moment
from server.rooms.permissions import permitted
from server.rooms.text import clean_text
from server.settings import Settings
from tests.support.fake_server import Client, FakeServer, Message, virtual
from tests.support.room_log import ADA, BEN, CYD, LoggedRoom, attempt, created, seated
from tests.support.room_log import chat as line
from tests.support.two_players import playing

#: Time that passes with each command of `LoggedRoom`, in ms.
STEP_MS = 7


# --- lines ----------------------------------------------------------------------------------------


def test_chat() -> None:
    """Everyone may write to the room; a spectator may also write to the spectators only."""
    played = seated()
    assert played.do(CYD, line("hello")) == [Said("cyd", "Cyd", "hello")]
    assert played.do(CYD, line("psst", "spectators")) == [Said("cyd", "Cyd", "psst", "spectators")]
    assert played.do(ADA, line("hm")) == [Said("ada", "Ada", "hm")]
    assert played.refuse(ADA, line("psst", "spectators")) is Code.SEAT_ALREADY


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("  two   words  ", "two words"),
        ("one\ntwo\ttabs\r\n", "one two tabs"),
        ("a\u202eb\u2066c\u200fd", "abcd"),
        ("\u0645\u06cc\u200c\u062e \u3164x\u2800", "\u0645\u06cc\u200c\u062e x"),
        ("Zoe\u0308" + 9 * "\u0334", "Zo\u00eb\u0334\u0334\u0334"),
        (MAX_CHAT * "\u0958", MAX_CHAT // 2 * "\u0915\u093c"),  # normalized to two characters
        ("a\x00b\x1b[31mc\x7f", "ab[31mc"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("no\u00a0break\u3000wide", "no break wide"),
        ("Grüße 🎲 日本 עברית", "Grüße 🎲 日本 עברית"),
        ("<b>&amp;", "<b>&amp;"),
        ("private\ue000use", "privateuse"),
        ("line\u2028paragraph\u2029end", "line paragraph end"),
    ],
)
def test_chat_is_cleaned(text: str, cleaned: str) -> None:
    """Control, bidirectional and other invisible characters are removed from a line, as from a
    name.

    White space between words becomes a single space.
    """
    played = seated()
    (event,) = played.do(CYD, line(text))
    assert isinstance(event, Said)
    assert event.text == cleaned
    assert clean_text(cleaned) == cleaned


@pytest.mark.parametrize("nothing", ["", " ", "\n\t", "\u200b\u202e\u2069", "\x00", "\u3000"])
def test_an_empty_line_is_refused(nothing: str) -> None:
    """A line without visible characters is refused."""
    assert seated().refuse(CYD, line(nothing)) is Code.CHAT_EMPTY


def test_a_room_keeps_its_last_lines() -> None:
    """Room and snapshot have the last 50 lines, each with its v; the log has all lines."""
    played = seated()
    for number in range(SNAPSHOT_CHAT_LINES + 9):
        played.do(CYD, line(f"line {number}"))
    assert [said.text for said in played.room.chat] == [
        f"line {number}" for number in range(9, SNAPSHOT_CHAT_LINES + 9)
    ]
    assert [said.v for said in played.room.chat] == list(
        range(played.room.v - SNAPSHOT_CHAT_LINES + 1, played.room.v + 1)
    )
    shown = views.snapshot(played.room, player=True).chat
    assert [(said.v, said.at, said.text) for said in shown] == [
        (said.v, said.at_ms, said.text) for said in played.room.chat
    ]


def test_players_do_not_receive_spectators_lines() -> None:
    """I14: lines to spectators are in snapshots for spectators, not in snapshots for players."""
    played = seated()
    played.do(CYD, line("he should take the middle", "spectators"))
    played.do(CYD, line("good luck"))
    assert [said.text for said in views.snapshot(played.room, player=True).chat] == ["good luck"]
    assert len(views.snapshot(played.room, player=False).chat) == 2


# --- limits ---------------------------------------------------------------------------------------


def say_at(played: LoggedRoom, *times_ms: int) -> None:
    """Adds a chat line of Ada at each of the times."""
    for at_ms in times_ms:
        played.now_ms = at_ms - STEP_MS
        played.do(ADA, Chat(id=played.new_id(), text="x"))


def refusal_at(
    played: LoggedRoom, now_ms: int, lines: int = 4, room_lines: int = 20, identity: str = "ada"
) -> str | None:
    """Returns the message that refuses a line at that time, or None if the line is accepted."""
    refusal = attempt(
        lambda: chat.check_rate_limits(played.room, identity, now_ms, lines, room_lines)
    )
    if refusal is None:
        return None
    assert isinstance(refusal, CommandRejected)
    assert refusal.code is Code.RATE_EXCEEDED
    return refusal.message


@pytest.fixture
def played() -> LoggedRoom:
    played = LoggedRoom()
    played.create()
    return played


def test_four_lines_in_ten_seconds(played: LoggedRoom) -> None:
    """A fifth line within ten seconds is refused, with the time to wait."""
    say_at(played, 20_000, 22_000, 24_000)
    assert refusal_at(played, 25_000) is None
    say_at(played, 25_000)
    assert refusal_at(played, 25_000) == "you write too fast; try again in 5 s"
    assert refusal_at(played, 29_999) == "you write too fast; try again in 1 s"
    assert refusal_at(played, 30_000) is None
    assert refusal_at(played, 25_000, identity="ben") is None


def test_a_room_has_a_limit_for_its_spectators(played: LoggedRoom) -> None:
    """A line beyond the limit of all spectators together is refused, with the time to wait. They
    cannot use up what a player may write, and a player's lines do not count for them.
    """
    say_at(played, *range(19_980, 20_000))
    assert refusal_at(played, 20_000, identity="ben") is None
    for number in range(20):
        played.now_ms = 20_000 + number
        guest = Actor(IdentityId(f"guest {number % 5}"), "Guest")
        played.do(guest, Chat(id=played.new_id(), text="x"))
    waits = "all of you together write too fast; try again in 9 s"
    assert refusal_at(played, 21_010, identity="ben") == waits
    assert refusal_at(played, 21_010, lines=21) is None, "the player"
    settings = Settings(limit_chat=21)
    may_write = {
        name: Chat in permitted(played.room, IdentityId(name), 21_010, settings)
        for name in ("ada", "ben")
    }
    assert may_write == {"ada": True, "ben": False}
    assert refusal_at(played, 30_100, identity="ben") is None


def test_zero_switches_the_chat_limits_off(played: LoggedRoom) -> None:
    """0 switches off the limit of a speaker and the limit of the room."""
    say_at(played, *range(20_000, 20_064))
    assert refusal_at(played, 21_000, lines=0, room_lines=0) is None
    assert refusal_at(played, 21_000, lines=64, room_lines=0) is not None


def test_a_clock_that_is_set_back_mutes_nobody(played: LoggedRoom) -> None:
    """After the clock was set back by an hour, a speaker's next line is accepted.

    A clock that is a second behind only lengthens the wait.
    """
    say_at(played, 10_000_000, 10_000_001, 10_000_002, 10_000_003)
    assert refusal_at(played, 10_000_000 - 3_600_000) is None
    assert refusal_at(played, 9_999_000) == "you write too fast; try again in 11 s"


def test_a_room_stores_the_speakers_of_the_last_64_lines(played: LoggedRoom) -> None:
    """The room stores time and identity of the last 64 lines."""
    say_at(played, *range(20_000, 20_100))
    assert [said.at_ms for said in played.room.chat_stamps] == list(range(20_036, 20_100))
    assert {said.identity for said in played.room.chat_stamps} == {ADA.identity}


def test_each_speaker_has_a_separate_limit(played: LoggedRoom) -> None:
    """A line counts only towards its sender's limit, also a line to spectators."""
    played.now_ms = 20_000
    for actor in (BEN, CYD):
        for _ in range(3):
            played.do(actor, Chat(id=played.new_id(), text="x", to="spectators"))
    assert refusal_at(played, 20_000, identity="ben") is None
    assert refusal_at(played, 20_000, identity="ben", lines=3) is not None


REPEATS = Settings(limit_chat=0, limit_chat_room=0)


def say(played: LoggedRoom, actor: Actor, text: str) -> Code | None:
    """Says a line with the default limit of repeated lines; returns the code of a refusal."""
    moment = Moment(actor, played.now_ms, played.now_ms, played.new_id, REPEATS, played.find_game)
    outcome = attempt(lambda: rules.decide(played.room, Chat("c", text), moment))
    if isinstance(outcome, CommandRejected):
        return outcome.code
    assert isinstance(outcome, list)
    played.append(outcome[0])
    return None


@given(st.lists(st.tuples(st.sampled_from([ADA, BEN]), st.sampled_from("abcde")), max_size=30))
def test_no_line_equals_one_of_the_last_three_of_its_author(lines: list[tuple[Actor, str]]) -> None:
    """A line is refused if and only if it equals one of the last 3 accepted lines of its author,
    also on a node that has just loaded the room.
    """
    played = created()
    said: dict[str, list[str]] = {}
    for actor, text in lines:
        own = said.setdefault(actor.identity, [])
        is_repeat = text in own[-3:]
        assert say(played, actor, text) == (Code.CHAT_REPEATED if is_repeat else None)
        assert played.fold() == played.room
        if not is_repeat:
            own.append(text)


def test_spaces_do_not_make_a_line_a_new_one() -> None:
    """A line that differs from the author's last one in spaces only is refused."""
    played = created()
    assert say(played, ADA, "hello  there") is None
    assert say(played, ADA, " hello there ") is Code.CHAT_REPEATED


# --- on nodes -------------------------------------------------------------------------------------


async def refusal(client: Client, room: str, text: str | None = None) -> Message | None:
    """Sends a line, by default a new one; returns the error that answers it, or None if it is
    accepted.
    """
    answer = await client.ask(client.chat(room, text or client.new_id()))
    return answer if answer["t"] == "error" else None


@virtual
async def test_a_flood_is_refused() -> None:
    """A client's lines beyond the fourth are refused and not logged; others may speak.

    A repeated line gets its ack again.
    """
    async with playing() as (fake, _, room, ada, ben):
        await ada.ack(ada.chat(room, "x", key="first"))
        for _ in range(3):
            assert await refusal(ada, room) is None
        error = await refusal(ada, room)
        assert error is not None
        assert (error["code"], error["message"]) == (
            Code.RATE_EXCEEDED, "you write too fast; try again in 10 s"
        )  # fmt: skip
        assert await fake.store.logs.heads([room]) == {room: 8}
        assert await refusal(ben, room) is None
        assert await ada.ack(ada.chat(room, "x", key="first")) == 5
        await asyncio.sleep(10)
        assert await refusal(ada, room) is None


@virtual
async def test_the_limit_holds_across_nodes_and_restarts() -> None:
    """Lines on two nodes count together, even while the bus is cut.

    They also count on a node that opens the room later.
    """
    async with playing() as (fake, _, room, ada, _):
        fake.bus.cut = True  # type: ignore[attr-defined]
        async with fake.hub("n2") as other:
            again = Client(other, "ada")
            await again.ack(again.join(room))
            for client in (ada, again, ada, again):
                assert await refusal(client, room) is None
            assert await refusal(ada, room) is not None
            assert await refusal(again, room) is not None
        async with fake.hub("n3") as third:
            assert await refusal(Client(third, "ada"), room) is not None


@virtual
async def test_a_crowd_is_refused() -> None:
    """A room accepts twenty lines in ten seconds, even if each is from another person."""
    async with playing() as (_, hub, room, *_):
        people = [Client(hub, f"guest{number}") for number in range(22)]
        answers = [await refusal(client, room) for client in people]
        assert [number for number, answer in enumerate(answers) if answer] == [20, 21]


@virtual
async def test_the_settings_switch_the_chat_limits_off() -> None:
    """The settings can switch the limits off."""
    fake = FakeServer().unlimited()
    async with playing(fake=fake) as (_, _, room, ada, _):
        for _ in range(70):
            assert await refusal(ada, room) is None
