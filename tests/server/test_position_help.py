"""Help with positions is refused to everyone wherever the room forbids it, for each command.

A command of the bot that is not in HARMLESS counts as help with positions.
"""

from collections.abc import Callable

import msgspec
import pytest
from msgspec.structs import replace

from server.bot import api, registry
from server.bot.api import Need
from server.commands import AiSeat, Command, Configure, Hint, LetAiPlay, Rematch, Resign
from server.events import CAPABILITIES, Created, Occupant, Required, SeatTaken, parse_event_body
from server.ids import IdentityId, RoomId
from server.protocol.codes import Code
from server.rooms import permissions
from server.rooms.matches import start_event
from server.rooms.model import Absence, Actor
from server.rooms.permissions import permitted, position_help, viewer_of
from server.rooms.rules import _requirements
from server.rooms.thinking import setting_of_match
from server.settings import Settings
from server.store.base import EVERYONE, Append, CommandKey, NewRoom, StoredEvent, StoredMatch
from server.web.thoughts import Thoughts
from tests.support.bots import AGAINST_AI, bot_of
from tests.support.fake_server import Client, FakeServer, Message, run_ready_tasks, virtual
from tests.support.room_log import (
    ADA,
    BEN,
    CYD,
    ROOM,
    LoggedRoom,
    add_ai,
    created,
    plain,
    seated,
    sit,
)

#: The commands that say nothing about positions.
HARMLESS = {
    "analyse", "clock", "draw", "help", "level", "persona", "quiz", "rules", "takeback",
}  # fmt: skip
#: The commands that help with positions.
HELPING = sorted(registry.all_commands().keys() - HARMLESS)
BETWEEN_AI = (AiSeat(level=1), AiSeat(level=2))


def rated(*steps: tuple[Actor, Command], one_screen: bool = False) -> LoggedRoom:
    """A room whose first event says that it is rated, after these commands.

    Its host would allow help.
    """
    played = LoggedRoom()
    first = Created("tic-tac-toe", {}, "public", ADA.identity, rated=True, help=True)
    first = replace(first, one_screen=one_screen)
    played.append(first)
    for required in _requirements(first):
        played.append(required)
    for actor, command in steps:
        played.do(actor, command)
    return played


def rated_on_one_screen() -> LoggedRoom:
    """A rated match of one person who plays both sides: such a room begins with its match."""
    played = rated(one_screen=True)
    both = Occupant(ADA.identity, ADA.name)
    for seat in (0, 1):
        played.append(SeatTaken(seat, both))
    assert played.room.game is not None
    start = played.room.game.start()
    played.append(start_event(start, "m1", 1, [both, both], setting_of_match(played.room)))
    return played


def taken_over() -> LoggedRoom:
    """A match of two people in which the AI plays on for one who has gone."""
    played = seated()
    played.moves("a1 b1 a2")
    played.find_absence = lambda _: Absence(0, 0)
    played.do(ADA, plain(LetAiPlay))
    return played


def with_help_changed(*, to: bool) -> LoggedRoom:
    """The second match of two people in a room whose host has changed the help after the first."""
    played = seated(help=not to)
    played.do(ADA, plain(Resign))
    played.do(ADA, Configure("c", "all", help=to))
    played.do(ADA, plain(Rematch))
    played.do(BEN, plain(Rematch))
    return played


#: The rooms whose running match forbids help.
FORBIDDEN: dict[str, Callable[[], LoggedRoom]] = {
    "two people": seated,
    "two people, without help from now on": lambda: with_help_changed(to=False),
    "the AI plays on for a person": taken_over,
    "rated, two people": lambda: rated((ADA, sit(0)), (BEN, sit(1))),
    "rated, against an AI": lambda: rated((ADA, sit(0)), (ADA, add_ai(1))),
    "rated, between AI seats": lambda: rated((ADA, add_ai(0)), (ADA, add_ai(1))),
    "rated, on one screen": rated_on_one_screen,
}
#: The rooms that allow it.
ALLOWED: dict[str, Callable[[], LoggedRoom]] = {
    "two people with help": lambda: seated(help=True),
    "two people, with help from now on": lambda: with_help_changed(to=True),
    "against an AI": lambda: created(seats=AGAINST_AI),
    "between AI seats": lambda: created(seats=BETWEEN_AI),
    "one screen": lambda: created(one_screen=True),
}


@pytest.mark.parametrize("actor", [ADA, BEN, CYD], ids=lambda actor: actor.name)
@pytest.mark.parametrize("kind", FORBIDDEN)
@pytest.mark.parametrize("name", HELPING)
def test_no_command_helps_where_help_is_forbidden(name: str, kind: str, actor: Actor) -> None:
    """Each command that helps is refused to players, to the host and to spectators."""
    room = FORBIDDEN[kind]().fold()
    refusal = registry.all_commands()[name].when(room, viewer_of(room, actor.identity))
    assert refusal is not None
    assert refusal.code in (Code.HELP_NONE, Code.SEAT_NONE)
    if actor is ADA and room.seat_of(ADA.identity) is not None:
        assert refusal.code is Code.HELP_NONE


@pytest.mark.parametrize("kind", [*FORBIDDEN, *ALLOWED, "no match"])
def test_the_needs_of_a_command_say_when_it_is_refused(kind: str) -> None:
    """A built-in command is refused exactly where one of its needs is not there: clients list it
    as refused by its needs alone.
    """
    room = {**FORBIDDEN, **ALLOWED, "no match": created}[kind]().fold()
    for actor in (ADA, BEN, CYD):
        viewer = viewer_of(room, actor.identity)
        there = {
            Need.MATCH: room.match is not None,
            Need.HELP: position_help(room, viewer) is None,
            Need.SEAT: viewer.seat is not None,
            Need.AI: True,
            Need.THOUGHTS: True,
            Need.PASS: False,  # tic-tac-toe's turn cannot be passed
        }
        for name, each in registry.all_commands().items():
            is_allowed = each.when(room, viewer) is None
            has_needs = all(there[need] for need in each.needs)
            assert is_allowed == has_needs, (name, actor.name)


@pytest.mark.parametrize("kind", FORBIDDEN)
def test_no_hint_where_help_is_forbidden(kind: str) -> None:
    """Nobody may ask for a hint, and no list of commands has it."""
    room = FORBIDDEN[kind]().fold()
    for actor in (ADA, BEN, CYD):
        assert Hint not in permitted(room, actor.identity, room.changed_ms, Settings())


@pytest.mark.parametrize("kind", ALLOWED)
def test_help_where_it_is_allowed(kind: str) -> None:
    """Everyone may ask for a hint and for help against an AI, and where the room allows it."""
    room = ALLOWED[kind]().fold()
    for actor in (ADA, CYD):
        assert position_help(room, viewer_of(room, actor.identity)) is None
        assert Hint in permitted(room, actor.identity, room.changed_ms, Settings())


@pytest.mark.parametrize("kind", [*FORBIDDEN, *ALLOWED])
@virtual
async def test_a_request_about_a_match_is_refused_as_its_room_refuses_help(kind: str) -> None:
    """A node that has only the log refuses to search a running match with the room's sentence, and
    where the room helps it does not.
    """
    played = (FORBIDDEN | ALLOWED)[kind]()
    room, match = played.fold(), played.match
    fake = FakeServer()
    await store_log(fake, played)
    stored = StoredMatch(
        match=match.id, room=room.id, game=room.game_id, number=match.number, options=b"{}",
        seats=msgspec.json.encode(match.seats), start=match.start, rules="", first_v=match.first_v,
        started_ms=0, last_v=None, finished_ms=None, plies=None, over=None,
    )  # fmt: skip
    thoughts = Thoughts(fake.ports("n1"))
    refusal = position_help(room)
    for _ in ("from the log", "from the cache"):
        reason = await thoughts.reason_for_no_help(stored)
        assert reason == (None if refusal is None else refusal.message)
    assert await thoughts.reason_for_no_help(replace(stored, last_v=room.v)) is None


def test_the_match_that_is_over_may_be_discussed() -> None:
    """After every match everyone has help, in a rated room too."""
    played = seated()
    played.do(ADA, plain(Resign))
    assert position_help(played.room) is None
    played = rated((ADA, sit(0)), (BEN, sit(1)), (ADA, plain(Resign)))
    assert position_help(played.fold()) is None


def test_the_host_allows_help_between_two_matches() -> None:
    """`configure` changes the setting, and without `help` leaves it; never in a running match."""
    played = seated()
    allow = Configure("c", "all", help=True)
    assert played.refuse(ADA, allow) is Code.MATCH_RUNNING
    played.do(ADA, plain(Resign))
    assert played.refuse(BEN, allow) is Code.HOST_ONLY
    played.do(ADA, allow)
    assert played.room.help
    played.do(ADA, Configure("d", "spectators"))
    assert played.fold().help


def test_older_programs_do_not_play_rated_rooms() -> None:
    """A rated room requires the capability `rated`, which this version has."""
    first = parse_event_body(seated().log[0][1])
    assert isinstance(first, Created)
    assert not first.rated
    assert Required("rated") in _requirements(replace(first, rated=True))
    assert "rated" in CAPABILITIES


async def create_rated_room(fake: FakeServer) -> RoomId:
    """Stores a rated room of Ada's without players, as a program that can rate matches would."""
    await store_log(fake, rated())
    return ROOM


async def store_log(fake: FakeServer, played: LoggedRoom) -> None:
    """Stores the log of a room of Ada's."""
    events = tuple(
        StoredEvent(v, fake.now_ms(), EVERYONE, body)
        for v, (_, body) in enumerate(played.log, start=1)
    )
    key = CommandKey(ADA.identity, "c")
    first = Append(ROOM, 0, events, "n1", None, key)
    room = NewRoom(first, "tic-tac-toe", True, ADA.identity, key.id, fake.now_ms())
    assert await fake.store.logs.create_room(room) is None


@pytest.mark.parametrize("is_rated", [False, True], ids=["casual", "rated"])
@pytest.mark.parametrize("name", HELPING)
@virtual
async def test_the_bot_helps_neither_players_nor_spectators_between_people(
    name: str, is_rated: bool
) -> None:
    """In a server, the bot tells the asker the reason, says nothing to others, searches nothing."""
    await check_silence(name, is_rated)


async def answer_to(client: Client, v: int) -> Message:
    """The bot's private answer to the line with this version; waits until there is one."""
    return await client.until(lambda m: m["t"] == "answer" and m["v"] == v)


async def check_silence(name: str, is_rated: bool) -> None:
    """Asks a command in a match of two people, as a player and as a spectator."""
    reason = "a rated match" if is_rated else "without help"
    fake = FakeServer().unlimited()
    async with fake.hub() as hub, bot_of(hub):
        ada, ben, cyd = Client(hub, "ada"), Client(hub, "ben"), Client(hub, "cyd")
        room = await create_rated_room(fake) if is_rated else await ada.create()
        for client in (ada, ben, cyd):
            await client.ack(client.join(room))
        if is_rated:
            await ada.ack(ada.sit(room, 0))
        await ben.ack(ben.sit(room, 1))
        for client in (ada, cyd):
            v = await client.ack(client.chat(room, f"/{name} on"))
            assert v is not None
            answer = await answer_to(client, v)
            is_seat_missing = client is cyd and "no seat" in answer["text"]
            assert reason in answer["text"] or is_seat_missing
            assert "arrows" not in answer
            assert "candidates" not in answer
        await run_ready_tasks()
        assert ben.of("answer") == []
        assert not [m for m in ben.events() if m.get("by") == "bot"]
        assert fake.engines.jobs == []


def test_a_bot_that_forgets_the_condition_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a condition that never refuses, the tests above fail: the planted fault is found."""
    monkeypatch.setattr(permissions, "position_help", lambda room, viewer=None: None)
    monkeypatch.setattr(api, "has_null_moves", lambda game, options: True)
    room = FORBIDDEN["two people"]().fold()
    viewer = viewer_of(room, IdentityId("ada"))
    assert permissions.hint(room, viewer) is None
    for name in HELPING:
        with pytest.raises(AssertionError):
            test_no_command_helps_where_help_is_forbidden(name, "two people", ADA)

    @virtual
    async def run() -> None:
        with pytest.raises(AssertionError):
            await check_silence("teach", is_rated=False)

    run()
