"""The history checker finds planted faults and reports each under the invariant that it breaks."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from msgspec.structs import replace

from engine.game import LOST, ONGOING, WON, Game
from engine.rules.registry import load_game
from engine.search.job import Job
from server.commands import Command, Move, Rematch, Sit
from server.events import Moved, Occupant, Offered, RoomEvent, SeatTaken, format_event_body
from server.net import session as session_module
from server.protocol import messages as wire
from server.protocol.codes import Code
from server.protocol.outbound import Outbound
from server.protocol.views import description
from server.rooms import moves, offers, permissions, refusals, rules, takebacks
from server.rooms.matches import start_match
from server.rooms.model import (
    Absence,
    Actor,
    CommandRejected,
    FindGame,
    Match,
    Moment,
    NextOffer,
    Room,
    Rule,
)
from server.rooms.permissions import playable_position
from server.runtime.followers.absences import Absences
from server.runtime.followers.feed import Feed
from server.runtime.log import Cause, EventLog, Outcome, Rejected
from server.runtime.requests import Request, refuse, reply
from server.runtime.room import room_runner as runner_module
from server.runtime.room.ai_seat import AiTasks
from server.runtime.room.room_runner import RoomRunner
from server.store.base import Append, StoredEvent
from tests.oracle import history
from tests.server import test_runner_ai, test_session, test_two_nodes
from tests.server.test_room_machine import RoomMachine
from tests.server.test_two_nodes import play
from tests.support import load
from tests.support.fake_server import FakeServer, UnreliableStore, first_legal, loop_ms
from tests.support.memory_store import MemoryLogs, MemoryStore, MemoryTables
from tests.support.room_log import altered_game

Patch = pytest.MonkeyPatch

#: The number of commands of each client in a run.
COMMANDS = 100


class LogsWithoutKeys(MemoryLogs):
    """Logs that do not store command keys."""

    async def append(self, append: Append) -> None:
        await super().append(
            Append(
                append.room,
                append.expected_v,
                append.events,
                append.node,
                append.due_ms,
                None,
                append.projections,
            )
        )


class LogsWithoutCompareAndSet(MemoryLogs):
    """Logs that append at any expected version."""

    async def append(self, append: Append) -> None:
        room = self._rooms[append.room]
        del room.events[append.expected_v :]
        await super().append(append)


def replace_rule(patch: Patch, kind: type[Command], rule: Rule) -> None:
    rules_of_commands: dict[Any, Any] = rules.RULES
    patch.setitem(rules_of_commands, kind, rule)


def store_with(logs: Callable[[MemoryTables], MemoryLogs]) -> MemoryStore:
    """Returns a store with faulty logs."""
    store = MemoryStore(loop_ms)
    store.logs = logs(store.tables)
    return store


def ack_before_commit(patch: Patch) -> FakeServer:
    acked: set[str] = set()
    real = RoomRunner._before_append

    async def early(self: RoomRunner, events: Sequence[RoomEvent]) -> None:
        request = self._serving
        if request is not None and request.follower is not None:
            ack = wire.Ack(request.command.id, self._log.state.v + len(events))
            acked.add(ack.id)
            request.follower.send(Outbound(ack))
            self._serving = Request(request.actor, request.command, None, request.thought)
        await real(self, events)

    def silent(item: object, code: Code, message: str) -> None:
        if not (isinstance(item, Request) and item.command.id in acked):
            refuse(item, code, message)

    # A client that repeats a command after such an ack may get no answer.
    patch.setattr(load, "WAIT_S", 0.4)
    patch.setattr(RoomRunner, "_before_append", early)
    patch.setattr(runner_module, "refuse", silent)
    return FakeServer(store=UnreliableStore(7, 0.03, after=False))


def shown_before_commit(patch: Patch) -> FakeServer:
    real = RoomRunner._before_append

    async def early(self: RoomRunner, events: Sequence[RoomEvent]) -> None:
        entries = [
            StoredEvent(v, self._ports.now_ms(), 0, format_event_body(event))
            for v, event in enumerate(events, self._log.state.v + 1)
        ]
        for follower, _ in self.followers:
            follower.send(*self._feed._event_messages(entries, is_player=False))
        await real(self, events)

    patch.setattr(RoomRunner, "_before_append", early)
    return FakeServer(store=UnreliableStore(7, 0.03, after=False))


def repeated_command_appended_again(patch: Patch) -> FakeServer:
    patch.setattr(EventLog, "_remember", lambda *_: None)
    return FakeServer(store=store_with(LogsWithoutKeys))


def stale_ply_accepted(patch: Patch) -> FakeServer:
    def replacement(room: Room, command: Move, moment: Moment) -> list[RoomEvent]:
        ply = room.match.ply if room.match else 0
        return moves.move(room, Move(id=command.id, ply=ply, move=command.move), moment)

    replace_rule(patch, Move, replacement)
    return FakeServer()


def seat_taken_twice(patch: Patch) -> FakeServer:
    def replacement(room: Room, command: Sit, moment: Moment) -> list[RoomEvent]:
        return [SeatTaken(command.seat, Occupant(moment.actor.identity, moment.actor.name))]

    replace_rule(patch, Sit, replacement)
    return FakeServer()


def spectator_can_move(patch: Patch) -> FakeServer:
    def replacement(room: Room, actor: Actor, _seat: int | None = None) -> int:
        seat = room.seat_of(actor.identity)
        match = room.running_match
        if seat is None and match is not None and match.position is not None:
            return match.position.turn
        if seat is None:
            raise CommandRejected(Code.SEAT_NONE, "no seat")
        return seat

    patch.setattr(moves, "own_seat", replacement)
    return FakeServer()


def gap_in_v(patch: Patch) -> FakeServer:
    real = Feed._event_messages

    def skip_some(self: Feed, events: Sequence[StoredEvent], *viewer: Any) -> list[Outbound]:
        return real(self, [event for event in events if event.v % 11], *viewer)

    patch.setattr(Feed, "_event_messages", skip_some)
    return FakeServer()


def gap_on_the_bus_ignored(patch: Patch) -> FakeServer:
    """A node applies another node's event even if events before it are missing."""

    async def accept_any(
        self: EventLog[Any, Any, Any], node: str, entries: Sequence[StoredEvent]
    ) -> None:
        if entries[-1].v > self.state.v:
            self._apply(list(entries), Cause.RECEIVED, node)

    patch.setattr(EventLog, "receive", accept_any)
    return FakeServer()


def ai_answer_to_an_old_position(patch: Patch) -> FakeServer:
    """Obsolete searches are not cancelled, and their answers are played."""
    real = AiTasks.update

    def forget_search(self: AiTasks, room: Room, is_responsible: bool) -> None:
        self._turn_task = None
        real(self, room, is_responsible)

    async def slow(job: Job) -> str:
        await asyncio.sleep(0.05)
        return await first_legal(job)

    any_ai_answer_is_accepted(patch)
    patch.setattr(AiTasks, "update", forget_search)
    patch.setattr(test_two_nodes, "slow_first_legal", slow)
    return FakeServer()


def hidden_event_leaked(patch: Patch) -> FakeServer:
    real = Feed._event_messages
    patch.setattr(
        Feed, "_event_messages", lambda self, events, _player, *identity: real(self, events, False)
    )
    return FakeServer()


def no_compare_and_set(patch: Patch) -> FakeServer:
    return FakeServer(store=store_with(LogsWithoutCompareAndSet))


def two_results(patch: Patch) -> FakeServer:
    """A match that is over can be resigned and aborted."""

    def refusal_unless_running(room: Room) -> refusals.Refusal | None:
        return refusals.NOT_STARTED if room.match is None else None

    patch.setattr(permissions, "refusal_unless_running", refusal_unless_running)
    return FakeServer()


def rematch_without_an_offer(patch: Patch) -> FakeServer:
    def start_at_once(room: Room, command: Rematch, moment: Moment) -> list[RoomEvent]:
        events = offers.rematch(room, command, moment)
        if isinstance(events[0], Offered) and room.game is not None:
            seats = [seat for seat in room.seats if seat is not None]
            return [start_match(room, room.game, seats[::-1], moment)]
        return events

    replace_rule(patch, Rematch, start_at_once)
    return FakeServer()


def takeback_without_consent(patch: Patch) -> FakeServer:
    """An opponent's request is granted at once."""
    patch.setattr(takebacks, "takes_back_at_once", lambda *_: True)
    return FakeServer()


def takeback_of_the_last_move_of_either_side(patch: Patch) -> FakeServer:
    def last_ply(_room: Room, match: Match, _seat: int) -> int | None:
        return match.ply - 1 if match.ply else None

    patch.setattr(takebacks, "takeback_ply", last_ply)
    return FakeServer()


def next_game_without_an_answer(patch: Patch) -> FakeServer:
    patch.setattr(permissions, "starts_at_once", lambda _room, _viewer: True)
    return FakeServer()


def another_game_than_proposed(patch: Patch) -> FakeServer:
    real, sticks = offers._start_next, load_game("sticks")

    def start(room: Room, _game: Game, offer: NextOffer, moment: Moment) -> list[RoomEvent]:
        options = dict(sticks.start().options)
        return real(room, sticks, replace(offer, game=sticks.id, options=options), moment)

    patch.setattr(offers, "_start_next", start)
    return FakeServer()


def takeback_request_survives_a_move(patch: Patch) -> FakeServer:
    real = rules.evolve

    def keep_requests(room: Room, event: RoomEvent, at_ms: int, find_game: FindGame) -> Room:
        after = real(room, event, at_ms, find_game)
        if isinstance(event, Moved):
            return replace(after, takeback_offers=room.takeback_offers)
        return after

    patch.setattr(rules, "evolve", keep_requests)
    return FakeServer()


def wrong_rule(patch: Patch) -> FakeServer:
    """In the game of sticks, the player who takes the last stick wins."""
    real: Any = load_game("sticks").module

    def find(game_id: str) -> Game:
        if game_id != "sticks":
            return load_game(game_id)
        return altered_game(
            game_id, {"status": lambda s: WON if real.status(s) == LOST else ONGOING}
        )

    return FakeServer(find_game=find)


def unanswered_command(patch: Patch) -> FakeServer:
    def answer_all_but_stale(request: Request, outcome: Outcome) -> None:
        if not (isinstance(outcome, Rejected) and outcome.code is Code.MOVE_STALE):
            reply(request, outcome)

    patch.setattr(load, "WAIT_S", 0.4)
    patch.setattr(history, "ANSWER_TIMEOUT_S", 0.3)
    patch.setattr(runner_module, "reply", answer_all_but_stale)
    return FakeServer()


def two_answers(patch: Patch) -> FakeServer:
    def twice(request: Request, outcome: Outcome) -> None:
        reply(request, outcome)
        reply(request, outcome)

    patch.setattr(runner_module, "reply", twice)
    return FakeServer()


def old_state_after_a_change_of_node(patch: Patch) -> FakeServer:
    real = RoomRunner._join

    async def stale(self: RoomRunner, join: wire.Join, follower: Any, actor: Actor) -> None:
        if join.since % 3 or not 3 < join.since <= self._log.state.v:
            await real(self, join, follower, actor)
            return
        ack = wire.Ack(join.id, None)
        joined = wire.Joined(
            room=self.room_id,
            v=join.since - 1,
            epoch=self._ports.store.epoch,
            description=description(self._log.state),
        )
        follower.send(Outbound(ack), Outbound(joined))

    patch.setattr(RoomRunner, "_join", stale)
    return FakeServer()


def everyone_has_gone(patch: Patch) -> FakeServer:
    """Claims are accepted against players who are connected."""
    patch.setattr(Absences, "find", lambda self, identity: Absence(0, 0))
    patch.setattr(load, "CLAIMS", history.CLAIMS * 30)
    patch.setattr(load, "ENDS_WEIGHT", 30)
    return FakeServer()


def claims_on_ones_own_move(patch: Patch) -> FakeServer:
    """Whoever waits for the other side or is to move may claim."""
    patch.setattr(permissions, "CLAIM_ON_OWN_MOVE", None)
    return everyone_has_gone(patch)


def claims_before_both_have_moved(patch: Patch) -> FakeServer:
    """A match may be claimed from its start on, by the side that waits."""
    patch.setattr(permissions, "second_turn_ply", lambda _: 0)
    return everyone_has_gone(patch)


#: The faults, and the invariants that each breaks.
FAULTS: list[tuple[Callable[[Patch], FakeServer], set[str]]] = [
    (ack_before_commit, {"I1"}),
    (shown_before_commit, {"I5"}),
    (repeated_command_appended_again, {"I1"}),
    (stale_ply_accepted, {"I1"}),
    (seat_taken_twice, {"I12"}),
    (spectator_can_move, {"I13"}),
    (gap_in_v, {"I4"}),
    (gap_on_the_bus_ignored, {"I4"}),
    (ai_answer_to_an_old_position, {"I9"}),
    (hidden_event_leaked, {"I14"}),
    (no_compare_and_set, {"I1", "I5"}),
    (two_results, {"I11"}),
    (rematch_without_an_offer, {"I18"}),
    (takeback_without_consent, {"I18"}),
    (takeback_of_the_last_move_of_either_side, {"I18"}),
    (takeback_request_survives_a_move, {"I8"}),
    (next_game_without_an_answer, {"I18"}),
    (another_game_than_proposed, {"I18"}),
    (wrong_rule, {"I9"}),
    (unanswered_command, {"I19"}),
    (two_answers, {"I19"}),
    (old_state_after_a_change_of_node, {"I6"}),
    (everyone_has_gone, {"I33"}),
    (claims_on_ones_own_move, {"I34"}),
    (claims_before_both_have_moved, {"I35"}),
]
#: The faults that `make test` plants; `make test-long` plants the others too.
OFTEN = (
    repeated_command_appended_again,
    gap_in_v,
    hidden_event_leaked,
    no_compare_and_set,
    wrong_rule,
)


@pytest.mark.parametrize(
    ("fault", "invariants"),
    [pytest.param(*row, marks=() if row[0] in OFTEN else pytest.mark.long) for row in FAULTS],
    ids=lambda value: getattr(value, "__name__", None) or " ".join(sorted(value)),
)
async def test_the_checker_finds_the_fault(
    fault: Callable[[Patch], FakeServer], invariants: set[str], monkeypatch: Patch
) -> None:
    """The checker reports the fault under its invariants within a dozen runs."""
    violations: list[str] = []
    for seed in range(1, 13):
        violations += await find_faults(fault(monkeypatch), seed)
        if invariants <= {violation.split(":")[0] for violation in violations}:
            return
    raise AssertionError(violations[:5])


async def find_faults(fake: FakeServer, seed: int = 1) -> list[str]:
    async with asyncio.timeout(60):
        result = await play(COMMANDS, seed, fake=fake, restart=False, catch_up_s=1.0)
    return history.check(result.history)


async def test_without_a_fault_the_checker_finds_none() -> None:
    """The checker reports no violation of a correct server."""
    assert await find_faults(FakeServer()) == []


# --- faults that only other tests find ------------------------------------------------------------


def any_ai_answer_is_accepted(patch: Patch) -> None:
    def replacement(room: Room, match: Match, *_: object) -> Any:
        return playable_position(room, match)

    patch.setattr(moves, "_check_ai_turn", replacement)


@pytest.mark.long
def test_an_ai_answer_to_an_old_position_is_found(monkeypatch: Patch) -> None:
    """I16: the runner's test finds an AI answer to an old position."""
    any_ai_answer_is_accepted(monkeypatch)
    with pytest.raises(AssertionError):
        test_runner_ai.test_an_answer_to_an_old_position_is_refused()


@pytest.mark.long
async def test_an_unbounded_outbox_is_found(monkeypatch: Patch) -> None:
    """I20: the session's test finds an unbounded outbox."""
    monkeypatch.setattr(session_module, "MAX_UNSENT_BYTES", 10**12)
    with pytest.raises(AssertionError):
        await test_session.test_a_slow_reader_skips_ephemeral_messages_and_is_cut_off()


@pytest.mark.long
async def test_sending_ephemeral_messages_to_slow_readers_is_found(monkeypatch: Patch) -> None:
    """I20: the session's test finds ephemeral messages sent to a slow reader."""
    monkeypatch.setattr(session_module, "MAX_UNSENT_EPHEMERAL_BYTES", 10**12)
    with pytest.raises(AssertionError):
        await test_session.test_a_slow_reader_skips_ephemeral_messages_and_is_cut_off()


@pytest.mark.long
@pytest.mark.parametrize(
    "fault",
    [
        stale_ply_accepted,
        seat_taken_twice,
        spectator_can_move,
        two_results,
        rematch_without_an_offer,
        any_ai_answer_is_accepted,
        claims_on_ones_own_move,
        claims_before_both_have_moved,
    ],
)
def test_random_commands_find_the_fault(
    fault: Callable[[Patch], object], monkeypatch: Patch
) -> None:
    """The state machine of tests/server/test_room_machine.py fails with the fault."""
    fault(monkeypatch)
    many_examples = settings(
        max_examples=2000,
        stateful_step_count=60,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
    )
    with pytest.raises(Exception):  # noqa: B017 - an assertion, or any exception that the fault causes
        run_state_machine_as_test(RoomMachine, settings=many_examples)  # stops at the first failure
