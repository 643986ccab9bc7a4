"""Checks the messages that clients sent and received against the promises of the server.

The checker knows nothing of the server's code. It checks these invariants (I7 and I10 need a clock
of their own and are checked elsewhere):

- I1: an acknowledged command is in the log exactly once, at the v in its ack.
- I2: a refused command is never in the log.
- I3: v counts 1, 2, 3, … and the epoch stays.
- I4: each connection sees one contiguous slice of the log, the same for all.
- I5: nothing is shown that was not committed.
- I6: a client that changes nodes does not go back in time.
- I8: a snapshot equals the log up to its v.
- I9: every move is legal by an independent referee, and so are the offered moves.
- I11: a result is final.
- I12: a seat has one identity, changed only by an event.
- I13: nobody moves for another player.
- I14: a message for spectators reaches no player.
- I16: each ply has one move.
- I18: no rematch starts without an offer.
- I19: each command has exactly one answer within 10 s, or the connection closes.

The client called READER determines what was committed: it joins every room at the very end, on a
node that was not there before.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.oracle.referee import IllegalMove, Referee, referee

#: The name of the client whose reading of the rooms counts as the final log.
READER = "reader"
#: Seconds for an answer: a server answers within 10 s or closes; a busy machine may add the rest.
ANSWER_S = 60.0
#: Messages that arrive within this many seconds of each other count as sent together.
TOGETHER_S = 0.1

Message = dict[str, Any]
Way = Literal["open", "close", "out", "in"]

#: Error codes that leave the outcome unknown or request the same command again.
UNKNOWN = {"store.retry", "server.fault", "room.busy"}

#: Message types that put nothing into the log.
NOT_LOGGED = {"join", "leave", "hello", "ping", "watch_lobby"}


#: The terminations of a match that have no winner.
DRAWS = ("agreement", "claim")


@dataclass(frozen=True, slots=True)
class Entry:
    """One record of a client: a connection opened or closed, or a message sent or received."""

    at_s: float
    client: str
    session: int
    way: Way
    message: Message = field(default_factory=dict)


@dataclass
class History:
    """The records of all clients in their order of time."""

    entries: list[Entry] = field(default_factory=list)

    def add(
        self, at_s: float, client: str, session: int, way: Way, message: Message | None = None
    ) -> None:
        self.entries.append(Entry(at_s, client, session, way, message or {}))


@dataclass(slots=True)
class State:
    """A room at some v, folded from its log by this file alone."""

    seats: list[str | None]
    match: str | None = None
    moves: tuple[str, ...] = ()
    over: tuple[int | None, str] | None = None
    players: tuple[str, ...] = ()
    offers: tuple[int, ...] = ()
    legal: tuple[str, ...] = ()
    to_move: str | None = None

    def player(self, seat: int) -> str | None:
        """The identity that plays a side, or None."""
        return self.players[seat] if seat in range(len(self.players)) else None

    @property
    def seen(self) -> tuple[object, ...]:
        """The part of the state that a snapshot shows."""
        return (tuple(self.seats), self.match, self.moves, self.over, self.offers)


class RoomLog:
    """The log of one room as the reader received it, and the faults in it."""

    def __init__(self, room: str, joined: Message) -> None:
        self.room = room
        self.head: int = joined["v"]
        self.game: str = joined["description"]["game"]
        self.options: dict[str, str] = joined["description"]["options"]
        self.events: dict[int, Message] = {}
        self.states: dict[int, State] = {1: State([None, None])}
        self.faults: list[str] = []

    def fold(self) -> None:
        """Computes the states and finds the log's own faults: I3, I9, I11, I12, I16, I18."""
        self.head = max([self.head, *self.events])  # an AI may have moved while the reader read
        referee: Referee | None = None
        finished: set[str] = set()
        if sorted(self.events) != list(range(2, self.head + 1)):
            self._fault("I3", f"v goes {sorted(self.events)}, and the head is {self.head}")
            return
        for v in range(2, self.head + 1):
            before, event = self.states[v - 1], self.events[v]
            now = State(
                list(before.seats),
                before.match,
                before.moves,
                before.over,
                before.players,
                before.offers,
                before.legal,
                before.to_move,
            )
            match event["kind"]:
                case "seat_taken":
                    self._take(v, now, event)
                case "seat_left":
                    if now.match is not None and now.over is None:
                        self._fault("I12", f"a seat was left in the middle of a match at v {v}")
                    now.seats[event["seat"]] = None
                    now.offers = ()
                case "started":
                    referee = self._start(v, now, event)
                case "moved":
                    self._move(v, now, event, referee)
                case "finished":
                    self._finish(v, now, event, referee, finished)
                case "offered":
                    if event["seat"] in now.offers:
                        self._fault("I18", f"a second offer of one seat at v {v}")
                    now.offers = (*now.offers, event["seat"])
                case "declined":
                    now.offers = ()
                case "said":
                    pass
                case kind:
                    self._fault("I3", f"an event of kind {kind} at v {v}")
            running = (
                referee is not None
                and now.match is not None
                and now.over is None
                and not referee.over
            )
            now.legal = tuple(sorted(referee.moves())) if running and referee is not None else ()
            now.to_move = now.player(referee.turn) if running and referee is not None else None
            self.states[v] = now

    def _take(self, v: int, now: State, event: Message) -> None:
        identity = event["occupant"]["identity"]
        if now.seats[event["seat"]] is not None:
            self._fault("I12", f"the taken seat {event['seat']} was taken again at v {v}")
        if event["occupant"].get("kind") != "ai" and identity in now.seats:
            self._fault("I12", f"{identity} took a second seat at v {v}")
        now.seats[event["seat"]] = identity

    def _start(self, v: int, now: State, event: Message) -> Referee:
        if now.match is not None and now.over is None:
            self._fault("I11", f"a match started before the one before was over, at v {v}")
        players = tuple(one["identity"] for one in event["seats"])
        if sorted(map(str, players)) != sorted(map(str, now.seats)):
            self._fault(
                "I12", f"the match at v {v} started with {players}, and {now.seats} were seated"
            )
        if now.match is not None and list(players) != now.seats:
            waiting = {now.seats[seat] for seat in now.offers}
            people = {one for one in now.seats if one != "ai"}
            if len(people) > 1 and not waiting:
                self._fault("I18", f"a rematch started at v {v} that nobody had offered")
        now.match, now.moves, now.over = event["match"], (), None
        now.players, now.offers = players, ()
        now.seats = list(players)
        return referee(self.game, self.options)

    def _move(self, v: int, now: State, event: Message, referee: Referee | None) -> None:
        if now.match != event["match"] or referee is None:
            self._fault("I11", f"a move of another match at v {v}")
            return
        if now.over is not None:
            self._fault("I11", f"a move after the end at v {v}")
        if event["ply"] != len(now.moves):
            self._fault("I16", f"ply {event['ply']} at v {v}, where {len(now.moves)} was due")
        if event["seat"] != referee.turn:
            self._fault(
                "I9", f"seat {event['seat']} moved at v {v}, and it was the turn of {referee.turn}"
            )
        try:
            referee.play(event["move"])
        except IllegalMove as error:
            self._fault("I9", f"v {v}: {error}")
        now.moves = (*now.moves, event["move"])
        now.offers = tuple(seat for seat in now.offers if seat == event["seat"])

    def _finish(
        self, v: int, now: State, event: Message, referee: Referee | None, finished: set[str]
    ) -> None:
        if event["match"] in finished or now.match != event["match"]:
            self._fault("I11", f"a second result at v {v}")
        finished.add(event["match"])
        on_board = referee is not None and referee.over
        if event["how"] == "agreement" and not now.offers:
            self._fault("I18", f"a draw was agreed at v {v} that nobody had offered")
        if event["how"] in DRAWS and event["winner"] is not None:
            self._fault("I9", f"a draw with a winner at v {v}")
        if (event["how"] == "board") != on_board:
            self._fault(
                "I9", f"finished by {event['how']} at v {v}, and the referee says {on_board}"
            )
        elif on_board and referee is not None and referee.winner != event["winner"]:
            self._fault(
                "I9", f"{event['winner']} has won at v {v}, and the referee says {referee.winner}"
            )
        now.over = (event["winner"], event["how"])
        now.offers = ()

    def _fault(self, invariant: str, what: str) -> None:
        self.faults.append(f"{invariant}: {what}, in room {self.room}")


def check(history: History) -> list[str]:
    """Every broken promise, each beginning with its invariant; empty when all were kept."""
    entries = history.entries
    identities = {
        one.client: one.message["identity"] for one in entries if _is(one, "in", "welcome")
    }
    logs, faults = _read_logs(entries)
    faults += [fault for log in logs.values() for fault in log.faults]
    epochs = {one.message["epoch"] for one in entries if one.way == "in" and "epoch" in one.message}
    if len(epochs) > 1:
        faults.append(f"I3: the epoch was {sorted(epochs)}")
    faults += _check_sessions(entries, logs, identities)
    faults += _check_answers(entries)
    faults += _check_commands(entries, logs, identities)
    return faults


def _is(entry: Entry, way: Way, t: str) -> bool:
    return entry.way == way and entry.message.get("t") == t


def _read_logs(entries: list[Entry]) -> tuple[dict[str, RoomLog], list[str]]:
    logs: dict[str, RoomLog] = {}
    for one in entries:
        if one.client != READER or one.way != "in":
            continue
        if one.message["t"] == "joined":
            logs[one.message["room"]] = RoomLog(one.message["room"], one.message)
        elif one.message["t"] == "event":
            logs[one.message["room"]].events.setdefault(one.message["v"], one.message)
    for log in logs.values():
        log.fold()
    rooms = {
        one.message["room"]
        for one in entries
        if one.way == "in" and one.message.get("t") == "event"
    }
    return logs, [f"I5: room {room} is gone" for room in sorted(rooms - logs.keys())]


# --- what each connection saw


@dataclass(slots=True)
class Following:
    """A room as one connection follows it."""

    v: int | None = None
    since: int = 0


def _check_sessions(
    entries: list[Entry], logs: dict[str, RoomLog], identities: dict[str, str]
) -> Iterator[str]:
    """Checks I4, I5, I6, I8, I14 and the offered moves of I9."""
    following: dict[tuple[int, str], Following] = defaultdict(Following)
    leaks: dict[tuple[int, str], list[tuple[int, float, str]]] = defaultdict(list)
    joins: dict[tuple[int, str], Message] = {}
    for one in entries:
        message = one.message
        if one.way == "out" and message.get("t") in ("join", "leave"):
            joins[one.session, message["id"]] = message
        if one.way != "in":
            continue
        here = f"{one.client} on connection {one.session}"
        join = joins.get((one.session, message["id"])) if message["t"] == "ack" else None
        if join is not None:
            follow = following[one.session, join["room"]]
            follow.since, follow.v = join.get("since", 0), None
        if message["t"] not in ("joined", "snapshot", "event", "turn"):
            continue
        room = message["room"]
        follow, log, identity = following[one.session, room], logs.get(room), identities[one.client]
        if log is None:
            continue
        match message["t"]:
            case "joined":
                follow.v = follow.since
                if message["v"] < follow.since <= log.head:
                    yield (
                        f"I6: {here} had seen v {follow.since} of room {room}, "
                        f"and its head was v {message['v']}"
                    )
            case "snapshot":
                follow.v = message["v"]
                yield from (f"{fault}, {here}" for fault in _check_snapshot(message, log, identity))
            case "event":
                if follow.v is not None and message["v"] != follow.v + 1:
                    yield f"I4: {here} saw v {message['v']} of room {room} after v {follow.v}"
                follow.v = message["v"]
                yield from (f"{fault}, {here}" for fault in _check_event(message, log))
                # A player who has left the seat may see earlier messages for spectators, and the
                # news of leaving may still be on its way.
                waiting = leaks.pop((one.session, room), [])
                yield from (
                    leak
                    for until, at_s, leak in waiting
                    if until <= follow.v and one.at_s - at_s > TOGETHER_S
                )
                leaks[one.session, room] = [leak for leak in waiting if leak[0] > follow.v]
                if _is_hidden_line_to_player(message, log, identity):
                    left = next(
                        (
                            v
                            for v in range(follow.v, log.head + 1)
                            if identity not in log.states[v].seats
                        ),
                        2**53,
                    )
                    leak = f"I14: v {follow.v} of room {room} was shown to a player, {here}"
                    leaks[one.session, room].append((left, one.at_s, leak))
            case "turn":
                state = log.states.get(message["v"])
                if state is None or state.to_move != identity or state.match != message["match"]:
                    yield (
                        f"I13: {here} was offered moves at v {message['v']} of room {room} "
                        "that are not theirs"
                    )
                elif tuple(sorted(move["id"] for move in message["moves"])) != state.legal:
                    yield (
                        f"I9: {here} was offered other moves than the legal ones "
                        f"at v {message['v']} of room {room}"
                    )
    yield from (leak for waiting in leaks.values() for _, _, leak in waiting)


def _is_hidden_line_to_player(message: Message, log: RoomLog, identity: str) -> bool:
    v = message["v"]
    return message.get("to") == "spectators" and v in log.states and identity in log.states[v].seats


def _check_event(message: Message, log: RoomLog) -> Iterator[str]:
    v = message["v"]
    committed = log.events.get(v)
    if v == 1:
        return
    if committed is None:
        yield f"I5: v {v} of room {log.room} was shown and is not in the log"
        return
    spectators_only = committed["kind"] == "said" and committed.get("to") == "spectators"
    if message["kind"] == "hidden":
        if not spectators_only:
            yield f"I4: v {v} of room {log.room} was hidden, which is {committed['kind']}"
    elif message != committed:
        yield f"I5: v {v} of room {log.room} was shown as {message} and is {committed}"


def _check_snapshot(message: Message, log: RoomLog, identity: str) -> Iterator[str]:
    state = log.states.get(message["v"])
    if state is None:
        yield f"I5: a snapshot of room {log.room} at v {message['v']}, which is not in the log"
        return
    match = message["match"]
    over = match.get("over") if match else None
    seen = (
        tuple(one["identity"] if one else None for one in message["seats"]),
        match["id"] if match else None,
        tuple(one["move"] for one in match["moves"]) if match else (),
        (over["winner"], over["how"]) if over else None,
        tuple(message.get("offers", ())),
    )
    if seen != state.seen:
        yield (
            f"I8: the snapshot of room {log.room} at v {message['v']} says {seen} "
            f"and the log {state.seen}"
        )
    for line in message.get("chat", ()):
        said = log.events.get(line["v"])
        if said is None or (said.get("text"), said.get("to", "room")) != (
            line["text"],
            line.get("to", "room"),
        ):
            yield (
                f"I8: the snapshot of room {log.room} has a line at v {line['v']} that nobody said"
            )
        elif line.get("to") == "spectators" and identity in state.seats:
            yield (
                f"I14: a snapshot of room {log.room} for a player "
                f"has what spectators said at v {line['v']}"
            )


# --- the outcome of each command


def _check_answers(entries: list[Entry]) -> Iterator[str]:
    """Checks I19: every command has an answer in time, unless the connection closed."""
    sent: dict[tuple[int, str], list[float]] = defaultdict(list)
    answered: Counter[tuple[int, str]] = Counter()
    closed = {one.session: one.at_s for one in entries if one.way == "close"}
    end_s = entries[-1].at_s if entries else 0.0
    for one in entries:
        key = (one.session, str(one.message.get("id")))
        if one.way == "out" and one.message["t"] not in ("hello", "ping"):
            sent[key].append(one.at_s)
        elif (
            one.way == "in"
            and one.message["t"] in ("ack", "error")
            and one.message["id"] is not None
        ):
            if answered[key] >= len(sent[key]):
                yield f"I19: {one.client} got an answer to {key[1]} that was not due"
                continue
            waited_s = one.at_s - sent[key][answered[key]]
            answered[key] += 1
            if waited_s > ANSWER_S:
                yield f"I19: {one.client} waited {waited_s:.1f} s for the answer to {key[1]}"
    for key, times in sent.items():
        until_s = closed.get(key[0], end_s)
        if answered[key] < len(times) and until_s - times[answered[key]] > ANSWER_S:
            yield f"I19: {key[1]} got no answer on connection {key[0]}"
        elif answered[key] < len(times) and key[0] not in closed:
            yield f"I19: {key[1]} had no answer at the end, on connection {key[0]}"


@dataclass
class Command:
    """A command with all its answers, over all connections of its author."""

    identity: str
    message: Message
    sends: int = 0
    acks: list[Message] = field(default_factory=list)
    errors: list[Message] = field(default_factory=list)
    refused_after_ack: bool = False

    @property
    def certainly_refused(self) -> bool:
        """Whether the server definitely refused it every time it was sent."""
        certain = [error for error in self.errors if error["code"] not in UNKNOWN]
        return not self.acks and len(certain) == self.sends


def _commands(entries: Iterable[Entry], identities: dict[str, str]) -> list[Command]:
    """All commands by author, room and id."""
    commands: dict[tuple[str, str, str], Command] = {}
    where: dict[tuple[int, str], list[Command]] = defaultdict(list)
    for one in entries:
        message = one.message
        if one.way == "out" and message["t"] not in NOT_LOGGED:
            key = (one.client, message.get("room", ""), message["id"])
            command = commands.setdefault(key, Command(identities[one.client], message))
            command.sends += 1
            where[one.session, message["id"]].append(command)
        elif (
            one.way == "in"
            and message["t"] in ("ack", "error")
            and where.get((one.session, str(message["id"])))
        ):
            command = where[one.session, message["id"]].pop(0)
            if message["t"] == "ack":
                command.acks.append(message)
            else:
                command.errors.append(message)
                command.refused_after_ack |= bool(command.acks) and message["code"] not in UNKNOWN
    return list(commands.values())


def _check_commands(
    entries: list[Entry], logs: dict[str, RoomLog], identities: dict[str, str]
) -> Iterator[str]:
    """Checks I1, I2 and I13.

    An acknowledged command is in the log once, a refused one is not, and every move has its author.
    """
    commands = _commands(entries, identities)
    moves: dict[tuple[str, str, int, str], list[Command]] = defaultdict(list)
    for command in commands:
        message = command.message
        what = f"{message['t']} {message['id']} of {command.identity}"
        if len({(ack["v"], ack.get("room")) for ack in command.acks}) > 1:
            yield f"I1: {what} was acknowledged as {command.acks}"
        if command.refused_after_ack:
            yield f"I1: {what} was acknowledged and later refused: {command.errors}"
        log = logs.get(message.get("room", ""))
        if log is None:
            continue
        if message["t"] == "move":
            moves[log.room, command.identity, message["ply"], message["move"]].append(command)
        if command.acks:
            yield from _check_effect(command, log, command.acks[0]["v"], what)
        if message["t"] == "chat":
            times = sum(
                event["kind"] == "said"
                and event["identity"] == command.identity
                and event["text"] == message["text"]
                for event in log.events.values()
            )
            if times > 1:
                yield f"I1: {what} is in the log {times} times"
            if times and command.certainly_refused:
                yield f"I2: {what} was refused and is in the log"
    for log in logs.values():
        for v, event in log.events.items():
            if event["kind"] == "moved" and v in log.states:
                actor = log.states[v].player(event["seat"])
                sent = moves[log.room, str(actor), event["ply"], event["move"]]
                if (
                    actor != "ai"
                    and not event.get("forced")
                    and all(command.certainly_refused for command in sent)
                ):
                    yield (
                        f"I13: nobody sent the move at v {v} of room {log.room}, or it was refused"
                    )


#: The kinds of the last event of each command.
KINDS = {
    "move": {"moved", "finished"},
    "chat": {"said"},
    "sit": {"seat_taken", "started"},
    "stand": {"seat_left"},
    "add_ai": {"seat_taken", "started"},
    "remove_ai": {"seat_left"},
    "resign": {"finished"},
    "abort": {"finished"},
    "rematch": {"offered", "started"},
    "decline": {"declined"},
    "accept": {"finished", "started"},
    "offer_draw": {"offered", "finished"},
    "claim": {"finished"},
}


def _check_effect(command: Command, log: RoomLog, v: int | None, what: str) -> Iterator[str]:
    """Checks I1: the event at v is the effect of the command, by its author."""
    message = command.message
    event = log.events.get(v) if v is not None else None
    if v is None or event is None:
        yield f"I1: {what} was acknowledged as v {v}, which is not in the log"
        return
    if event["kind"] not in KINDS[message["t"]]:
        yield f"I1: {what} was acknowledged as v {v}, which is {event['kind']}"
    elif message["t"] == "move":
        moved = event if event["kind"] == "moved" else log.events.get(v - 1, event)
        if (moved.get("ply"), moved.get("move")) != (message["ply"], message["move"]):
            yield f"I1: {what} was acknowledged as v {v}, which is {moved}"
        elif v in log.states and log.states[v].player(moved["seat"]) != command.identity:
            yield f"I13: {what} moved for {log.states[v].player(moved['seat'])}"
    elif message["t"] == "chat" and (event["identity"], event["text"]) != (
        command.identity,
        message["text"],
    ):
        yield f"I1: {what} was acknowledged as v {v}, which is {event}"
