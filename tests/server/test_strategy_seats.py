"""Seats of strategies in the log of a room: their events, and how older programs read them."""

from typing import Any

import msgspec
import pytest

from engine.strategies.names import BUILT_IN
from engine.strategies.registry import strategy_names
from engine.teach.states import evaluators
from server import events
from server.codes import Code
from server.commands import AddAi, AiSeat, MySeat, Rematch, Resign
from server.events import (
    CAPABILITIES,
    Created,
    Declined,
    Finished,
    Moved,
    Occupant,
    Offered,
    Required,
    Said,
    SeatLeft,
    SeatTaken,
    Started,
    Unknown,
    format_event_body,
    parse_event_body,
)
from server.rooms.model import CommandRejected
from server.rooms.names import is_reserved
from server.seats.ai import STRATEGY_MS, job_for
from server.settings import Settings
from tests.support.room_log import ADA, LoggedRoom, plain

ME = MySeat()
#: The strategy of the first founding text.
MINIMAX = AiSeat(strategy="minimax", depth=3)


def occupant(name: str, strategy: str, depth: int | None, evaluator: str) -> Occupant:
    return Occupant("ai", name, "ai", strategy=strategy, depth=depth, evaluator=evaluator)


def test_a_strategy_takes_a_seat_of_a_new_room() -> None:
    """The log says that the room requires strategies, before the first one takes a seat."""
    played = LoggedRoom()
    made = played.create(ADA, "sticks", seats=(ME, MINIMAX))
    seat = occupant("CP #1 MiniMax depth=3", "minimax", 3, "random")
    assert made[:4] == [
        Created("sticks", {"rows": "1-2-3"}, "public", "ada"),
        SeatTaken(0, Occupant("ada", "Ada")),
        Required("strategies"),
        SeatTaken(1, seat),
    ]
    assert isinstance(made[4], Started)
    assert made[4].seats[1] == seat
    assert played.room.frozen is None
    assert played.fold() == played.room


def test_the_host_seats_a_strategy() -> None:
    """A strategy that is added has the defaults of its game, and plays rematches."""
    played = LoggedRoom()
    played.create(ADA, "tic-tac-toe", seats=(ME, AiSeat(strategy="greedy")))
    played.do(ADA, plain(Resign))
    assert played.room.seats[1] == occupant("CP #1 Greedy depth=1", "greedy", 1, "estimate")
    (started,) = played.do(ADA, plain(Rematch))
    assert isinstance(started, Started)
    assert started.seats[0].strategy == "greedy"
    added = LoggedRoom()
    added.create(ADA)
    command = AddAi(id="a", seat=1, strategy="average", evaluator="zero")
    required, taken, _ = added.do(ADA, command)
    assert required == Required("strategies")
    assert taken == SeatTaken(1, occupant("CP #1 AverageMiniMax depth=3", "average", 3, "zero"))


def test_two_strategies_have_numbers() -> None:
    """The second strategy of a room is CP #2."""
    played = LoggedRoom()
    played.create(ADA, "sticks", seats=(AiSeat(strategy="random"), MINIMAX))
    names = [seat.name for seat in played.match.seats]
    assert names == ["CP #1 Random", "CP #2 MiniMax depth=3"]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"strategy": "perfect"}, Code.STRATEGY_UNKNOWN),
        ({"strategy": "minimax", "level": 1}, Code.LEVEL_UNKNOWN),
        ({"strategy": "minimax", "persona": "average"}, Code.LEVEL_UNKNOWN),
        ({"strategy": "minimax", "evaluator": "beauty"}, Code.STRATEGY_UNKNOWN),
        ({"strategy": "minimax", "evaluator": "material:queen=many"}, Code.STRATEGY_UNKNOWN),
        ({"strategy": "minimax", "evaluator": "material"}, Code.STRATEGY_UNKNOWN),
        ({"strategy": "minimax", "evaluator": "material:queen=9"}, Code.STRATEGY_UNKNOWN),
        ({"level": 1, "depth": 3}, Code.STRATEGY_UNKNOWN),
        ({"persona": "average", "evaluator": "zero"}, Code.STRATEGY_UNKNOWN),
        ({}, Code.LEVEL_UNKNOWN),
    ],
)
def test_strategies_that_do_not_exist(fields: dict[str, Any], code: Code) -> None:
    """Unknown strategies and evaluators are refused, and so is a depth without a strategy."""
    played = LoggedRoom()
    played.create(ADA, "sticks")
    assert played.refuse(ADA, AddAi(id="a", seat=1, **fields)) is code
    with pytest.raises(CommandRejected) as rejected:
        LoggedRoom().create(ADA, "sticks", seats=(ME, AiSeat(**fields)))
    assert rejected.value.code is code


def test_the_job_of_a_strategy() -> None:
    """The job names the strategy, its depth, its evaluator and its time; levels have none of it."""
    played = LoggedRoom()
    played.create(ADA, "sticks", seats=(MINIMAX, AiSeat(level=1)))
    job = job_for(played.room, played.match, 0)
    assert (job.strategy, job.evaluator, job.level) == ("minimax", "random", None)
    assert (job.limit.depth, job.limit.time_ms) == (3, STRATEGY_MS)
    assert 1000 * Settings().strategy_move_s == STRATEGY_MS
    level = job_for(played.room, played.match, 1)
    assert (level.strategy, level.evaluator, level.limit.time_ms) == (None, "", None)
    assert b"strategy" not in msgspec.json.encode(level)
    assert b"evaluator" not in msgspec.json.encode(level)


def test_no_guest_has_the_name_of_a_strategy() -> None:
    """The names of strategies' seats are refused to guests."""
    for name in strategy_names():
        played = LoggedRoom()
        played.create(ADA, seats=(ME, AiSeat(strategy=name)))
        assert is_reserved(played.match.seats[1].name)
    assert len(BUILT_IN) == 7


def test_an_evaluator_for_small_games(monkeypatch: pytest.MonkeyPatch) -> None:
    """The evaluator that looks at all paths is for small games, and the node does not run it."""
    monkeypatch.setattr(evaluators, "all_paths", None)
    wish = AiSeat(strategy="minimax", evaluator="all-paths")
    played = LoggedRoom()
    played.create(ADA, "tic-tac-toe", seats=(ME, wish))
    assert played.match.seats[1].evaluator == "all-paths"
    with pytest.raises(CommandRejected, match="for small games only"):
        LoggedRoom().create(ADA, "chess", seats=(ME, wish))


# --- programs of several versions

#: The events of the program before strategies.
OlderEvent = Created | SeatTaken | SeatLeft | Started | Moved | Finished | Offered | Declined | Said


def test_an_older_program_only_reads_the_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program without strategies shows the room as `room.newer`, and searches no move in it.

    What it cannot read it stores and sends unchanged.
    """
    played = LoggedRoom()
    made = played.create(ADA, "sticks", seats=(MINIMAX, ME))
    required = format_event_body(Required("strategies"))
    monkeypatch.setattr(events, "_decode", msgspec.json.Decoder(OlderEvent).decode)
    assert parse_event_body(required) == Unknown("required", required)
    assert format_event_body(parse_event_body(required)) == required
    older = played.fold()
    assert older.v == len(made)
    assert older.frozen is Code.ROOM_NEWER
    assert older.ai_to_move() is None
    assert older.due_ms(1000) is None
    monkeypatch.undo()
    assert played.fold().ai_to_move() == 0


def test_a_room_that_requires_more() -> None:
    """A room that requires a capability which this version lacks can only be read, for good."""
    played = LoggedRoom()
    played.create(ADA, "sticks", seats=(MINIMAX, ME))
    assert "strategies" in CAPABILITIES
    played.append(Required("clocks of next year"))
    assert played.room.frozen is Code.ROOM_NEWER
    played.append(Required("strategies"))
    assert played.room.frozen is Code.ROOM_NEWER
    assert played.refuse(ADA, plain(Resign)) is Code.ROOM_NEWER


def test_logs_without_strategies_are_unchanged() -> None:
    """The events of levels and persons have the same bytes as before."""
    level = format_event_body(SeatTaken(1, Occupant("ai", "AI level 3", "ai", 3)))
    assert level == (
        b'{"kind":"seat_taken","seat":1,'
        b'"occupant":{"identity":"ai","name":"AI level 3","kind":"ai","level":3}}'
    )


def test_a_log_keeps_seats_of_strategies_and_capabilities_of_newer_versions() -> None:
    """All fields of a strategy's seat are read back; an unknown capability is a word."""
    taken = SeatTaken(0, occupant("CP #1 my depth=2", "my", 2, "material:queen=9"))
    for event in (Required("clocks"), taken):
        assert parse_event_body(format_event_body(event)) == event
