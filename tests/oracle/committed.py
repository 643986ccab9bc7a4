"""The committed log of a room, checked against the invariants of `tests.oracle.history`.

This module uses none of the server's code.
"""

from dataclasses import dataclass
from typing import Any

from tests.oracle.referee import IllegalMove, Referee, new_referee

Message = dict[str, Any]

#: The terminations of a match without a winner.
DRAWN_TERMINATIONS = ("agreement", "claim")
#: The events by which a player gains from an opponent who has gone: `finished` with this `how`, and
#: this kind of event.
GONE, AI_TOOK_OVER = "gone", "ai_took_over"


@dataclass(slots=True)
class RoomState:
    """A room at some v, folded from its log by this module's own code."""

    seats: list[str | None]
    match: str | None = None
    moves: tuple[str, ...] = ()
    over: tuple[int | None, str] | None = None
    players: tuple[str, ...] = ()
    offers: tuple[int, ...] = ()
    legal: tuple[str, ...] = ()
    to_move: str | None = None
    #: The identity for which an AI keeps each seat, or None.
    kept_for: tuple[str | None, ...] = (None, None)

    def player_at(self, seat: int) -> str | None:
        """Returns the identity that plays the seat in the match, or None."""
        return self.players[seat] if seat in range(len(self.players)) else None

    def is_player(self, identity: str) -> bool:
        """Returns whether an identity holds a seat, or an AI keeps one for it."""
        return identity in self.seats or identity in self.kept_for

    @property
    def snapshot(self) -> tuple[object, ...]:
        """The part of the state that a snapshot contains."""
        return (tuple(self.seats), self.match, self.moves, self.over, self.offers)


class RoomLog:
    """One room's log as READER received it, its states, and its faults."""

    def __init__(self, room: str, joined: Message) -> None:
        self.room = room
        self.head: int = joined["v"]
        self.game: str = joined["description"]["game"]
        self.options: dict[str, str] = joined["description"]["options"]
        self.events: dict[int, Message] = {}
        self.states: dict[int, RoomState] = {1: RoomState([None, None])}
        self.faults: list[str] = []

    def fold(self) -> None:
        """Computes the state at each v and records faults of I3, I9, I11, I12, I16 and I18."""
        self.head = max([self.head, *self.events])  # an AI may have moved after the join
        referee: Referee | None = None
        finished: set[str] = set()
        if sorted(self.events) != list(range(2, self.head + 1)):
            self._fault("I3", f"the versions are {sorted(self.events)}, the head is {self.head}")
            return
        for v in range(2, self.head + 1):
            previous, event = self.states[v - 1], self.events[v]
            state = RoomState(
                list(previous.seats),
                previous.match,
                previous.moves,
                previous.over,
                previous.players,
                previous.offers,
                previous.legal,
                previous.to_move,
                previous.kept_for,
            )
            match event["kind"]:
                case "seat_taken":
                    self._on_seat_taken(v, state, event)
                case "seat_left":
                    if state.match is not None and state.over is None:
                        self._fault("I12", f"a seat was left in the middle of a match at v {v}")
                    state.seats[event["seat"]] = None
                    state.offers = ()
                case "started":
                    referee = self._on_started(v, state, event)
                case "moved":
                    self._on_moved(v, state, event, referee)
                case "finished":
                    self._on_finished(v, state, event, referee, finished)
                case "offered":
                    if event["seat"] in state.offers:
                        self._fault("I18", f"a second offer of one seat at v {v}")
                    state.offers = (*state.offers, event["seat"])
                case "declined":
                    state.offers = ()
                case "ai_took_over" | "player_returned":
                    self._on_substitution(v, state, event)
                case "said" | "renamed":
                    pass
                case kind:
                    self._fault("I3", f"an event of kind {kind} at v {v}")
            running = (
                referee is not None
                and state.match is not None
                and state.over is None
                and not referee.over
            )
            state.legal = tuple(sorted(referee.moves())) if running and referee is not None else ()
            state.to_move = (
                state.player_at(referee.turn) if running and referee is not None else None
            )
            self.states[v] = state

    def _on_seat_taken(self, v: int, state: RoomState, event: Message) -> None:
        identity = event["occupant"]["identity"]
        if state.seats[event["seat"]] is not None:
            self._fault("I12", f"the taken seat {event['seat']} was taken again at v {v}")
        if event["occupant"].get("kind") != "ai" and identity in state.seats:
            self._fault("I12", f"{identity} took a second seat at v {v}")
        state.seats[event["seat"]] = identity

    def _on_substitution(self, v: int, state: RoomState, event: Message) -> None:
        """Checks that an AI takes over for a person, and that only this person returns."""
        seat, occupant = event["seat"], event["occupant"]
        if state.match != event["match"] or state.over is not None:
            self._fault("I12", f"a seat changed hands outside its match at v {v}")
            return
        holder, keeper = state.player_at(seat), state.kept_for[seat]
        kept_for = list(state.kept_for)
        if event["kind"] == AI_TOOK_OVER:
            kept_for[seat] = occupant["kept_for"]["identity"]
            if occupant.get("kind") != "ai" or holder == "ai" or holder != kept_for[seat]:
                self._fault("I12", f"{occupant} took over from {holder} at v {v}")
        else:
            kept_for[seat] = None
            if occupant["identity"] != keeper:
                self._fault("I12", f"{occupant} returned to the seat of {keeper} at v {v}")
        players = list(state.players)
        players[seat] = state.seats[seat] = occupant["identity"]
        state.players, state.kept_for, state.offers = tuple(players), tuple(kept_for), ()

    def _on_started(self, v: int, state: RoomState, event: Message) -> Referee:
        if state.match is not None and state.over is None:
            self._fault("I11", f"a match started before the previous one was over, at v {v}")
        players = tuple(occupant["identity"] for occupant in event["seats"])
        if sorted(map(str, players)) != sorted(map(str, state.seats)):
            self._fault(
                "I12", f"the match at v {v} started with {players}, and {state.seats} were seated"
            )
        if state.match is not None and list(players) != state.seats:
            offering = {state.seats[seat] for seat in state.offers}
            people = {identity for identity in state.seats if identity != "ai"}
            if len(people) > 1 and not offering:
                self._fault("I18", f"a rematch started at v {v} without an offer")
        state.match, state.moves, state.over = event["match"], (), None
        state.players, state.offers = players, ()
        state.seats = list(players)
        return new_referee(self.game, self.options)

    def _on_moved(self, v: int, state: RoomState, event: Message, referee: Referee | None) -> None:
        if state.match != event["match"] or referee is None:
            self._fault("I11", f"a move of another match at v {v}")
            return
        if state.over is not None:
            self._fault("I11", f"a move after the end at v {v}")
        if event["ply"] != len(state.moves):
            self._fault("I16", f"ply {event['ply']} at v {v}, {len(state.moves)} was expected")
        if event["seat"] != referee.turn:
            self._fault(
                "I9", f"seat {event['seat']} moved at v {v}, but seat {referee.turn} was to move"
            )
        try:
            referee.play(event["move"])
        except IllegalMove as error:
            self._fault("I9", f"v {v}: {error}")
        state.moves = (*state.moves, event["move"])
        state.offers = tuple(seat for seat in state.offers if seat == event["seat"])

    def _on_finished(
        self, v: int, state: RoomState, event: Message, referee: Referee | None, finished: set[str]
    ) -> None:
        if event["match"] in finished or state.match != event["match"]:
            self._fault("I11", f"a second result at v {v}")
        finished.add(event["match"])
        on_board = referee is not None and referee.over
        if event["how"] == "agreement" and not state.offers:
            self._fault("I18", f"a draw was agreed at v {v} without an offer")
        if event["how"] in DRAWN_TERMINATIONS and event["winner"] is not None:
            self._fault("I9", f"the draw at v {v} has a winner")
        if (event["how"] == "board") != on_board:
            self._fault(
                "I9", f"finished by {event['how']} at v {v}, but the referee's `over` is {on_board}"
            )
        elif on_board and referee is not None and referee.winner != event["winner"]:
            self._fault(
                "I9",
                f"{event['winner']} won at v {v}, but the referee's winner is {referee.winner}",
            )
        state.over = (event["winner"], event["how"])
        state.offers = ()
        state.seats = [
            keeper or holder for keeper, holder in zip(state.kept_for, state.seats, strict=True)
        ]
        state.kept_for = (None, None)

    def _fault(self, invariant: str, description: str) -> None:
        self.faults.append(f"{invariant}: {description}, in room {self.room}")
