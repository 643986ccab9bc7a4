"""The checker of histories: the messages of clients must satisfy the invariants.

The checker uses none of the server's code. It checks these invariants:

- I1: an acknowledged command is in the log exactly once, at the v of its ack.
- I2: a refused command is never in the log.
- I3: v counts 1, 2, 3, … and the epoch does not change.
- I4: each connection receives a contiguous part of the log, with the same events as all others.
- I5: no client sees an event that was not committed.
- I6: a client that changes nodes never sees a lower head than before.
- I8: a snapshot equals the log up to its v.
- I9: every move is legal by an independent referee, and so are the offered moves.
- I11: a result is final.
- I12: a seat has one identity, changed only by an event, and an identity one seat, unless `created`
  says that one player holds both.
- I13: only the player to move can move.
- I14: a chat line for spectators reaches no player.
- I16: each ply has exactly one move, which a takeback may replace by another.
- I18: no rematch starts, no draw is agreed and no opponent's move is taken back without an offer;
  a seat offers once, and a takeback returns to the last move of the seat that wanted it. A match of
  another game starts as it was proposed last.
- I19: each command has exactly one answer within 10 s, or the connection closes.
- I23: each time of a clock follows from those before it (tests/oracle/clocks.py).
- I24: no flag falls before its deadline, and no move counts after it.
- I31: the room's bot answers a line at most once, an earlier line of a person.
- I33: no player loses by a claim who has had a connection to the room in the last 20 s.
- I34: no claim against a player who has gone is granted on the claimant's own move.
- I35: none is granted before both sides have moved.

Some tests name further invariants, which this checker does not check:

- I7: every client catches up with the log in time.
- I15: an unlisted room or match is in no list.
- I20: memory, queues and the number of messages have limits.
- I32: the analysis of a match is a function of its moves, the number of nodes and the engine; two
  runs are equal (tests/oracle/analyses.py checks it).

The client READER provides the committed logs: at the end of the test it joins every room and
receives its whole log.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from tests.oracle.committed import AI_TOOK_OVER, GONE, RoomLog
from tests.oracle.committed import Message as Message

#: The client whose events count as the final logs.
READER = "reader"
#: Time limit for an answer, in seconds. The server promises 10 s; the rest is for a busy machine.
ANSWER_TIMEOUT_S = 60.0
#: Time after a player's last connection before which nobody may claim the match, in seconds. The
#: rest of the 20 s that the server promises is for a busy machine.
MIN_GONE_S = 15.0
#: Messages that arrive within this time of each other count as sent together, in seconds.
SENT_TOGETHER_S = 0.1

#: What a record is about: the connection opened or closed, or a message was sent or received.
Direction = Literal["open", "close", "out", "in"]

#: Error codes after which the command may still be in the log, or may be sent again.
UNCERTAIN_CODES = {"store.retry", "server.fault", "room.busy"}

#: Types of client messages that add nothing to the log.
NOT_LOGGED = {"join", "leave", "hello", "ping", "watch_lobby", "hint"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One record of a client: a connection opened or closed, or a message sent or received."""

    at_s: float
    client: str
    session: int
    direction: Direction
    message: Message = field(default_factory=dict)


@dataclass
class History:
    """The records of all clients, in order of time."""

    entries: list[Entry] = field(default_factory=list)

    def add(
        self,
        at_s: float,
        client: str,
        session: int,
        direction: Direction,
        message: Message | None = None,
    ) -> None:
        """Appends one record."""
        self.entries.append(Entry(at_s, client, session, direction, message or {}))


def check(history: History) -> list[str]:
    """Returns every violation, each beginning with its invariant; empty for a correct history."""
    entries = history.entries
    identities = {
        entry.client: entry.message["identity"]
        for entry in entries
        if _is_message(entry, "in", "welcome")
    }
    logs, faults = _read_logs(entries)
    faults += [fault for log in logs.values() for fault in log.faults]
    epochs = {
        entry.message["epoch"]
        for entry in entries
        if entry.direction == "in" and "epoch" in entry.message
    }
    if len(epochs) > 1:
        faults.append(f"I3: the epoch was {sorted(epochs)}")
    faults += _check_sessions(entries, logs, identities)
    faults += _check_answers(entries)
    faults += _check_commands(entries, logs, identities)
    faults += _check_claims(entries, logs, identities)
    faults += _check_bot(logs)
    return faults


def _is_message(entry: Entry, direction: Direction, message_type: str) -> bool:
    return entry.direction == direction and entry.message.get("t") == message_type


def _read_logs(entries: list[Entry]) -> tuple[dict[str, RoomLog], list[str]]:
    """Returns the rooms' folded logs from READER's messages, and a fault for each missing room."""
    logs: dict[str, RoomLog] = {}
    first_games = _first_games(entries)
    for entry in entries:
        if entry.client != READER or entry.direction != "in":
            continue
        if entry.message["t"] == "joined":
            room = entry.message["room"]
            logs.setdefault(room, RoomLog(room, entry.message))
        elif entry.message["t"] == "event":
            logs[entry.message["room"]].events.setdefault(entry.message["v"], entry.message)
    for log in logs.values():
        log.fold(first_games.get(log.room))
    rooms = {
        entry.message["room"]
        for entry in entries
        if entry.direction == "in" and entry.message.get("t") == "event"
    }
    return logs, [f"I5: room {room} is missing" for room in sorted(rooms - logs.keys())]


def _first_games(entries: list[Entry]) -> dict[str, tuple[str, dict[str, str]]]:
    """Returns the game and the options of the rooms that a client joined before their first match
    of another game, by room.
    """
    first: dict[str, tuple[str, dict[str, str]]] = {}
    for entry in entries:
        if _is_message(entry, "in", "joined"):
            described = entry.message["description"]
            first.setdefault(entry.message["room"], (described["game"], described["options"]))
    return first


# --- the messages of each connection


@dataclass(slots=True)
class FollowedRoom:
    """What one connection has seen of a room: the last v, and the `since` of its join."""

    v: int | None = None
    since: int = 0


def _check_sessions(
    entries: list[Entry], logs: dict[str, RoomLog], identities: dict[str, str]
) -> Iterator[str]:
    """Checks I4, I5, I6, I8, I14 and the offered moves of I9."""
    followed: dict[tuple[int, str], FollowedRoom] = defaultdict(FollowedRoom)
    leaks: dict[tuple[int, str], list[tuple[int, float, str]]] = defaultdict(list)
    joins: dict[tuple[int, str], Message] = {}
    for entry in entries:
        message = entry.message
        if entry.direction == "out" and message.get("t") in ("join", "leave"):
            joins[entry.session, message["id"]] = message
        if entry.direction != "in":
            continue
        client = f"{entry.client} on connection {entry.session}"
        join = joins.get((entry.session, message["id"])) if message["t"] == "ack" else None
        if join is not None:
            follow = followed[entry.session, join["room"]]
            follow.since, follow.v = join.get("since", 0), None
        if message["t"] not in ("joined", "snapshot", "event", "turn"):
            continue
        room = message["room"]
        follow, log, identity = (
            followed[entry.session, room],
            logs.get(room),
            identities[entry.client],
        )
        if log is None:
            continue
        match message["t"]:
            case "joined":
                if follow.v is None:  # it is repeated when the game changes, or `frozen`
                    follow.v = follow.since
                if message["v"] < follow.since <= log.head:
                    yield (
                        f"I6: {client} had seen v {follow.since} of room {room}, "
                        f"and its head was v {message['v']}"
                    )
            case "snapshot":
                follow.v = message["v"]
                yield from (
                    f"{fault}, {client}" for fault in _check_snapshot(message, log, identity)
                )
            case "event":
                if follow.v is not None and message["v"] != follow.v + 1:
                    yield f"I4: {client} saw v {message['v']} of room {room} after v {follow.v}"
                follow.v = message["v"]
                yield from (f"{fault}, {client}" for fault in _check_event(message, log))
                # A player who has left the seat may see earlier lines for spectators, and the
                # event of leaving may still be in transit.
                pending = leaks.pop((entry.session, room), [])
                yield from (
                    leak
                    for left_v, at_s, leak in pending
                    if left_v <= follow.v and entry.at_s - at_s > SENT_TOGETHER_S
                )
                leaks[entry.session, room] = [leak for leak in pending if leak[0] > follow.v]
                if _is_hidden_line_to_player(message, log, identity):
                    left_v = next(
                        (
                            v
                            for v in range(follow.v, log.head + 1)
                            if not log.states[v].is_player(identity)
                        ),
                        2**53,
                    )
                    leak = f"I14: v {follow.v} of room {room} was shown to a player, {client}"
                    leaks[entry.session, room].append((left_v, entry.at_s, leak))
            case "turn":
                state = log.states.get(message["v"])
                if state is None or state.to_move != identity or state.match != message["match"]:
                    yield (
                        f"I13: {client} was offered moves at v {message['v']} of room {room} "
                        "on another player's turn"
                    )
                elif tuple(sorted(move["id"] for move in message["moves"])) != state.legal:
                    yield (
                        f"I9: {client} was offered moves that are not the legal ones "
                        f"at v {message['v']} of room {room}"
                    )
    yield from (leak for pending in leaks.values() for _, _, leak in pending)


def _is_hidden_line_to_player(message: Message, log: RoomLog, identity: str) -> bool:
    """Returns whether this is a chat line for spectators that was sent to a player."""
    v = message["v"]
    is_line = message.get("to") == "spectators" and v in log.states
    return is_line and log.states[v].is_player(identity)


def _check_event(message: Message, log: RoomLog) -> Iterator[str]:
    """Checks I4 and I5: the event is that of the log, or is rightly hidden."""
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
            yield f"I4: v {v} of room {log.room} was hidden, but it is {committed['kind']}"
    elif message != committed:
        yield f"I5: v {v} of room {log.room} was shown as {message} and is {committed}"


def _check_snapshot(message: Message, log: RoomLog, identity: str) -> Iterator[str]:
    """Checks I5, I8 and I14: the snapshot equals the log up to its v."""
    state = log.states.get(message["v"])
    if state is None:
        yield f"I5: a snapshot of room {log.room} at v {message['v']}, which is not in the log"
        return
    match = message["match"]
    over = match.get("over") if match else None
    shown = (
        tuple(occupant["identity"] if occupant else None for occupant in message["seats"]),
        match["id"] if match else None,
        tuple(move["move"] for move in match["moves"]) if match else (),
        (over["winner"], over["how"]) if over else None,
        tuple(message.get("offers", ())),
        tuple(
            (offer["seat"], offer["to_ply"])
            for offer in message.get("proposals", ())
            if offer["what"] == "takeback"
        ),
        next((each["v"] for each in message.get("proposals", ()) if each["what"] == "next"), None),
    )
    if shown != state.snapshot:
        yield (
            f"I8: the snapshot of room {log.room} at v {message['v']} says {shown} "
            f"and the log {state.snapshot}"
        )
    for line in message.get("chat", ()):
        said = log.events.get(line["v"])
        if said is None or (said.get("text"), said.get("to", "room")) != (
            line["text"],
            line.get("to", "room"),
        ):
            yield (
                f"I8: the snapshot of room {log.room} has a chat line at v {line['v']} "
                "that is not in the log"
            )
        elif line.get("to") == "spectators" and state.is_player(identity):
            yield (
                f"I14: a snapshot of room {log.room} for a player "
                f"has the spectators' line of v {line['v']}"
            )


def _check_bot(logs: dict[str, RoomLog]) -> Iterator[str]:
    """Checks I31: each line of the bot answers a line of a person, and no line has two answers."""
    for log in logs.values():
        answered: Counter[int] = Counter()
        for v, event in sorted(log.events.items()):
            if event["kind"] != "said" or event.get("by") != "bot":
                continue
            question = log.events.get(event.get("answers", 0), {})
            answered[event.get("answers", 0)] += 1
            if question.get("kind") != "said" or question.get("by") or question["v"] >= v:
                yield f"I31: v {v} of room {log.room} answers no line of a person"
        for question_v, times in answered.items():
            if times > 1:
                yield f"I31: v {question_v} of room {log.room} is answered {times} times"


# --- the outcome of each command


def _check_answers(entries: list[Entry]) -> Iterator[str]:
    """Checks I19: every command gets its answer in time, unless the connection closed."""
    sent: dict[tuple[int, str], list[float]] = defaultdict(list)
    answered: Counter[tuple[int, str]] = Counter()
    closed = {entry.session: entry.at_s for entry in entries if entry.direction == "close"}
    end_s = entries[-1].at_s if entries else 0.0
    for entry in entries:
        key = (entry.session, str(entry.message.get("id")))
        if entry.direction == "out" and entry.message["t"] not in ("hello", "ping"):
            sent[key].append(entry.at_s)
        elif (
            entry.direction == "in"
            and entry.message["t"] in ("ack", "error")
            and entry.message["id"] is not None
        ):
            if answered[key] >= len(sent[key]):
                yield f"I19: {entry.client} got an answer to {key[1]} that it did not expect"
                continue
            waited_s = entry.at_s - sent[key][answered[key]]
            answered[key] += 1
            if waited_s > ANSWER_TIMEOUT_S:
                yield f"I19: {entry.client} waited {waited_s:.1f} s for the answer to {key[1]}"
    for key, times in sent.items():
        until_s = closed.get(key[0], end_s)
        if answered[key] < len(times) and until_s - times[answered[key]] > ANSWER_TIMEOUT_S:
            yield f"I19: {key[1]} got no answer on connection {key[0]}"
        elif answered[key] < len(times) and key[0] not in closed:
            yield f"I19: {key[1]} had no answer at the end, on connection {key[0]}"


@dataclass
class Command:
    """A command with all its answers, over all connections of its sender."""

    identity: str
    message: Message
    sends: int = 0
    acks: list[Message] = field(default_factory=list)
    errors: list[Message] = field(default_factory=list)
    refused_after_ack: bool = False

    @property
    def certainly_refused(self) -> bool:
        """Whether the server refused it for certain each time that it was sent."""
        certain = [error for error in self.errors if error["code"] not in UNCERTAIN_CODES]
        return not self.acks and len(certain) == self.sends


def _collect_commands(entries: Iterable[Entry], identities: dict[str, str]) -> list[Command]:
    """Returns all commands, one for each sender, room and id."""
    commands: dict[tuple[str, str, str], Command] = {}
    unanswered: dict[tuple[int, str], list[Command]] = defaultdict(list)
    for entry in entries:
        message = entry.message
        if entry.direction == "out" and message["t"] not in NOT_LOGGED:
            key = (entry.client, message.get("room", ""), message["id"])
            command = commands.setdefault(key, Command(identities[entry.client], message))
            command.sends += 1
            unanswered[entry.session, message["id"]].append(command)
        elif (
            entry.direction == "in"
            and message["t"] in ("ack", "error")
            and unanswered.get((entry.session, str(message["id"])))
        ):
            command = unanswered[entry.session, message["id"]].pop(0)
            if message["t"] == "ack":
                command.acks.append(message)
            else:
                command.errors.append(message)
                command.refused_after_ack |= (
                    bool(command.acks) and message["code"] not in UNCERTAIN_CODES
                )
    return list(commands.values())


def _check_commands(
    entries: list[Entry], logs: dict[str, RoomLog], identities: dict[str, str]
) -> Iterator[str]:
    """Checks I1, I2 and I13.

    An acknowledged command is in the log once, a refused one is not, and every move was sent by its
    player.
    """
    commands = _collect_commands(entries, identities)
    moves: dict[tuple[str, str, int, str], list[Command]] = defaultdict(list)
    for command in commands:
        message = command.message
        name = f"{message['t']} {message['id']} of {command.identity}"
        if len({(ack["v"], ack.get("room")) for ack in command.acks}) > 1:
            yield f"I1: {name} was acknowledged as {command.acks}"
        if command.refused_after_ack:
            yield f"I1: {name} was acknowledged and later refused: {command.errors}"
        log = logs.get(message.get("room", ""))
        if log is None:
            continue
        if message["t"] == "move":
            moves[log.room, command.identity, message["ply"], message["move"]].append(command)
        if command.acks:
            yield from _check_effect(command, log, command.acks[0]["v"], name)
        if message["t"] == "chat":
            times = sum(
                event["kind"] == "said"
                and event["identity"] == command.identity
                and event["text"] == message["text"]
                for event in log.events.values()
            )
            if times > 1:
                yield f"I1: {name} is in the log {times} times"
            if times and command.certainly_refused:
                yield f"I2: {name} was refused and is in the log"
    for log in logs.values():
        for v, event in log.events.items():
            if event["kind"] == "moved" and v in log.states:
                actor = log.states[v].player_at(event["seat"])
                sent = moves[log.room, str(actor), event["ply"], event["move"]]
                if (
                    actor != "ai"
                    and not event.get("forced")
                    and all(command.certainly_refused for command in sent)
                ):
                    yield (
                        f"I13: no player sent the move at v {v} of room {log.room}, "
                        "or it was refused"
                    )


#: The possible kinds of a command's last event, by the command's type.
LAST_EVENT_KINDS = {
    "move": {"moved", "finished"},
    "chat": {"said"},
    "sit": {"seat_taken", "started"},
    "stand": {"seat_left"},
    "add_ai": {"seat_taken", "started"},
    "remove_ai": {"seat_left"},
    "resign": {"finished"},
    "abort": {"finished"},
    "rematch": {"offered", "started"},
    "next_game": {"offered", "started", "required"},
    "configure": {"configured", "required"},
    "add_time": {"time_added"},
    "decline": {"declined"},
    "accept": {"finished", "started", "took_back"},
    "takeback": {"took_back", "offered"},
    "offer_draw": {"offered", "finished"},
    "claim": {"finished"},
    "claim_win": {"finished"},
    "call_draw": {"finished"},
    "let_ai_play": {"ai_took_over"},
    "reclaim_seat": {"player_returned"},
    "mute": {"muted"},
    "unmute": {"unmuted"},
    "bar": {"barred"},
}
#: The claims against an opponent who has gone.
CLAIMS = ("claim_win", "call_draw", "let_ai_play")


def _check_claims(
    entries: list[Entry], logs: dict[str, RoomLog], identities: dict[str, str]
) -> Iterator[str]:
    """Checks I33 to I35 of each accepted claim.

    The opponent had no connection for MIN_GONE_S and was to move, and both sides had moved. A
    connection counts from its first `joined` of the room until it closed or the client sent
    `leave`.
    """
    connected_until_s = _connection_ends(entries, identities)
    for log in logs.values():
        for v, event in log.events.items():
            if event["kind"] != AI_TOOK_OVER and event.get("how") != GONE:
                continue
            before = log.states.get(v - 1)
            if before is None:  # the log has gaps, which is a fault of I3
                continue
            claims = [
                entry
                for entry in entries
                if entry.direction == "out"
                and entry.message.get("t") in CLAIMS
                and entry.message.get("room") == log.room
                and _is_acked(entries, entry.message["id"], v)
            ]
            sent_s = [entry.at_s for entry in claims]
            claimants = {identities[entry.client] for entry in claims}
            if (winner := _winner_of_claim(event)) is not None:
                claimants.add(str(before.player_at(winner)))
            if before.to_move in claimants:
                yield f"I34: {before.to_move} was to move and claimed room {log.room} at v {v}"
            if len({*before.movers} - {None}) < 2:
                yield f"I35: room {log.room} was claimed at v {v}, before both sides had moved"
            for player in before.players:
                spans = connected_until_s.get((player, log.room), [])
                if (
                    sent_s
                    and player not in claimants
                    and any(
                        since_s <= max(sent_s) and until_s > min(sent_s) - MIN_GONE_S
                        for since_s, until_s in spans
                    )
                ):
                    yield f"I33: {player} lost room {log.room} at v {v} by a claim, but was there"


def _winner_of_claim(event: Message) -> int | None:
    """Returns the seat that claimed, by the event of the claim; None for a draw that was called."""
    if event["kind"] == AI_TOOK_OVER:
        return 1 - int(event["seat"])
    winner: int | None = event["winner"]
    return winner


def _connection_ends(
    entries: list[Entry], identities: dict[str, str]
) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """Returns the times during which each identity had a connection to each room."""
    joined_s: dict[tuple[int, str], float] = {}
    spans: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)

    def end(session: int, client: str, at_s: float, only: str | None = None) -> None:
        for key in [key for key in joined_s if key[0] == session and only in (None, key[1])]:
            spans[identities.get(client, ""), key[1]].append((joined_s.pop(key), at_s))

    for entry in entries:
        if _is_message(entry, "in", "joined"):
            joined_s.setdefault((entry.session, entry.message["room"]), entry.at_s)
        elif _is_message(entry, "out", "leave"):
            end(entry.session, entry.client, entry.at_s, entry.message["room"])
        elif entry.direction == "close":
            end(entry.session, entry.client, entry.at_s)
    end_s = entries[-1].at_s if entries else 0.0
    clients = {entry.session: entry.client for entry in entries}
    for session in {session for session, _ in joined_s}:
        end(session, clients[session], end_s)
    return spans


def _is_acked(entries: list[Entry], command_id: str, v: int) -> bool:
    """Returns whether a command was acknowledged with the version `v`."""
    return any(
        _is_message(entry, "in", "ack")
        and entry.message["id"] == command_id
        and entry.message["v"] == v
        for entry in entries
    )


def _check_effect(command: Command, log: RoomLog, v: int | None, name: str) -> Iterator[str]:
    """Checks I1 and I13: the event at v is the command's effect, made by its sender."""
    message = command.message
    event = log.events.get(v) if v is not None else None
    if v is None or event is None:
        yield f"I1: {name} was acknowledged as v {v}, which is not in the log"
        return
    if event["kind"] not in LAST_EVENT_KINDS[message["t"]]:
        yield f"I1: {name} was acknowledged as v {v}, which is {event['kind']}"
    elif message["t"] == "move":
        moved = event if event["kind"] == "moved" else log.events.get(v - 1, event)
        if (moved.get("ply"), moved.get("move")) != (message["ply"], message["move"]):
            yield f"I1: {name} was acknowledged as v {v}, which is {moved}"
        elif v in log.states and log.states[v].player_at(moved["seat"]) != command.identity:
            yield f"I13: {name} moved for {log.states[v].player_at(moved['seat'])}"
    elif event["kind"] == "took_back" and v in log.states:
        # On one screen, one player may take back the moves of both seats.
        seat = event["seat"] if message["t"] == "takeback" else 1 - event["seat"]
        if log.states[v].player_at(seat) != command.identity:
            yield f"I18: {name} took back a move at v {v} without the other player"
    elif message["t"] == "chat" and (event["identity"], event["text"]) != (
        command.identity,
        message["text"],
    ):
        yield f"I1: {name} was acknowledged as v {v}, which is {event}"
