"""The committed log of a room, checked against the invariants of `tests.oracle.history`.

This module uses none of the server's code.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tests.oracle.clocks import MatchClock, first_turn_of, start_clock
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
    #: The seat that chose each move; None for a pass that the server played.
    movers: tuple[int | None, ...] = ()
    #: The seats that ask to take a move back, with the ply to return to.
    takebacks: tuple[tuple[int, int], ...] = ()
    #: The identity for which an AI keeps each seat, or None.
    kept_for: tuple[str | None, ...] = (None, None)
    #: The open proposal of the next game: the fields of its event, with its v.
    proposal: Message | None = None

    def player_at(self, seat: int) -> str | None:
        """Returns the identity that plays the seat in the match, or None."""
        return self.players[seat] if seat in range(len(self.players)) else None

    def is_player(self, identity: str) -> bool:
        """Returns whether an identity holds a seat, or an AI keeps one for it."""
        return identity in self.seats or identity in self.kept_for

    @property
    def snapshot(self) -> tuple[object, ...]:
        """The part of the state that a snapshot contains."""
        return (
            tuple(self.seats), self.match, self.moves, self.over, self.offers, self.takebacks,
            self.proposal and self.proposal["v"],
        )  # fmt: skip


class RoomLog:
    """One room's log as READER received it, its states, and its faults."""

    def __init__(self, room: str, joined: Message) -> None:
        self.room = room
        self.head: int = joined["v"]
        self.game: str = joined["description"]["game"]
        self.options: dict[str, str] = joined["description"]["options"]
        self.is_one_screen: bool = joined["description"].get("one_screen", False)
        self.allows_takebacks: bool = joined["description"].get("takeback", True)
        self.first_turn_ms = first_turn_of(joined["description"])
        self.events: dict[int, Message] = {}
        #: The clock of the last match.
        self._clock: MatchClock | None = None
        self.states: dict[int, RoomState] = {1: RoomState([None, None])}
        self.faults: list[str] = []

    def fold(self, first_game: tuple[str, dict[str, str]] | None = None) -> None:
        """Computes the state at each v and records faults of I3, I9, I11, I12, I16 and I18.

        `first_game` is the game of the room's first match, with its options, if it may be another
        than that of the last.
        """
        self.game, self.options = first_game or (self.game, self.options)
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
                previous.movers,
                previous.takebacks,
                previous.kept_for,
                previous.proposal,
            )
            match event["kind"]:
                case "seat_taken":
                    self._on_seat_taken(v, state, event)
                case "seat_left":
                    if state.match is not None and state.over is None:
                        self._fault("I12", f"a seat was left in the middle of a match at v {v}")
                    state.seats[event["seat"]] = None
                    state.offers, state.takebacks, state.proposal = (), (), None
                case "started":
                    referee = self._on_started(v, state, event)
                case "moved":
                    self._on_moved(v, state, event, referee)
                case "took_back":
                    referee = self._on_took_back(v, state, event, referee)
                case "finished":
                    self._on_finished(v, state, event, referee, finished)
                case "offered" if event.get("what") == "takeback":
                    if event["seat"] in [seat for seat, _ in state.takebacks]:
                        self._fault("I18", f"a second request for a takeback at v {v}")
                    state.takebacks = (*state.takebacks, (event["seat"], event["to_ply"]))
                case "declined" if event.get("what") == "takeback":
                    own = tuple(each for each in state.takebacks if each[0] == event["seat"])
                    state.takebacks = own if own != state.takebacks else ()
                case "offered" if event.get("what") == "next":
                    if state.match is None or state.over is None:
                        self._fault("I18", f"a next game was proposed during a match at v {v}")
                    state.proposal = event
                case "declined" if event.get("what") == "next":
                    state.proposal = None
                case "offered":
                    if event["seat"] in state.offers:
                        self._fault("I18", f"a second offer of one seat at v {v}")
                    state.offers = (*state.offers, event["seat"])
                case "declined":
                    state.offers = ()
                case "ai_took_over" | "player_returned":
                    self._on_substitution(v, state, event)
                case "said" | "required" | "renamed" | "configured":
                    pass
                case "time_added" | "held" | "released":
                    if self._clock is None or state.over is not None:
                        self._fault("I23", f"{event['kind']} without a clock at v {v}")
                case kind:
                    self._fault("I3", f"an event of kind {kind} at v {v}")
            if event["kind"] == "started":
                self._clock = start_clock(event, self.first_turn_ms)
            if self._clock is not None and event.get("match") == state.match:
                self._clock.follow(event, event["at"])
                self.faults += [f"{each}, at v {v}" for each in self._clock.faults]
                self._clock.faults.clear()
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
        is_second = event["occupant"].get("kind") != "ai" and identity in state.seats
        if is_second and not self.is_one_screen:
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
        state.players, state.kept_for = tuple(players), tuple(kept_for)
        state.offers, state.takebacks = (), ()

    def _on_started(self, v: int, state: RoomState, event: Message) -> Referee:
        if state.match is not None and state.over is None:
            self._fault("I11", f"a match started before the previous one was over, at v {v}")
        players = tuple(occupant["identity"] for occupant in event["seats"])
        if sorted(map(str, players)) != sorted(map(str, state.seats)):
            self._fault(
                "I12", f"the match at v {v} started with {players}, and {state.seats} were seated"
            )
        if state.match is not None and (list(players) != state.seats or "game" in event):
            offering = {state.seats[seat] for seat in state.offers} - {None}
            people = {identity for identity in state.seats if identity != "ai"}
            is_rematch = bool(offering) and "game" not in event
            if len(people) > 1 and not is_rematch and not self._is_proposed(state, event):
                self._fault("I18", f"a match started at v {v} without an offer of it")
        if "game" in event:
            self.game, self.options = event["game"], event.get("options", {})
        state.match, state.moves, state.over = event["match"], (), None
        state.players, state.offers, state.proposal = players, (), None
        state.movers, state.takebacks = (), ()
        state.seats = list(players)
        return new_referee(self.game, self.options)

    def _is_proposed(self, state: RoomState, event: Message) -> bool:
        """Returns whether a match starts as the open proposal of the next game says."""
        proposal = state.proposal
        if proposal is None:
            return False
        game = event.get("game", self.game), event.get("options", self.options)
        players = [occupant["identity"] for occupant in event["seats"]]
        seated = [state.seats[seat] for seat in proposal["seats"]]
        return (proposal["game"], proposal["options"]) == game and players == seated

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
        state.movers = (*state.movers, None if event.get("forced") else event["seat"])
        state.takebacks = ()
        state.offers = tuple(seat for seat in state.offers if seat == event["seat"])

    def _on_took_back(
        self, v: int, state: RoomState, event: Message, referee: Referee | None
    ) -> Referee | None:
        """Returns the referee of the position; checks I11 and I18."""
        seat, to_ply = event["seat"], event["to_ply"]
        if state.match != event["match"] or state.over is not None or referee is None:
            self._fault("I11", f"a takeback in a match that is not running at v {v}")
            return referee
        # On one screen the last move of either side is taken back.
        seats = (0, 1) if self.is_one_screen else (seat,)
        own = [ply for ply, mover in enumerate(state.movers) if mover in seats]
        if not own or own[-1] != to_ply:
            self._fault("I18", f"the takeback at v {v} is not of the last move of seat {seat}")
        is_alone = self.is_one_screen or state.player_at(1 - seat) == "ai"
        if not is_alone and (seat, to_ply) not in state.takebacks:
            self._fault("I18", f"the takeback at v {v} was not asked for in this position")
        if not self.allows_takebacks or state.player_at(seat) == "ai":
            self._fault("I18", f"the takeback at v {v} is not allowed")
        state.moves, state.movers = state.moves[:to_ply], state.movers[:to_ply]
        state.offers, state.takebacks = (), ()
        referee = new_referee(self.game, self.options)
        for move in state.moves:
            with suppress(IllegalMove):  # recorded as a fault when the move was made
                referee.play(move)
        return referee

    def _on_finished(
        self, v: int, state: RoomState, event: Message, referee: Referee | None, finished: set[str]
    ) -> None:
        if event["match"] in finished or state.match != event["match"]:
            self._fault("I11", f"a second result at v {v}")
        finished.add(event["match"])
        on_board = referee is not None and referee.over
        if event["how"] == "agreement" and not state.offers and not self.is_one_screen:
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
        state.offers, state.takebacks = (), ()
        state.seats = [
            keeper or holder for keeper, holder in zip(state.kept_for, state.seats, strict=True)
        ]
        state.kept_for = (None, None)

    def _fault(self, invariant: str, description: str) -> None:
        self.faults.append(f"{invariant}: {description}, in room {self.room}")
