"""server/rooms/permissions.py: what a viewer is told about commands is what `decide` does."""

from collections.abc import Callable, Iterator

from hypothesis import example, given
from hypothesis import strategies as st

from engine.game import Game, GameFault, OptionError
from engine.rules.registry import load_game
from server.protocol import messages as wire
from server.rooms import rules, views
from server.rooms.chat import check_pace
from server.rooms.model import Actor, ChatLimits, CommandRejected, Room
from server.rooms.permissions import permits_the_same, permitted
from tests.support.room_log import (
    ADA,
    AI,
    AI_SEAT,
    BEN,
    CYD,
    ME,
    OPEN,
    ROOM,
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
LIMITS = ChatLimits(2, 3)
#: Every command of a room that a client may give without a field of its own.
PLAIN = (
    wire.Stand, wire.Resign, wire.Abort, wire.Claim, wire.OfferDraw, wire.Accept, wire.Rematch,
    wire.Decline,
)  # fmt: skip
#: The commands that concern a room but change nothing in it.
FOLLOWING = (wire.Join, wire.Leave)

#: A step of a random run: who gives which command, a choice among its fields, and the ms before.
Step = tuple[Actor, str, int, int]
KINDS = [
    *["move"] * 4, *["chat"] * 3, "sit", "add_ai", "remove_ai", *[kind.__name__ for kind in PLAIN]
]  # fmt: skip
steps = st.lists(
    st.tuples(
        st.sampled_from(PEOPLE), st.sampled_from(KINDS), st.integers(0, 9),
        st.sampled_from([1, 40, 4_000]),
    ),
    min_size=12, max_size=40,
)  # fmt: skip
#: The first moves of a long match of connect four.
MOVES: list[Step] = [(ADA, "move", ply % 7, 1) for ply in range(16)]
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


def moves_of(room: Room) -> list[str]:
    match = room.playing
    return match.position.tokens() if match is not None and match.position is not None else []


#: The commands with a seat, by name.
SEAT_COMMANDS: dict[str, Callable[[int], wire.RoomCommand]] = {
    "sit": sit,
    "add_ai": add_ai,
    "remove_ai": remove_ai,
}


def commands_named(room: Room, name: str) -> Iterator[wire.RoomCommand]:
    """Well-formed commands of one name: between them they have every field that matters."""
    if name in SEAT_COMMANDS:
        yield from map(SEAT_COMMANDS[name], (0, 1))
    elif name == "chat":
        yield chat("hello")
    elif name == "move":
        ply = room.match.ply if room.match else 0
        yield from (wire.Move(id="m", room=ROOM, ply=ply, move=token) for token in moves_of(room))
    else:
        yield next(plain(kind) for kind in PLAIN if tag(kind) == name)


def tag(kind: type) -> str:
    return str(kind.__struct_config__.tag)  # type: ignore[attr-defined]


#: The name of every command that changes a room.
NAMES = {tag(kind) for kind in wire.RoomCommand.__subclasses__() if kind not in FOLLOWING}


def is_accepted(room: Room, actor: Actor, command: wire.RoomCommand, now_ms: int) -> bool:
    """Whether the room accepts a command, as the machine of its log decides."""

    def decide() -> list[wire.RoomEvent]:
        if isinstance(command, wire.Chat):
            limits = LIMITS.lines, LIMITS.room_lines
            check_pace(room, actor.identity, now_ms, *limits)
        return rules.decide(room, actor, command, lambda: "new")

    return not isinstance(attempt(decide), CommandRejected | GameFault)


def told(room: Room, actor: Actor, now_ms: int) -> set[str]:
    """The names of the commands that a viewer is told to be open: in `may`, and with `turn`."""
    names = set(permitted(room, actor.identity, now_ms, LIMITS))
    turn = attempt(lambda: views.turn(room, room.match) if room.match else None)
    if isinstance(turn, wire.Turn):
        assert room.match is not None
        assert room.match.position is not None
        if room.match.seats[room.match.position.turn].identity == actor.identity:
            names |= {"move"} | ({"claim"} if turn.claim else set())
    return names


def accepted(room: Room, actor: Actor, now_ms: int) -> set[str]:
    """The names of the commands of which the room accepts some well-formed one."""
    return {
        name
        for name in NAMES
        if any(is_accepted(room, actor, command, now_ms) for command in commands_named(room, name))
    }


def take(played: LoggedRoom, step: Step) -> None:
    """Gives the room the command of a step; it may be refused."""
    actor, kind, pick, ms = step
    played.now_ms += ms
    room = played.room
    if kind == "move":
        match, tokens = room.playing, moves_of(room)
        if match is None or match.position is None or not tokens:
            return
        token, occupant = tokens[pick % len(tokens)], match.seats[match.position.turn]
        is_ai = occupant.kind == "ai"
        mover = AI if is_ai else Actor(occupant.identity, occupant.name)
        attempt(lambda: played.do(mover, played.ai_move(token) if is_ai else played.move(token)))
        return
    name = next((tag(one) for one in PLAIN if one.__name__ == kind), kind)
    commands = list(commands_named(room, name))
    command = commands[pick % len(commands)]
    if is_accepted(room, actor, command, played.now_ms):
        played.do(actor, command)


@given(openings, steps, st.sampled_from(sorted(AFTERLIVES)))
@example("two people", [(ADA, "move", 0, 1)] * 3, "claims")
def test_a_command_is_listed_exactly_if_it_is_accepted(
    opening: str, run: list[Step], afterlife: str
) -> None:
    """For everyone, after every command of a run, and in the same room on a server whose game has
    changed: the commands that the viewer is told are those of which `decide` accepts one.
    """
    played = OPENINGS[opening]()
    for step in [None, *run]:
        if step is not None:
            take(played, step)
        for room in (played.room, played.fold(AFTERLIVES[afterlife])):
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
            names = permitted(room, actor.identity, now_ms, LIMITS)
            for seat, occupant in enumerate(room.seats):
                if occupant is None:
                    assert ("sit" in names) == is_accepted(room, actor, sit(seat), now_ms)
                    assert ("add_ai" in names) == is_accepted(room, actor, add_ai(seat), now_ms)
                elif occupant.kind == "ai":
                    ends = is_accepted(room, actor, remove_ai(seat), now_ms)
                    assert ("remove_ai" in names) == ends


@given(openings, steps)
@example("two people", [(ADA, "move", 0, 1)] * 5)
@example("a long match", [*MOVES[:3], (ADA, "OfferDraw", 0, 1), *MOVES[3:]])
def test_the_quick_test_errs_on_one_side_only(opening: str, run: list[Step]) -> None:
    """Where `permits_the_same` holds, the lists are the same for everyone, and it holds for every
    move in the middle of a match in which no draw was offered.
    """
    played = OPENINGS[opening]()
    for step in run:
        before = played.room
        take(played, step)
        after, now_ms = played.room, played.now_ms
        if permits_the_same(before, after):
            for actor in PEOPLE:
                lists = (
                    permitted(room, actor.identity, now_ms, LIMITS) for room in (before, after)
                )
                assert len(set(lists)) == 1
        match = after.playing
        if match is not None and before.match is not None and max(match.draw_offers) < 0:
            is_plain_move = before.match.id == match.id and match.ply == before.match.ply + 1
            assert permits_the_same(before, after) or not is_plain_move or match.ply == 2
