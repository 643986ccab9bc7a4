"""server/rooms/permissions.py: what a viewer is told about commands is what `decide` does."""

from collections.abc import Callable, Iterable, Iterator

from hypothesis import example, given
from hypothesis import strategies as st

from engine.game import Game, GameFault, OptionError
from engine.rules.registry import load_game
from server.ids import IdentityId
from server.protocol import messages as wire
from server.protocol import views
from server.protocol.commands import format_command_types
from server.rooms import commands, rules
from server.rooms.commands import Command
from server.rooms.events import Moved, RoomEvent, Unknown
from server.rooms.model import AI, Actor, CommandRejected, Moment, Room
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
    plain,
    raises,
    remove_ai,
    seated,
    sit,
)

PEOPLE = (ADA, BEN, CYD)
#: Limits of the chat that random runs reach.
LIMITED = Settings(limit_chat=2, limit_chat_room=3)

#: A step of a random run: who gives which command, a choice among its fields, and the ms before.
Step = tuple[Actor, type[Command], int, int]
KINDS: list[type[Command]] = [
    *[commands.Move] * 4, *[commands.Chat] * 3, commands.Sit, commands.AddAi, commands.RemoveAi,
    commands.Stand, commands.Resign, commands.Abort, commands.Claim, commands.OfferDraw,
    commands.Accept, commands.Rematch, commands.Decline,
]  # fmt: skip
steps = st.lists(
    st.tuples(
        st.sampled_from(PEOPLE), st.sampled_from(KINDS), st.integers(0, 9),
        st.sampled_from([1, 40, 4_000]),
    ),
    min_size=12, max_size=40,
)  # fmt: skip
#: The first moves of a long match of connect four.
MOVES: list[Step] = [(ADA, commands.Move, ply % 7, 1) for ply in range(16)]
#: The rooms in which random runs begin.
OPENINGS: dict[str, Callable[[], LoggedRoom]] = {
    "two people": seated,
    "a long match": lambda: seated(game="connect-four"),
    "an open seat": created,
    "against an AI": lambda: created(seats=(ME, AI_SEAT)),
    "between AI seats": lambda: created(seats=(AI_SEAT, AI_SEAT)),
    "nobody": lambda: created(seats=(OPEN, OPEN)),
}
openings = st.sampled_from(["two people", "two people", *OPENINGS])


def no_such_option(_options: object) -> None:
    raise ValueError("the game has not these options any more")


def without_game(_game_id: str) -> Game:
    raise OptionError("gone")


#: What may become of the game between two starts of a server.
AFTERLIVES: dict[str, Callable[[str], Game]] = {
    "as before": load_game,
    "claims": lambda game_id: altered_game(game_id, {"claim": lambda _: "enough"}),
    "missing": without_game,
    "no start": lambda game_id: altered_game(game_id, {"init": no_such_option}, "1"),
    "a defect": lambda game_id: altered_game(game_id, {"init": raises, "parse_position": raises}),
}


def fold(room: Room, events: Iterable[RoomEvent]) -> Room:
    """The room after these events."""
    for event in events:
        room = rules.evolve(room, event, room.changed_ms)
    return room


def with_newer_event(room: Room) -> Room:
    """The room after an event of a newer version."""
    return fold(room, [NEWER])


def moves_of(room: Room) -> list[str]:
    match = room.playing
    return match.position.tokens() if match is not None and match.position is not None else []


#: The commands with a seat.
SEAT_COMMANDS: dict[type[Command], Callable[[int], Command]] = {
    commands.Sit: sit,
    commands.AddAi: add_ai,
    commands.RemoveAi: remove_ai,
}
#: The commands of AI seats.
OF_AI = (commands.AiMove, commands.AiFailure, commands.AiReply)
#: A time by which every deadline has come, in ms since 1970.
FAR_MS = 10**15
#: An event of a newer version.
NEWER = Unknown("newer", b"{}")


def commands_of(room: Room, kind: type[Command]) -> Iterator[Command]:
    """Well-formed commands of one type: between them they have every field that matters."""
    match = room.match
    if kind in SEAT_COMMANDS:
        yield from map(SEAT_COMMANDS[kind], (0, 1))
    elif kind is commands.Chat:
        yield chat("hello")
    elif kind is commands.Move:
        ply = match.ply if match else 0
        yield from (commands.Move("m", ply, token) for token in moves_of(room))
    elif kind is commands.Tick:
        yield commands.Tick("t", FAR_MS)
    elif kind in OF_AI:
        if match is not None:
            now = "ai", match.id, match.turn, match.digest
            tokens = [*moves_of(room), "none"][:1]
            yield from (commands.AiMove(*now, token) for token in tokens)
            yield commands.AiFailure(*now, "it broke")
            yield commands.AiReply("ai", match.id, match.turn, accept=True)
    else:
        yield plain(kind)


def is_accepted(room: Room, actor: Actor, command: Command, now_ms: int) -> bool:
    """Whether the room accepts a command."""
    moment = Moment(actor, now_ms, now_ms, lambda: "new", LIMITED)
    outcome = attempt(lambda: rules.decide(room, command, moment))
    return not isinstance(outcome, CommandRejected | GameFault)


def told(room: Room, actor: Actor, now_ms: int) -> set[str]:
    """The names of the commands that a viewer is told to be open: in `may`, and with `turn`."""
    names = set(format_command_types(permitted(room, actor.identity, now_ms, LIMITED)))
    turn = attempt(lambda: views.turn(room, room.match) if room.match else None)
    if isinstance(turn, wire.Turn):
        assert room.match is not None
        if room.match.seats[room.match.turn].identity == actor.identity:
            names |= {"move"} | ({"claim"} if turn.claim else set())
    return names


def accepted(room: Room, actor: Actor, now_ms: int) -> set[str]:
    """The names of the commands of which the room accepts some well-formed one.

    A command of the server or of an AI seat has no name, so none may be accepted from a person.
    """
    kinds = [
        kind
        for kind in rules.RULES
        if any(is_accepted(room, actor, command, now_ms) for command in commands_of(room, kind))
    ]
    return set(format_command_types(kinds))


def take(played: LoggedRoom, step: Step) -> list[RoomEvent]:
    """Gives the room the command of a step; it may be refused. Returns its events."""
    actor, kind, pick, ms = step
    played.now_ms += ms
    room = played.room
    if kind is commands.Move:
        match, tokens = room.playing, moves_of(room)
        if match is None or not tokens:
            return []
        token, occupant = tokens[pick % len(tokens)], match.seats[match.turn]
        is_ai = occupant.kind == "ai"
        mover = AI if is_ai else Actor(IdentityId(occupant.identity), occupant.name)
        return played.do(mover, played.ai_move(token) if is_ai else played.move(token))
    choices = list(commands_of(room, kind))
    command = choices[pick % len(choices)]
    return played.do(actor, command) if is_accepted(room, actor, command, played.now_ms) else []


@given(openings, steps, st.sampled_from(sorted(AFTERLIVES)))
@example("two people", [(ADA, commands.Move, 0, 1)] * 3, "claims")
def test_a_command_is_listed_exactly_if_it_is_accepted(
    opening: str, run: list[Step], afterlife: str
) -> None:
    """For everyone, after every command of a run, and in the same room on a server whose game has
    changed, or after an event of a newer version: the commands that the viewer is told are those of
    which `decide` accepts one.
    """
    played = OPENINGS[opening]()
    for step in [None, *run]:
        if step is not None:
            take(played, step)
        now = played.room
        for room in (now, played.fold(AFTERLIVES[afterlife]), with_newer_event(now)):
            for actor in PEOPLE:
                now_ms = played.now_ms
                assert told(room, actor, now_ms) == accepted(room, actor, now_ms)


@given(openings, steps)
def test_a_listed_command_applies_to_each_seat_that_looks_so(opening: str, run: list[Step]) -> None:
    """Whoever may sit may take each empty seat; the same holds for adding an AI, and for removing
    one from the seats that an AI holds.
    """
    played = OPENINGS[opening]()
    for step in run:
        take(played, step)
        room, now_ms = played.room, played.now_ms
        for actor in PEOPLE:
            kinds = permitted(room, actor.identity, now_ms, LIMITED)
            for seat, occupant in enumerate(room.seats):
                if occupant is None:
                    assert (commands.Sit in kinds) == is_accepted(room, actor, sit(seat), now_ms)
                    assert (commands.AddAi in kinds) == is_accepted(
                        room, actor, add_ai(seat), now_ms
                    )
                elif occupant.kind == "ai":
                    ends = is_accepted(room, actor, remove_ai(seat), now_ms)
                    assert (commands.RemoveAi in kinds) == ends


@given(openings, steps)
@example("two people", [(ADA, commands.Move, 0, 1)] * 5)
@example("a long match", [*MOVES[:3], (ADA, commands.OfferDraw, 0, 1), *MOVES[3:]])
def test_the_quick_test_errs_on_one_side_only(opening: str, run: list[Step]) -> None:
    """Where `leaves_permissions_unchanged` holds, the events change no one's list, also those of
    several commands together, a move that freezes the room, and in rooms of a newer version. It
    holds for every move in the middle of a match in which no draw was offered.
    """
    played = OPENINGS[opening]()
    first = played.room
    all_events: list[RoomEvent] = []
    for step in run:
        before = played.room
        events = take(played, step)
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
        for old, made, new in changes:
            if leaves_permissions_unchanged(made, new):
                for actor in PEOPLE:
                    lists = (
                        permitted(room, actor.identity, now_ms, LIMITED) for room in (old, new)
                    )
                    assert len(set(lists)) == 1
        now = after.playing
        if now is not None and before.match is not None and max(now.draw_offers) < 0:
            is_plain_move = before.match.id == now.id and now.ply == before.match.ply + 1
            assert leaves_permissions_unchanged(events, after) or not is_plain_move or now.ply == 2
