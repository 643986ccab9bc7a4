"""server/rooms/permissions.py: a room lists to each viewer exactly the commands that it accepts."""

from collections.abc import Callable, Iterable, Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from engine.game import Game, GameFault, OptionError
from engine.rules.registry import load_game
from server.commands import (
    Abort,
    Accept,
    AddAi,
    AddTime,
    AiFailure,
    AiMove,
    AiReply,
    Bar,
    BotLine,
    CallDraw,
    Chat,
    Claim,
    ClaimWin,
    Command,
    Configure,
    Decline,
    Hint,
    Hold,
    LetAiPlay,
    Move,
    Mute,
    NextGame,
    OfferDraw,
    ReclaimSeat,
    Rematch,
    RemoveAi,
    Rename,
    Resign,
    Sit,
    Stand,
    Takeback,
    Tick,
    Unmute,
)
from server.events import Moved, RoomEvent, Unknown
from server.ids import IdentityId
from server.protocol import messages as wire
from server.protocol import views
from server.protocol.views import format_permissions
from server.rooms import rules
from server.rooms.model import (
    AI,
    MAX_EVENTS,
    SERVER,
    Absence,
    Actor,
    CommandRejected,
    Moment,
    Room,
)
from server.rooms.permissions import leaves_permissions_unchanged, permitted
from server.settings import Settings
from tests.support.room_log import (
    ADA,
    AI_SEAT,
    BEN,
    CYD,
    ME,
    OPEN,
    LoggedRoom,
    add_ai,
    altered_game,
    attempt,
    chat,
    created,
    failing_rule,
    finished,
    plain,
    remove_ai,
    seated,
    sit,
)

PEOPLE = (ADA, BEN, CYD)
#: Limits on chat that random runs reach.
LIMITED = Settings(limit_chat=2, limit_chat_room=3, limit_chat_repeats=0)

#: A player who has gone long ago.
GONE = Absence(0, 0)
#: The commands of a player whose opponent has gone.
OF_CLAIMANTS = (ClaimWin, CallDraw, LetAiPlay)

#: A step of a random run: the actor, the type of command, the choice among the commands of that
#: type, and the ms that pass before it.
Step = tuple[Actor, type[Command], int, int]
#: The types of commands in random runs; a type that is listed n times comes n times as often.
KINDS: list[type[Command]] = [
    *[Move] * 4, *[Chat] * 3, Sit, AddAi, RemoveAi,
    Stand, Resign, Abort, Claim, OfferDraw,
    Accept, Rematch, NextGame, NextGame, Decline, ClaimWin, CallDraw,
    LetAiPlay, LetAiPlay, ReclaimSeat, Takeback,
    Configure, Mute, Unmute, Bar, AddTime,
]  # fmt: skip
steps = st.lists(
    st.tuples(
        st.sampled_from(PEOPLE), st.sampled_from(KINDS), st.integers(0, 9),
        st.sampled_from([1, 40, 4_000]),
    ),
    min_size=12, max_size=40,
)  # fmt: skip
#: The first moves of a long match of connect four.
MOVES: list[Step] = [(ADA, Move, ply % 7, 1) for ply in range(16)]
#: The rooms in which random runs begin.
OPENINGS: dict[str, Callable[[], LoggedRoom]] = {
    "two people": seated,
    "a long match": lambda: seated(game="connect-four"),
    "an open seat": created,
    "against an AI": lambda: created(seats=(ME, AI_SEAT)),
    "between AI seats": lambda: created(seats=(AI_SEAT, AI_SEAT)),
    "nobody": lambda: created(seats=(OPEN, OPEN)),
    "extra turns": lambda: seated(game="kalah"),
    "one screen": lambda: created(one_screen=True),
    "bare king": lambda: seated(game="chess", start="4k3/8/8/8/8/8/7r/4K3 b - - 0 1"),
    "with help": lambda: seated(help=True),
    "a next game": lambda: proposed("connect-four"),
    "a clock": lambda: seated(clock="60+1"),
    "a clock against an AI": lambda: created(seats=(ME, AI_SEAT), clock="60+1"),
    "without takebacks": lambda: seated(takeback=False),
}


def proposed(game: str) -> LoggedRoom:
    """Returns a room in which Ben has proposed the next game, after a match."""
    played = finished()
    played.do(BEN, NextGame("n", game))
    return played


openings = st.sampled_from(["two people", "two people", *OPENINGS])


def no_such_option(_options: object) -> None:
    raise ValueError("the game no longer has these options")


def find_no_game(_game_id: str) -> Game:
    raise OptionError("gone")


#: How the game may have changed when a server starts again.
CHANGED_GAMES: dict[str, Callable[[str], Game]] = {
    "unchanged": load_game,
    "claims": lambda game_id: altered_game(game_id, {"claim": lambda _: "enough"}),
    "missing": find_no_game,
    "no start": lambda game_id: altered_game(game_id, {"init": no_such_option}, "1"),
    "a defect": lambda game_id: altered_game(
        game_id, {"init": failing_rule, "parse_position": failing_rule}
    ),
}


def fold(room: Room, events: Iterable[RoomEvent]) -> Room:
    """Returns the room after these events."""
    for event in events:
        room = rules.evolve(room, event, room.changed_ms, load_game)
    return room


def with_newer_event(room: Room) -> Room:
    """Returns the room after an event of a newer version."""
    return fold(room, [NEWER])


def moves_of(room: Room) -> list[str]:
    """Returns the legal moves, or none without a match in progress."""
    match = room.running_match
    return match.position.tokens() if match is not None and match.position is not None else []


#: The commands with a seat, each with its constructor.
SEAT_COMMANDS: dict[type[Command], Callable[[int], Command]] = {
    Sit: sit,
    AddAi: add_ai,
    RemoveAi: remove_ai,
}
#: The commands of AI seats.
OF_AI = (AiMove, AiFailure, AiReply)
#: A time after every deadline, in ms since 1970.
FAR_MS = 10**15
#: An event of a newer version.
NEWER = Unknown("newer", b"{}")


def commands_of(room: Room, kind: type[Command]) -> Iterator[Command]:
    """Yields well-formed commands of one type, with all field values that affect permission."""
    match = room.match
    if kind in SEAT_COMMANDS:
        yield from map(SEAT_COMMANDS[kind], (0, 1))
    elif kind is Chat:
        yield chat("hello")
    elif kind is Move:
        ply = match.ply if match else 0
        yield from (Move("m", ply, token) for token in moves_of(room))
    elif kind is Configure:
        yield from (Configure("c", setting) for setting in ("all", "spectators", "after"))
        yield Configure("c", "all", help=True)
    elif kind is Hint:
        yield Hint("h", match.ply if match else 0)
    elif kind is Mute:
        yield from (Mute("m", actor.identity) for actor in PEOPLE)
    elif kind is Unmute:
        yield from (Unmute("u", actor.identity) for actor in PEOPLE)
    elif kind is Bar:
        yield from (Bar("k", actor.identity) for actor in PEOPLE)
    elif kind is BotLine:
        yield BotLine("b", "an answer", room.v)
    elif kind is Takeback:
        yield Takeback("b", match.ply if match else 0)
    elif kind is Tick:
        yield Tick("t", FAR_MS)
    elif kind is Hold:
        yield Hold("h", match.id if match else "", 0, "outage")
    elif kind is Rename:
        yield Rename("r", ADA.identity, "Ada Lovelace")
    elif kind is NextGame:
        yield NextGame("n", "sticks")
        yield NextGame("n", "tic-tac-toe", seats=(0, 1))
    elif kind is Accept:
        offer = room.next_offer
        yield from (Accept("p"), Accept("p", "next", v=offer.v if offer else 0))
    elif kind in OF_AI:
        if match is not None:
            turn = "ai", match.id, match.turn, match.digest
            token = next(iter(moves_of(room)), "none")
            yield AiMove(*turn, token)
            yield AiFailure(*turn, "it broke")
            yield AiReply("ai", match.id, match.turn, accept=True)
    else:
        yield plain(kind)


#: The absence of every other player, or None: gone for long enough or not, on a node that is sure
#: of it, that is not yet, or that is not at all.
absences = st.none() | st.builds(
    Absence, st.sampled_from([0, 1, 70_000]), st.sampled_from([0, 0, 1, None])
)


def is_accepted(
    room: Room, actor: Actor, command: Command, now_ms: int, absence: Absence | None = None
) -> bool:
    """Returns whether the room accepts a command; `absence` is that of the opponent."""
    moment = Moment(actor, now_ms, now_ms, lambda: "new", LIMITED, load_game, lambda _: absence)
    outcome = attempt(lambda: rules.decide(room, command, moment))
    return not isinstance(outcome, CommandRejected | GameFault)


def listed_commands(
    room: Room, actor: Actor, now_ms: int, absence: Absence | None = None
) -> set[str]:
    """Returns the names of the commands that `may` and `turn` offer to a viewer."""
    types = permitted(room, actor.identity, now_ms, LIMITED, lambda _: absence)
    names = set(format_permissions(types)) - {"see_thinking"}
    turn = attempt(lambda: views.turn(room, room.match) if room.match else None)
    if isinstance(turn, wire.Turn):
        assert room.match is not None
        if room.match.seats[room.match.turn].identity == actor.identity:
            names |= {"move"} | ({"claim"} if turn.claim else set())
    return names


def accepted_commands(
    room: Room, actor: Actor, now_ms: int, absence: Absence | None = None
) -> set[str]:
    """Returns the names of the commands that the room accepts with some well-formed fields.

    Commands of the server and of AI seats have no name: `format_permissions` fails if the room
    accepts one from a person.
    """
    kinds = [
        kind
        for kind in rules.RULES
        if any(
            is_accepted(room, actor, command, now_ms, absence)
            for command in commands_of(room, kind)
        )
    ]
    return set(format_permissions(kinds))


def play_step(played: LoggedRoom, step: Step) -> list[RoomEvent]:
    """Gives the room the command of a step, which it may reject; returns the events."""
    actor, kind, choice, wait_ms = step
    played.now_ms += wait_ms
    flag_ms = played.room.flag_ms()
    if flag_ms is not None and played.now_ms >= flag_ms:
        return played.do(SERVER, Tick("t", 0))  # as the server does at the deadline
    room = played.room
    if kind is Move:
        match, tokens = room.running_match, moves_of(room)
        if match is None or not tokens:
            return []
        token, occupant = tokens[choice % len(tokens)], match.seats[match.turn]
        is_ai = occupant.kind == "ai"
        mover = AI if is_ai else Actor(IdentityId(occupant.identity), occupant.name)
        return played.do(mover, played.ai_move(token) if is_ai else played.move(token))
    choices = list(commands_of(room, kind))
    command = choices[choice % len(choices)]
    absence = GONE if kind in OF_CLAIMANTS else None
    if not is_accepted(room, actor, command, played.now_ms, absence):
        return []
    played.find_absence = lambda _: absence
    return played.do(actor, command)


@settings(max_examples=20)
@given(openings, steps, st.sampled_from(sorted(CHANGED_GAMES)), absences)
@example("two people", [(ADA, Move, 0, 1)] * 3, "claims", None)
@example("two people", [*[(ADA, Move, 0, 1)] * 3, (ADA, LetAiPlay, 0, 1)], "missing", GONE)
@example("bare king", [(ADA, Move, 0, 1)] * 5, "unchanged", GONE)
@example("two people", [(ADA, Move, 0, 1)], "unchanged", GONE)
@example("a clock", [(ADA, Move, 0, 1)] * 3, "unchanged", GONE)
@example("two people", [(ADA, Resign, 0, 1)], "unchanged", None)
def test_a_command_is_listed_if_and_only_if_it_is_accepted(
    opening: str, run: list[Step], changed_game: str, absence: Absence | None
) -> None:
    """After every step of a run each viewer's list has exactly the commands that `decide` accepts.

    That also holds on a server whose game has changed, after an event of a newer version, when the
    opponent has gone, when the flag has fallen and the server's tick is late, and in a full room.
    """
    check_list(opening, run, changed_game, absence)


@pytest.mark.long
@pytest.mark.timeout(3600)
@settings(max_examples=1000)
@given(openings, steps, st.sampled_from(sorted(CHANGED_GAMES)), absences)
def test_a_command_is_listed_if_and_only_if_it_is_accepted_in_many_runs(
    opening: str, run: list[Step], changed_game: str, absence: Absence | None
) -> None:
    """The same in 1,000 runs."""
    check_list(opening, run, changed_game, absence)


def check_list(opening: str, run: list[Step], changed_game: str, absence: Absence | None) -> None:
    """Plays a run, and compares each viewer's list with what the room accepts after every step."""
    played = OPENINGS[opening]()
    for number, step in enumerate([None, *run]):
        if step is not None:
            play_step(played, step)
        reloaded = played.fold(CHANGED_GAMES[changed_game])
        views_of_room = [(played.room, actor) for actor in PEOPLE]
        # These rooms refuse almost everything, whatever the step: the people take turns.
        if changed_game != "unchanged":
            views_of_room.append((reloaded, PEOPLE[number % len(PEOPLE)]))
        views_of_room.append((with_newer_event(played.room), PEOPLE[(number + 1) % len(PEOPLE)]))
        for room, actor in views_of_room:
            arguments = room, actor, played.now_ms, absence
            assert listed_commands(*arguments) == accepted_commands(*arguments)
        flag_ms = played.room.flag_ms()
        for actor in PEOPLE if flag_ms is not None else ():
            assert flag_ms is not None
            arguments = played.room, actor, flag_ms, absence
            of_turn = {"move", "claim"}  # the position lists them, which knows no time
            assert listed_commands(*arguments) - of_turn == accepted_commands(*arguments) - of_turn
    full = replace(played.room, v=MAX_EVENTS)
    for actor in PEOPLE:
        arguments = full, actor, played.now_ms, absence
        assert listed_commands(*arguments) == accepted_commands(*arguments)


@given(openings, steps)
def test_a_listed_command_applies_to_each_suitable_seat(opening: str, run: list[Step]) -> None:
    """A viewer with `sit` or `add_ai` may use it on each empty seat; `remove_ai` works on each AI
    seat.
    """
    played = OPENINGS[opening]()
    for step in run:
        play_step(played, step)
        room, now_ms = played.room, played.now_ms
        for actor in PEOPLE:
            kinds = permitted(room, actor.identity, now_ms, LIMITED)
            for seat, occupant in enumerate(room.seats):
                if occupant is None:
                    assert (Sit in kinds) == is_accepted(room, actor, sit(seat), now_ms)
                    assert (AddAi in kinds) == is_accepted(room, actor, add_ai(seat), now_ms)
                elif occupant.kind == "ai":
                    assert (RemoveAi in kinds) == is_accepted(room, actor, remove_ai(seat), now_ms)


@given(openings, steps, absences)
@example("two people", [(ADA, Move, 0, 1)] * 5, None)
@example("a long match", MOVES, GONE)
@example("a long match", [*MOVES[:3], (ADA, OfferDraw, 0, 1), *MOVES[3:]], None)
@example("a long match", [*MOVES[:4], (ADA, Takeback, 0, 1), *MOVES[4:6]], None)
@example("extra turns", [(ADA, Move, choice, 1) for choice in (3, 0, 0, 0)], None)
def test_leaves_permissions_unchanged_has_no_false_positives(
    opening: str, run: list[Step], absence: Absence | None
) -> None:
    """If `leaves_permissions_unchanged` returns true, the events change no viewer's list.

    The events of one command, of several commands, of a move that freezes the room and of a newer
    version are tried. The result is true for every ordinary move of a match with alternating turns
    without an offer, without an AI that plays on for a person and with both players there, except
    for the first moves, which end the right to abort and can be taken back.
    """
    played = OPENINGS[opening]()
    first = played.room
    all_events: list[RoomEvent] = []
    for step in run:
        before = played.room
        events = play_step(played, step)
        all_events += events
        after, now_ms = played.room, played.now_ms
        changes = [
            (before, events, after),
            (first, all_events, after),
            (before, [*events, NEWER], with_newer_event(after)),
            (with_newer_event(before), events, fold(with_newer_event(before), events)),
        ]
        if after.match is not None:  # a move that this server cannot play freezes the room
            match = after.match
            unplayable = Moved(match.id, match.ply, match.turn, "no move", "")
            changes.append((after, [unplayable], fold(after, [unplayable])))
        for old, new_events, new in changes:
            if leaves_permissions_unchanged(new_events, new, absence is not None):
                for actor in PEOPLE:
                    lists = (
                        permitted(room, actor.identity, now_ms, LIMITED, lambda _: absence)
                        for room in (old, new)
                    )
                    assert len(set(lists)) == 1
        match_after = after.running_match
        if match_after is None or before.match is None or max(match_after.draw_offers) >= 0:
            continue
        has_moved = before.match.id == match_after.id and match_after.ply == before.match.ply + 1
        alternate = all(played.seat is None for played in match_after.moves)
        is_asked = max(match_after.takeback_requests) >= 0
        is_plain = alternate and not is_asked and not match_after.substitutions
        if has_moved and match_after.ply > 2 and is_plain:
            assert leaves_permissions_unchanged(events, after, is_player_absent=False)
