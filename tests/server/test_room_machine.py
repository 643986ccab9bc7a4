"""The invariants of a room hold after random commands of several people and the AI.

Some of the commands are stale, repeated or invalid. The invariants I1, I2, … are listed in
tests/oracle/history.py.
"""

from typing import Any

import msgspec
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from client.messages import LoggedEvent, parse_server_message
from client.model import Model, apply
from engine.game import Game, GameFault
from engine.rules.registry import load_game
from server.commands import (
    Abort,
    Accept,
    AddAi,
    AddTime,
    AiMove,
    AiReply,
    AiSeat,
    CallDraw,
    Chat,
    ChatTo,
    Claim,
    ClaimWin,
    Command,
    Configure,
    Decline,
    Hold,
    LetAiPlay,
    Move,
    MySeat,
    NextGame,
    OfferDraw,
    OpenSeat,
    ReclaimSeat,
    Rematch,
    RemoveAi,
    Resign,
    Stand,
    Takeback,
    ThinkingSetting,
    Tick,
)
from server.events import (
    AiTookOver,
    Configured,
    Created,
    Declined,
    Finished,
    Held,
    Moved,
    Occupant,
    Offered,
    PlayerReturned,
    Released,
    Required,
    RoomEvent,
    Said,
    SeatLeft,
    SeatTaken,
    Started,
    TimeAdded,
    TookBack,
    format_event_body,
    parse_event_body,
)
from server.ids import IdentityId
from server.ops.clocks import faults_of
from server.protocol import views
from server.protocol.codec import HIDDEN_BODY, event_frame
from server.rooms import rules
from server.rooms.model import (
    AI,
    SERVER,
    Absence,
    Actor,
    ActorKind,
    CommandRejected,
    Match,
    MatchResult,
    Room,
)
from server.runtime.projections import log_entry, projections
from server.store.base import AUTHOR, SPECTATORS
from server.time_controls import format_control
from tests.oracle.clocks import MatchClock, start_clock
from tests.oracle.referee import IllegalMove, Referee, new_referee
from tests.support.room_log import (
    ADA,
    BEN,
    CYD,
    ROOM,
    LoggedRoom,
    altered_game,
    attempt,
    decide,
    failing_rule,
    sit,
)

PEOPLE = [ADA, BEN, CYD]
#: Legal and illegal moves of the games.
TOKENS = [
    *(column + row for column in "abc" for row in "123"),
    *"abcdefg",
    "1x1",
    "2x1",
    "3x2",
    "",
    "zz",
    "\u202e",
    "7x9",
]
#: Types of commands without fields of their own.
PLAIN = [Stand, Resign, Abort, Rematch, Decline]
#: The claims against an opponent who has gone.
CLAIMS: list[type[ClaimWin | CallDraw | LetAiPlay]] = [ClaimWin, CallDraw, LetAiPlay]
#: Types of commands about draws.
DRAWS = [OfferDraw, Accept, Claim, AiReply]
#: Time controls of rooms: none, and short ones of every kind.
CLOCKS = [None, None, None, "5+1", "2d1", "2b1", "2/1+1:1d1", "1+2x1", "1+3/2", "1+5<3"]
SEATS = st.tuples(*[st.sampled_from([MySeat(), OpenSeat(), AiSeat(level=1)])] * 2)


def counted(room: Room) -> dict[frozenset[str], dict[str, int]]:
    """Returns the scores of a room: the half points of each player, by pair."""
    return {
        frozenset(score.players): dict(zip(score.players, score.half_points, strict=True))
        for score in room.series
    }


def count_points(events: list[RoomEvent]) -> dict[frozenset[str], dict[str, int]]:
    """Counts the same in a log, one match after the other."""
    points: dict[frozenset[str], dict[str, int]] = {}
    players: list[str] = []
    for event in events:
        if isinstance(event, Started):
            players = [occupant.identity for occupant in event.seats]
        elif isinstance(event, Finished):
            pair = frozenset(players)
            if len(pair) < 2 or event.how in ("abort", "failure", "noshow"):
                continue
            of_pair = points.setdefault(pair, dict.fromkeys(pair, 0))
            for seat, player in enumerate(players):
                of_pair[player] += 1 if event.winner is None else 2 * (event.winner == seat)
    return points


class Watcher:
    """A client that joins at some v, as a player or a spectator, and applies the later events."""

    def __init__(self, room: Room, is_player: bool) -> None:
        self.is_player = is_player
        self.model = apply(Model(room=ROOM), views.snapshot(room, is_player))

    def follow(self, room: Room, event: RoomEvent, at_ms: int) -> None:
        entry = log_entry(room, event, at_ms)
        is_hidden = entry.audience == AUTHOR or (self.is_player and entry.audience == SPECTATORS)
        body = HIDDEN_BODY if is_hidden else entry.body
        message = parse_server_message(event_frame(ROOM, entry.v, at_ms, body))
        assert isinstance(message, LoggedEvent)
        self.model = apply(self.model, message)

    def check(self, room: Room) -> None:
        """Checks that the snapshot and the events after it give the state of a new snapshot."""
        seen, now = self.model, views.snapshot(room, self.is_player)
        proposals = (*seen.takebacks, *([seen.next_offer] if seen.next_offer else []))
        assert (seen.v, seen.in_sync, seen.seats, seen.match, seen.offers, proposals) == (
            now.v,
            True,
            now.seats,
            now.match,
            now.offers,
            now.proposals,
        )
        assert seen.series == now.series
        assert seen.chat[-len(now.chat) :] == now.chat if now.chat else True


def _actor(occupant: Occupant) -> Actor:
    return Actor(IdentityId(occupant.identity), occupant.name)


class RoomMachine(RuleBasedStateMachine):
    """One room, the people who send commands to it, and its AI."""

    def __init__(self) -> None:
        super().__init__()
        self.played = LoggedRoom()
        self.folded: Room | None = None
        self.clock_apart: MatchClock | None = None
        self.referee: Referee | None = None
        self.sent_commands: list[tuple[Actor, Command]] = []
        self.pending_searches: list[AiMove] = []
        self.watchers: list[Watcher] = []
        self.results: dict[str, MatchResult] = {}
        #: The moves of the current match that were not taken back.
        self.line: list[str] = []
        self.draw_offered_by: int | None = None
        #: The people who have gone for long enough to be claimed.
        self.absent: set[str] = set()
        self.played.find_absence = lambda identity: (
            Absence(0, 0) if identity in self.absent else None
        )
        #: The game of the current match, with its options.
        self.game: tuple[str, dict[str, str]] = ("", {})
        #: The open proposal of the next game, with its version.
        self.proposed: tuple[int, Offered] | None = None

    @initialize(
        game=st.sampled_from(["tic-tac-toe", "sticks", "connect-four"]),
        seats=SEATS,
        clock=st.sampled_from(CLOCKS),
    )
    def create(self, game: str, seats: tuple[Any, Any], clock: str | None) -> None:
        try:
            events = self.played.create(ADA, game, seats=seats, clock=clock)
        except CommandRejected:
            assert seats == (MySeat(), MySeat())
            events = self.played.create(ADA, game, clock=clock)
        for v, event in enumerate(events, 1):
            self._check_event(event, v)
        self._fold_new_events()

    # --- commands ---

    @rule(actor=st.sampled_from(PEOPLE), seat=st.integers(0, 1))
    def sit(self, actor: Actor, seat: int) -> None:
        self._send(actor, sit(seat))

    @rule(actor=st.sampled_from(PEOPLE), kind=st.sampled_from(PLAIN))
    def plain(self, actor: Actor, kind: type[Command]) -> None:
        self._send(actor, kind(id="p"))

    @rule(actor=st.sampled_from(PEOPLE), kind=st.sampled_from(DRAWS), accept=st.booleans())
    def draw(self, actor: Actor, kind: Any, accept: bool) -> None:
        """Offers, accepts or claims a draw, or answers an offer as the AI seat or as a person."""
        if kind is not AiReply:
            self._send(actor, kind(id="p"))
            return
        match, seat = self.played.room.match, self.played.room.ai_to_answer_draw()
        reply = AiReply("r", match.id if match else "", seat if seat is not None else 0, accept)
        self._send(AI if seat is not None else actor, reply)

    @rule(actor=st.sampled_from(PEOPLE), is_absent=st.booleans())
    def go_or_come(self, actor: Actor, is_absent: bool) -> None:
        (self.absent.add if is_absent else self.absent.discard)(actor.identity)

    @rule(actor=st.sampled_from(PEOPLE), kind=st.sampled_from([*CLAIMS, ReclaimSeat, ReclaimSeat]))
    def claim(self, actor: Actor, kind: type[Command]) -> None:
        """Claims against an opponent, or takes back the seat that an AI keeps."""
        self._send(actor, kind(id="p"))

    @rule(
        plies=st.integers(0, 4),
        seat=st.integers(0, 1),
        kind=st.sampled_from(CLAIMS),
        is_absent=st.booleans(),
    )
    def claim_between_people(
        self, plies: int, seat: int, kind: type[Command], is_absent: bool
    ) -> None:
        """A claim is granted if all conditions hold: the opponent has gone and is to move, and both
        sides have moved.
        """
        self._seat_people()
        for pick in range(plies):
            self._play_legal_move(pick)
        match = self.played.room.running_match
        if match is None or self.referee is None or any(each.kind == "ai" for each in match.seats):
            return
        self.go_or_come(_actor(match.seats[1 - seat]), is_absent)
        may = is_absent and self.referee.turn != seat and len(self.line) >= 2
        events = self._send(_actor(match.seats[seat]), kind(id="p"))
        assert bool(events) == may or (kind is CallDraw and self.game[0] == "sticks")

    def _seat_people(self) -> None:
        """People take the open seats; those of a finished match play again."""
        for seat, occupant in enumerate(self.played.room.seats):
            standing = [p for p in PEOPLE if not self.played.room.has_player(p.identity)]
            if occupant is None:
                self._send(standing[0], sit(seat))
        if self.played.room.match is not None and self.played.room.running_match is None:
            for occupant in self.played.room.seats:
                if occupant is not None and occupant.kind == "guest":
                    self._send(_actor(occupant), Rematch(id="p"))

    @rule(actor=st.sampled_from(PEOPLE), back=st.integers(-1, 2))
    def take_back(self, actor: Actor, back: int) -> None:
        """Takes a move back, or asks for it, at a ply near the current one."""
        self._send(actor, Takeback("b", max(0, len(self.line) - back)))

    @rule(kind=st.sampled_from([Accept, Accept, Decline]))
    def answer_takeback(self, kind: Any) -> None:
        """Answers an open request for a takeback, or withdraws it."""
        for offer in self.played.room.takeback_offers[:1]:
            occupant = self.played.room.seats[1 - offer.seat if kind is Accept else offer.seat]
            assert occupant is not None
            actor = _actor(occupant)
            assert self._send(actor, kind("p", what="takeback")), "an open request is answered"

    @rule(
        seat=st.integers(0, 1),
        game=st.sampled_from(["tic-tac-toe", "sticks", "connect-four", "chess!"]),
        rows=st.sampled_from([None, "1-3-5-7"]),
        seats=st.sampled_from([(0, 1), (1, 0), (1, 1)]),
        level=st.sampled_from([None, None, None, 1, 8]),
        clock=st.sampled_from([None, None, None, "-", "5+1", "1+2x1"]),
    )
    def propose_next_game(
        self,
        seat: int,
        game: str,
        rows: str | None,
        seats: tuple[int, int],
        level: int | None,
        clock: str | None,
    ) -> None:
        """Proposes the next game as a player, or as the host."""
        options = {"rows": rows} if rows else {}
        occupant = self.played.room.seats[seat]
        is_person = occupant is not None and occupant.kind != "ai"
        actor = ADA
        if is_person and occupant is not None:
            actor = _actor(occupant)
        self._send(actor, NextGame("n", game, options, seats, level, clock))

    @rule(kind=st.sampled_from([Accept, Accept, Decline]), late=st.sampled_from([0, 0, 0, 1]))
    def answer_proposal(self, kind: Any, late: int) -> None:
        """Answers the open proposal of the next game, or names another version of it."""
        offer = self.played.room.next_offer
        if offer is None:
            return
        occupant = self.played.room.seats[1 - offer.seat]
        assert occupant is not None, "a proposal lapses when a seat is left"
        actor = _actor(occupant)
        command = Decline("p", "next") if kind is Decline else Accept("p", "next", v=offer.v - late)
        assert bool(self._send(actor, command)) == (kind is Decline or not late)

    @rule(
        actor=st.sampled_from(PEOPLE),
        seat=st.integers(0, 1),
        level=st.integers(1, 8),
        add=st.booleans(),
    )
    def ai_seat(self, actor: Actor, seat: int, level: int, add: bool) -> None:
        if add:
            self._send(actor, AddAi(id="a", seat=seat, level=level))
        else:
            self._send(actor, RemoveAi(id="a", seat=seat))

    @rule(actor=st.sampled_from(PEOPLE), setting=st.sampled_from(["all", "spectators", "after"]))
    def configure(self, actor: Actor, setting: ThinkingSetting) -> None:
        self._send(actor, Configure(id="t", thinking=setting))

    @rule(actor=st.sampled_from(PEOPLE), token=st.sampled_from(TOKENS), ply=st.integers(0, 45))
    def any_move(self, actor: Actor, token: str, ply: int) -> None:
        self._send(actor, Move(id="m", ply=ply, move=token))

    @rule(actor=st.sampled_from(PEOPLE), token=st.sampled_from(TOKENS), back=st.integers(-1, 2))
    def move_near_the_ply(self, actor: Actor, token: str, back: int) -> None:
        """Sends a move at a ply near the current one."""
        ply = max(0, self.played.room.match.ply - back) if self.played.room.match else 0
        self._send(actor, Move(id="m", ply=ply, move=token))

    @rule(ms=st.sampled_from([1, 300, 900, 2_000, 15_000]))
    def wait(self, ms: int) -> None:
        """Lets time pass, with or without a tick."""
        self.played.now_ms += ms

    @rule()
    def tick(self) -> None:
        """Sends a tick, as the server does when something may be due."""
        deadline_ms, before = self.played.room.next_deadline_ms(0), self.played.room
        events = self._send(SERVER, Tick("tick", 0))
        is_due = deadline_ms is not None and self.played.now_ms >= deadline_ms
        assert bool(events) == is_due, "I24: nothing falls before its deadline, and all after it"
        if events:
            assert before.running_match is not None
            assert before.seats[before.running_match.turn].kind == "guest", "no AI falls"  # type: ignore[union-attr]
            assert isinstance(events[-1], Finished)
            assert events[-1].how in ("flag", "noshow")

    @rule(actor=st.sampled_from(PEOPLE))
    def add_time(self, actor: Actor) -> None:
        self._send(actor, AddTime("t"))

    @rule(before_ms=st.sampled_from([1, 400, 5_000]))
    def outage(self, before_ms: int) -> None:
        """The server was not there until now."""
        match = self.played.room.running_match
        command = Hold("h", match.id if match else "", self.played.now_ms - before_ms, "outage")
        self._send(SERVER, command)

    @rule(pick=st.integers(0, 50))
    def legal_move(self, pick: int) -> None:
        """Plays a legal move of the side to move, AI or person."""
        self._play_legal_move(pick)

    @rule(pick=st.integers(0, 50))
    def play_to_the_end(self, pick: int) -> None:
        """Plays legal moves until the match is over."""
        while self._play_legal_move(pick):
            pick += 7

    @rule(
        seat=st.integers(0, 1),
        kind=st.sampled_from([Rematch, Rematch, Resign, Stand]),
    )
    def command_of_a_player(self, seat: int, kind: type[Command]) -> None:
        """Sends a command of a person who has a seat."""
        occupant = self.played.room.seats[seat]
        if occupant is not None and occupant.kind == "guest":
            self._send(_actor(occupant), kind(id="p"))

    @rule(token=st.sampled_from(TOKENS))
    def start_search(self, token: str) -> None:
        """Starts a search whose answer comes later, perhaps too late."""
        if self.played.room.ai_to_move() is not None and self.referee is not None:
            self.pending_searches.append(
                self.played.ai_move(self.referee.moves()[0] if len(token) < 2 else token)
            )

    @rule(pick=st.integers(0, 1000))
    def end_search(self, pick: int) -> None:
        if self.pending_searches:
            self._send(AI, self.pending_searches[pick % len(self.pending_searches)])

    def _play_legal_move(self, pick: int) -> bool:
        """Plays a legal move; returns whether a side was to move."""
        match = self.played.room.running_match
        if match is None or self.referee is None:
            return False
        flag_ms = self.played.room.flag_ms()
        if flag_ms is not None and self.played.now_ms >= flag_ms:
            self.tick()
            return False
        tokens = self.referee.moves()
        token, occupant = tokens[pick % len(tokens)], match.seats[self.referee.turn]
        if occupant.kind == "ai":
            events = self._send(AI, self.played.ai_move(token))
        else:
            events = self._send(_actor(occupant), self.played.move(token))
        assert events, "a legal move must be accepted"
        return True

    @rule(pick=st.integers(0, 1000))
    def send_again(self, pick: int) -> None:
        """Sends an earlier command of a person or the AI again, unchanged."""
        if self.sent_commands:
            self._send(*self.sent_commands[pick % len(self.sent_commands)])

    @rule(seat=st.integers(0, 1), token=st.sampled_from(TOKENS), fail=st.booleans())
    def ai_answer(self, seat: int, token: str, fail: bool) -> None:
        if self.played.room.running_match is not None:
            command = (
                self.played.ai_failure(seat=seat) if fail else self.played.ai_move(token, seat=seat)
            )
            self._send(AI, command)

    @rule(
        actor=st.sampled_from(PEOPLE),
        text=st.text(max_size=8),
        to=st.sampled_from(["room", "spectators"]),
    )
    def chat(self, actor: Actor, text: str, to: ChatTo) -> None:
        self._send(actor, Chat(id="t", text=text, to=to))

    @rule(is_player=st.booleans())
    def watch(self, is_player: bool) -> None:
        if len(self.watchers) < 5:
            self.watchers.append(Watcher(self.played.room, is_player))

    # --- invariants ---

    def _send(self, actor: Actor, command: Command) -> list[RoomEvent]:
        note(f"{actor.identity}: {command}")
        if len(self.sent_commands) < 1000:
            self.sent_commands.append((actor, command))
        before, at_ms = self.played.room, self.played.now_ms
        if isinstance(command, Tick | Hold) and not self.played.decide(actor, command):
            return []
        events = attempt(lambda: self.played.do(actor, command))
        if isinstance(events, CommandRejected | GameFault):
            assert isinstance(events, CommandRejected), "the rules of these games are sound"
            assert self.played.room is before, "I2: a rejection changes nothing"
            return []
        self._check_actor(actor, before, events)
        self._check_command(actor, before, command, events)
        self._check_clock(actor, before, events, at_ms)
        for v, event in enumerate(events, before.v + 1):
            self._check_event(event, v)
        self._fold_new_events(len(events))
        return events

    def _check_actor(self, actor: Actor, before: Room, events: list[RoomEvent]) -> None:
        """Checks I12 and I13: the actor may cause the events."""
        own = before.seat_of(actor.identity)
        only_ai = all(seat is not None and seat.kind == "ai" for seat in before.seats)
        for event in events:
            match event:
                case Moved(seat=seat) if actor.kind is ActorKind.AI:
                    assert before.seats[seat] is not None
                    assert before.seats[seat].kind == "ai"  # type: ignore[union-attr]
                case Moved(seat=seat):
                    assert seat == own, "a move comes from the identity that holds the seat"
                case Declined(seat=seat) if actor.kind is ActorKind.AI:
                    assert before.seats[seat] is not None
                    assert before.seats[seat].kind == "ai"  # type: ignore[union-attr]
                case Offered(seat=seat, what=what) | Declined(seat=seat, what=what):
                    assert seat == own
                    assert (what not in ("rematch", "next")) == (
                        before.running_match is not None
                    ), "I18: draws and takebacks are offered in a match, the next one after it"
                case TookBack(seat=seat):
                    assert own is not None
                    opponent = before.seats[1 - seat]
                    assert opponent is not None
                    asked = seat in [offer.seat for offer in before.takeback_offers]
                    assert opponent.kind == "ai" if seat == own else asked, (
                        "I18: an opponent's move is taken back only on request"
                    )
                case AiTookOver(seat=seat):
                    assert own == 1 - seat, "I33: the opponent claims"
                case PlayerReturned(seat=seat):
                    assert before.kept_seat(actor.identity) == seat
                case Finished() if actor.kind not in (ActorKind.AI, ActorKind.SERVER):
                    assert own is not None or (only_ai and actor.identity == before.host)
                case SeatTaken(seat=seat, occupant=occupant):
                    assert before.seats[seat] is None, "I12: the seat was free"
                    if occupant.kind == "ai":
                        assert actor.identity == before.host
                    else:
                        assert occupant == Occupant(actor.identity, actor.name)
                        assert own is None, "I12: one seat for one identity"
                case SeatLeft(seat=seat):
                    assert before.running_match is None
                    assert seat == own or actor.identity == before.host
                case Configured():
                    assert actor.identity == before.host
                    assert before.running_match is None
                case Said(to=to):
                    assert to != "spectators" or own is None
                case _:
                    pass

    def _check_command(
        self, actor: Actor, before: Room, command: Command, events: list[RoomEvent]
    ) -> None:
        """Checks a move's ply and token, that both players agreed to a rematch (I18), and what a
        claim needs (I33 to I35).
        """
        match command:
            case ClaimWin() | CallDraw() | LetAiPlay():
                own = before.seat_of(actor.identity)
                assert own is not None
                assert self.referee is not None
                opponent = before.seats[1 - own]
                assert opponent is not None
                assert opponent.identity in self.absent, "I33: the opponent has gone"
                assert self.referee.turn != own, "I34: not on one's own move"
                assert len(self.line) >= 2, "I35: both sides have moved"
            case Move(ply=ply, move=move):
                assert isinstance(events[0], Moved)
                assert (events[0].ply, events[0].move) == (ply, move), (
                    "the move is for the command's ply"
                )
            case Rematch() if isinstance(events[0], Started):
                seat = before.seat_of(actor.identity)
                other = before.seats[1 - seat] if seat is not None else None
                assert other is None or other.kind == "ai" or 1 - (seat or 0) in before.offers
            case NextGame() if any(isinstance(event, Started) for event in events):
                seat = before.seat_of(actor.identity)
                other = before.seats[1 - seat] if seat is not None else None
                assert other is None or other.kind == "ai", "I18: a person agrees to the next game"
                assert actor.identity == before.host or seat is not None
            case Accept(what="next"):
                assert self.proposed is not None
                v, offered = self.proposed
                (started,) = (event for event in events if isinstance(event, Started))
                assert command.v == v
                clock = offered.clock or format_control(before.control)
                assert (started.clock or "-") == clock, "I18: the clock that was proposed"
                assert before.seat_of(actor.identity) == 1 - offered.seat, "I18: the other player"
                assert (offered.game, offered.options) == (
                    (started.game, started.options) if started.game else self.game
                ), "I18: the game that was proposed"
                assert [each.identity for each in started.seats] == [
                    before.seats[each].identity  # type: ignore[union-attr]
                    for each in offered.seats or ()
                ], "I18: the sides that were proposed"
            case _:
                pass

    def _check_clock(self, actor: Actor, before: Room, events: list[RoomEvent], at_ms: int) -> None:
        """Checks I23 and I24: time is accounted for, and nobody plays or ends a match with a side
        that has no time left.
        """
        match = before.running_match
        if match is None or match.clock is None:
            assert not any(isinstance(event, Moved) and event.clock_ms for event in events)
            return
        clock, flag_ms = match.clock, before.flag_ms()
        for event in events:
            match event:
                case Moved():
                    passed_ms = max(0, at_ms - clock.since_ms) + clock.move_ms
                    assert event.spent_ms is not None
                    assert event.spent_ms + event.lag_ms + event.credit_ms == passed_ms, "I23"
                    assert flag_ms is None or at_ms < flag_ms, "I24: no move after the deadline"
                    assert actor.kind is ActorKind.AI or event.credit_ms == 0
                    assert event.clock_ms is not None
                    assert event.clock_ms > 0
                case Finished(how="flag" | "noshow"):
                    assert flag_ms is not None
                    assert at_ms >= flag_ms, "I24: no flag before its deadline"
                    assert event.clocks_ms is not None
                    assert (event.clocks_ms[match.turn] == 0) == (event.how == "flag")
                    assert event.winner == (1 - match.turn if event.how == "flag" else None)
                case Finished(how="board"):
                    pass
                case Finished() if actor.kind is ActorKind.PERSON:
                    assert flag_ms is None or at_ms < flag_ms, "I24: the flag falls first"
                case _:
                    pass

    def _check_event(self, event: RoomEvent, v: int) -> None:
        match event:
            case Started():
                assert event.match not in self.results, "a match id is used once"
                assert self.referee is None or self.referee.over
                if event.game is not None:
                    assert (event.game, event.options) != self.game, "only what changes is named"
                    self.game = event.game, event.options or {}
                self.referee = new_referee(*self.game)
                self.proposed = None
                people = [occupant.identity for occupant in event.seats if occupant.kind == "guest"]
                assert len(set(people)) == len(people)
                self.draw_offered_by = None
                self.line = []
            case Created(game=game, options=options):
                self.game = game, options
            case Offered(seat=seat, what="draw"):
                self.draw_offered_by = seat
            case Offered(what="next"):
                self.proposed = v, event
            case Declined(what="next") | SeatLeft():
                self.proposed = None
            case Moved():
                if event.seat != self.draw_offered_by:
                    self.draw_offered_by = None
                assert self.referee is not None
                assert event.match not in self.results, "I11: no move after the end"
                assert event.seat == self.referee.turn
                assert event.ply == len(self.line), "I16: one move for each ply"
                self.line.append(event.move)
                try:
                    self.referee.play(event.move)
                except IllegalMove as error:
                    raise AssertionError(f"I9: {error}") from error
            case TookBack(to_ply=to_ply):
                assert event.match not in self.results, "I11: a result is final"
                assert to_ply < len(self.line)
                assert to_ply >= len(self.line) - 2, "these games have no extra turns"
                self.line = self.line[:to_ply]
                self.referee = new_referee(*self.game)
                for token in self.line:
                    self.referee.play(token)
                self.draw_offered_by = None
            case Finished():
                assert self.referee is not None
                assert event.match not in self.results, "I11: a result is final"
                self.results[event.match] = MatchResult(
                    event.winner, event.how, event.reason, clocks_ms=event.clocks_ms
                )
                if event.how == "agreement":
                    assert self.draw_offered_by is not None, "I18: a draw needs an offer"
                if event.how == "board":
                    assert self.referee.over
                    assert self.referee.winner == event.winner
                self.referee.over = True
                self.draw_offered_by = None
            case Declined(what="draw") | AiTookOver() | PlayerReturned():
                self.draw_offered_by = None
            case _:
                pass

    def _fold_new_events(self, count: int | None = None) -> None:
        """Applies the last `count` events, or all, from their JSON, also to the watchers."""
        log = self.played.log[-count:] if count else self.played.log
        for at_ms, body in log:
            event = parse_event_body(body)
            if self.folded is None:
                self.folded = rules.initial_room(ROOM, event, at_ms, load_game)
            else:
                assert list(faults_of(self.folded, event, at_ms)) == [], "I23, as `verify` has it"
                self._check_clock_apart(body, at_ms)
                self.folded = rules.evolve(self.folded, event, at_ms, load_game)
            for watcher in self.watchers:
                watcher.follow(self.folded, event, at_ms)
        assert self.folded == self.played.room, "I8: the log makes the room"

    def _check_clock_apart(self, body: bytes, at_ms: int) -> None:
        """Follows the clock of the match as the history checker does, by code of its own."""
        event = {"at": at_ms, **msgspec.json.decode(body)}
        if event["kind"] == "started":
            self.clock_apart = start_clock(event)
        if self.clock_apart is not None and event.get("match") is not None:
            self.clock_apart.follow(event, at_ms)
            assert self.clock_apart.faults == []

    @invariant()
    def v_counts_the_events(self) -> None:
        """I3: the version counts the events."""
        if self.folded is not None:
            assert self.played.room.v == len(self.played.log)

    @invariant()
    def scores_count_the_log(self) -> None:
        """The scores of the players equal a plain count over the log, in half points."""
        if self.folded is not None:
            events = [parse_event_body(body) for _, body in self.played.log]
            assert counted(self.played.room) == count_points(events)

    @invariant()
    def older_programs_are_warned(self) -> None:
        """A match of another game than the room's follows a `required` with `games`, and the first
        event that names a clock is followed by one with `clock`.
        """
        events = [parse_event_body(body) for _, body in self.played.log]
        changes = [v for v, event in enumerate(events) if isinstance(event, Started) and event.game]
        names = [
            v for v, event in enumerate(events) if getattr(event, "clock", None) not in (None, "-")
        ]
        assert [events[v + 1] for v in names[:1]] == [Required("clock")] * len(names[:1])
        assert events.count(Required("clock")) == len(names[:1])
        warnings = [v for v, event in enumerate(events) if event == Required("games")]
        assert len(warnings) == bool(changes)
        assert warnings[:1] < changes[:1] or not changes

    @invariant()
    def watchers_and_referee_agree(self) -> None:
        room = self.played.room if self.folded is not None else None
        if room is None:
            return
        for watcher in self.watchers:
            watcher.check(room)
        assert (room.running_match is not None) == (
            self.referee is not None and not self.referee.over
        ), "the referee agrees"
        if room.running_match is not None:
            assert room.running_match.position is not None
            assert self.referee is not None
            assert room.running_match.position.turn == self.referee.turn
            assert sorted(room.running_match.position.tokens()) == sorted(self.referee.moves()), (
                "I9: the same legal moves"
            )
            assert room.seats == room.running_match.seats, "seats do not change during a match"
        if room.match is not None and room.match.over is not None:
            assert self.results[room.match.id] == room.match.over, "I11"
        assert room.match is None or [each.move for each in room.match.moves] == self.line
        if room.offers:
            assert all(room.seats[seat] is not None for seat in room.offers), (
                "I18: an offer ends when its seat is left"
            )
            assert len(room.offers) == 1
        people = [seat.identity for seat in room.seats if seat is not None and seat.kind == "guest"]
        assert len(set(people)) == len(people), "I12: one seat for one identity"

    def teardown(self) -> None:
        if self.folded is not None:
            assert self.played.fold() == self.played.room


TestRoomMachine = RoomMachine.TestCase
TestRoomMachine.settings = settings(
    max_examples=60,
    stateful_step_count=60,
    suppress_health_check=[HealthCheck.too_slow],
    deadline=None,
)


# --- arbitrary logs -------------------------------------------------------------------------------

NUMBERS = st.sampled_from([0, 1, 2, -1, 7])
TEXTS = st.sampled_from(
    [
        "",
        "m1",
        "m2",
        "a1",
        "b2",
        ".........",
        "X........",
        "1-2-3 first",
        "ada",
        "tic-tac-toe",
        "\u0000",
    ]
)
TIMES = st.sampled_from([0, 1, 900, -1, 5_000, 10**15])
PAIRS = st.tuples(TIMES, TIMES)
OCCUPANTS = st.builds(Occupant, TEXTS, TEXTS, st.sampled_from(["guest", "ai"]), st.none() | NUMBERS)
EVENTS = st.one_of(
    st.builds(Created, TEXTS, st.just({}), st.just("public"), TEXTS),
    st.builds(Configured, TEXTS),
    st.builds(SeatTaken, NUMBERS, OCCUPANTS),
    st.builds(SeatLeft, NUMBERS),
    st.builds(Started, TEXTS, NUMBERS, TEXTS, TEXTS, st.lists(OCCUPANTS, max_size=3).map(tuple)),
    st.builds(
        Started, TEXTS, NUMBERS, TEXTS, TEXTS, st.lists(OCCUPANTS, max_size=3).map(tuple),
        game=TEXTS, options=st.none() | st.just({"rows": "1"}), title=st.none() | TEXTS,
    ),
    st.builds(
        Offered, NUMBERS, st.just("next"), game=st.none() | TEXTS, title=st.none() | TEXTS,
        seats=st.none() | st.lists(NUMBERS, max_size=2).map(tuple),
    ),
    st.builds(Moved, TEXTS, NUMBERS, NUMBERS, TEXTS, TEXTS),
    st.builds(Finished, TEXTS, st.none() | NUMBERS, st.just("board"), TEXTS),
    st.builds(Required, TEXTS),
    st.builds(TookBack, TEXTS, NUMBERS, NUMBERS, TEXTS),
    st.builds(Offered, NUMBERS, st.sampled_from(["draw", "takeback"]), st.none() | NUMBERS),
    st.builds(Declined, NUMBERS),
    st.builds(
        Started, TEXTS, NUMBERS, TEXTS, TEXTS, st.lists(OCCUPANTS, max_size=3).map(tuple),
        clock=st.sampled_from(["1+2x1", "5d1", "2/1:1", "new", ""]), clocks_ms=PAIRS,
    ),
    st.builds(
        Moved, st.just("m1"), NUMBERS, NUMBERS, TEXTS, TEXTS, clock_ms=TIMES, spent_ms=TIMES,
        stage=st.none() | NUMBERS, periods=st.none() | TIMES, forced=st.booleans(),
    ),
    st.builds(
        TookBack, st.just("m1"), NUMBERS, NUMBERS, TEXTS, PAIRS, st.none() | PAIRS,
        st.none() | PAIRS, TIMES,
    ),
    st.builds(TimeAdded, st.just("m1"), NUMBERS, TIMES),
    st.builds(Held, st.just("m1"), TEXTS, TIMES),
    st.builds(Released, st.just("m1"), PAIRS, TIMES),
    st.builds(Said, TEXTS, TEXTS, TEXTS, st.sampled_from(["room", "spectators"])),
)  # fmt: skip
START = Started(
    "m1",
    1,
    ".........",
    load_game("tic-tac-toe").digest,
    (Occupant("ada", "A"), Occupant("ai", "B", "ai", 1)),
)
HOOKS = st.sampled_from(
    ["none", "parse_position", "parse_move", "turn", "format_position", "play", "status", "view"]
)


@given(
    start=st.lists(EVENTS, max_size=3),
    later=st.lists(EVENTS, max_size=12),
    hook=HOOKS,
    game=st.sampled_from(["tic-tac-toe", "sticks", "missing"]),
    command=st.sampled_from(
        [sit(0), *(kind(id="x") for kind in PLAIN), Accept("x"), NextGame("x", "sticks")]
    ),
)
@settings(max_examples=400)
def test_any_log_loads(
    start: list[RoomEvent],
    later: list[RoomEvent],
    hook: str,
    game: str,
    command: Command,
) -> None:
    """`evolve` is total: any log loads with any game.

    Views and commands of the room then work or raise typed errors.
    """

    def find(game_id: str) -> Game:
        return load_game(game_id) if hook == "none" else altered_game(game_id, {hook: failing_rule})

    room = rules.initial_room(ROOM, Created(game, {}, "public", "ada"), 0, find)
    for event in (*start, START, *later):
        body = format_event_body(event)
        room = rules.evolve(room, parse_event_body(body), 1, find)
        projections(room, [event], None)
        assert room.ai_to_move() in (None, 0, 1)
        assert len(room.seats) == 2
    assert room.v == len(start) + len(later) + 2
    for use in (read_all_views, decide_for_everyone):
        attempt(lambda use=use: use(room, command))  # type: ignore[misc]


def read_all_views(room: Room, command: Command) -> None:
    """Encodes everything that a joining client receives."""
    msgspec.json.encode(views.snapshot(room, player=False))
    msgspec.json.encode(views.description(room))
    match: Match | None = room.match
    if match is not None:
        views.view(room, match)
        views.turn(room, match)


def decide_for_everyone(room: Room, command: Command) -> None:
    for actor in PEOPLE:
        decide(room, actor, command, lambda: "new")


def test_hidden_events_increase_v() -> None:
    """A hidden event increases the v of a player who must not see its content."""
    played = LoggedRoom()
    played.create(ADA)
    watcher = Watcher(played.room, is_player=True)
    (event,) = played.do(CYD, Chat(id="t", text="psst", to="spectators"))
    watcher.follow(played.room, event, 5)
    watcher.check(played.room)
    assert watcher.model.chat == ()
