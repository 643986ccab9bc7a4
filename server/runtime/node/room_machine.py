"""The rules of rooms as the state machine of an `EventLog`."""

from collections.abc import Sequence

import structlog
from msgspec.structs import replace

from engine.game import GameFault
from engine.rules.call import refused_games
from engine.rules.errors import GameHung
from server.codes import Code
from server.commands import AiMove, Command
from server.events import RoomEvent, parse_event_body
from server.ids import RoomId
from server.ports import Ports
from server.rooms import rules
from server.rooms.model import CommandRejected, Moment, Room
from server.rooms.refusals import HUNG
from server.runtime.projections import log_entry, projections
from server.store.base import Projection, StoredEvent

log = structlog.get_logger()


class RoomMachine:
    """The `server.runtime.log.Machine` of rooms. All rooms of a node share it."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports

    def parse(self, body: bytes) -> RoomEvent:
        return parse_event_body(body)

    def first(self, log_id: str, event: RoomEvent, at_ms: int) -> Room:
        return rules.initial_room(RoomId(log_id), event, at_ms, self._ports.find_game)

    def evolve(self, state: Room, event: RoomEvent, at_ms: int) -> Room:
        return rules.evolve(state, event, at_ms, self._ports.find_game)

    def review(self, state: Room) -> Room:
        """The room, frozen if this process no longer calls the rules of its game."""
        if state.frozen is None and state.game_id in refused_games:
            return replace(state, frozen=Code.GAME_HUNG)
        return state

    def decide(self, state: Room, command: Command, moment: Moment) -> list[RoomEvent]:
        """Returns the events of a command. They end the match if an AI's move is illegal, or if the
        rules raise an error on it.
        """
        try:
            return rules.decide(state, command, moment)
        except CommandRejected as rejection:
            is_illegal = rejection.code in (Code.MOVE_ILLEGAL, Code.MOVE_MALFORMED)
            if not (isinstance(command, AiMove) and is_illegal):
                raise
            log.error("AI answered an illegal move", room=state.id, game=state.game_id)
            failure = command.to_failure("its engine answered a move that is not legal")
        except GameHung as hung:
            # The watchdog has logged it. The match stays as it is, whoever gave the command.
            raise CommandRejected(Code.GAME_HUNG, str(hung)) from hung
        except GameFault as fault:
            self._ports.metrics.faults += 1
            log.error(
                "game fault", room=state.id, command=command.id, game=state.game_id,
                fault=str(fault), exc_info=True,
            )  # fmt: skip
            if not isinstance(command, AiMove):
                raise CommandRejected(
                    Code.GAME_FAULT, "the rules of this game failed on that command"
                ) from fault
            failure = command.to_failure("the rules of this game failed on its move")
        return rules.decide(state, failure, moment)

    def check(self, before: Room, after: Room) -> None:
        """Refuses events on which a rule hung: it would hang at each load of the log."""
        if after.frozen is Code.GAME_HUNG and before.frozen is None:
            raise CommandRejected(HUNG.code, HUNG.message)

    def entry(self, state: Room, event: RoomEvent, at_ms: int) -> StoredEvent:
        return log_entry(state, event, at_ms)

    def projections(
        self, state: Room, events: Sequence[RoomEvent], attachment: bytes | None
    ) -> tuple[Projection, ...]:
        return projections(state, events, attachment)

    def next_deadline_ms(self, state: Room) -> int | None:
        return state.next_deadline_ms(self._ports.settings.forced_pass_ms)

    def due_ms(self, state: Room) -> int | None:
        return state.due_ms(self._ports.settings.forced_pass_ms)
