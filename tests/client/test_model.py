"""The client's model equals the server's room, even after repeated, late or lost messages."""

from collections.abc import Sequence
from itertools import count

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client.messages import LoggedEvent, RoomMessage, parse_server_message
from client.model import MAX_CHAT_LINES, Model, apply
from engine.rules.registry import load_game
from engine.view import BoardView, Grid, MoveView, PositionView
from server.commands import (
    Accept,
    AddAi,
    CallDraw,
    Chat,
    ClaimWin,
    Command,
    Create,
    Decline,
    LetAiPlay,
    Move,
    NextGame,
    OfferDraw,
    OpenSeat,
    ReclaimSeat,
    Rematch,
    RemoveAi,
    Resign,
    Sit,
    Stand,
    Takeback,
)
from server.events import Hidden, Occupant, Said, Started, format_event_body
from server.ids import IdentityId, RoomId
from server.protocol.codec import event_frame, format_message
from server.protocol.messages import (
    Joined,
    MatchState,
    Played,
    Presence,
    RoomDescription,
    Snapshot,
    Thinking,
    Turn,
    View,
)
from server.protocol.views import snapshot
from server.rooms.model import Absence, Actor, CommandRejected, Moment, Room
from server.rooms.rules import create, decide, evolve, initial_room
from tests.server.test_newer_logs import states
from tests.support import golden_logs, room_log
from tests.support.room_log import SETTINGS, seated

ADA, BOB = Actor(IdentityId("ada"), "Ada"), Actor(IdentityId("bob"), "Bob")
ROOM = RoomId("r")
EMPTY = Model(room=ROOM, me="ada")
#: The absence of a player who has gone long ago, so that every claim is accepted.
LONG_GONE = Absence(0, 0)


# --- histories of the server's rooms


def room_history(commands: Sequence[tuple[Actor, Command]]) -> list[tuple[Room, LoggedEvent]]:
    """Returns the events of commands as the client receives them, each with the room after it.

    Commands that the server refuses are left out.
    """
    ids = map(str, count())
    game = load_game("tic-tac-toe")
    opening = create(
        ADA,
        Create("c", "tic-tac-toe", seats=(OpenSeat(), OpenSeat())),
        game,
        lambda: next(ids),
    )
    room = initial_room(ROOM, opening[0], 0, load_game)
    history = [(room, as_received(room, opening[0]))]
    for actor, command in commands:
        try:
            moment = Moment(actor, 0, 0, ids.__next__, SETTINGS, load_game, lambda _: LONG_GONE)
            events = decide(room, command, moment)
        except CommandRejected:
            continue
        for event in events:
            room = evolve(room, event, room.v + 1, load_game)
            history.append((room, as_received(room, event)))
    return history


def as_received(room: Room, event: object) -> LoggedEvent:
    """Returns the event after the server's encoder and the client's decoder."""
    body = format_event_body(event)  # type: ignore[arg-type]
    message = parse_server_message(event_frame(ROOM, room.v, room.v, body))
    assert isinstance(message, LoggedEvent)
    return message


@pytest.mark.parametrize("name", [*golden_logs.NAMES, *golden_logs.CLOCKS])
def test_a_log_of_a_newer_version_makes_the_servers_room(name: str) -> None:
    """From a log of a newer version the client makes the same room as the server."""
    model = Model(room="r1")
    for frame in golden_logs.frames(name):
        message = parse_server_message(frame)
        assert isinstance(message, LoggedEvent)
        model = apply(model, message)
    expected = msgspec.convert(golden_logs.expected(name)["spectator"], Snapshot)
    assert as_snapshot(model) == expected


@pytest.mark.parametrize("name", golden_logs.CLOCKS)
def test_after_each_event_the_clock_equals_the_servers(name: str) -> None:
    """Also while it stands, and from a snapshot in place of the events before it."""
    models = [Model(room="r1")]
    for frame, room in zip(golden_logs.frames(name), states(golden_logs.read(name)), strict=True):
        message = parse_server_message(frame)
        assert isinstance(message, LoggedEvent)
        sent = snapshot(room, player=False)
        models = [*(apply(model, message) for model in models), apply(Model(room="r1"), sent)]
        clock = sent.match.clock if sent.match is not None else None
        assert [model.match and model.match.clock for model in models] == [clock] * len(models)


def as_snapshot(model: Model) -> Snapshot:
    """Returns the model in the form of the server's snapshot."""
    return Snapshot(
        room=model.room,
        v=model.v,
        seats=model.seats,
        match=model.match,
        offers=model.offers,
        chat=model.chat[-50:],
        proposals=(*model.takebacks, *([model.next_offer] if model.next_offer else [])),
        series=model.series,
        clock=model.clock,
    )


CELLS = [*(f"{column}{row}" for row in "123" for column in "abc"), "1x1", "2x1", "3x1"]
room_commands = st.one_of(
    st.builds(
        lambda ply, move: Move(ply=ply, move=move, id="x"),
        st.integers(0, 8),
        st.sampled_from(CELLS),
    ),
    st.builds(lambda seat: Sit(seat=seat, id="x"), st.integers(0, 1)),
    st.builds(
        lambda seat: AddAi(
            seat=seat, level=1, persona=None, strategy=None, depth=None, evaluator=None, id="x"
        ),
        st.integers(0, 1),
    ),
    st.builds(lambda seat: RemoveAi(seat=seat, id="x"), st.integers(0, 1)),
    # Nobody else sees a line that begins with a slash.
    st.builds(lambda text: Chat(text=f"a{text}", id="x"), st.text(min_size=1, max_size=5)),
    st.builds(lambda ply: Takeback(ply=ply, id="x"), st.integers(0, 8)),
    st.sampled_from(
        [kind(id="x") for kind in (Stand, Resign, Rematch, Decline, OfferDraw, Accept)]
    ),
    st.sampled_from([kind(id="x") for kind in (LetAiPlay, ReclaimSeat, ClaimWin, CallDraw)]),
    st.sampled_from([kind(what="takeback", id="x") for kind in (Decline, Accept)]),
    st.builds(
        lambda game, seats, level: NextGame(game=game, seats=seats, level=level, id="x"),
        st.sampled_from(["sticks", "tic-tac-toe"]),
        st.sampled_from([(0, 1), (1, 0)]),
        st.sampled_from([None, None, 2]),
    ),
    st.builds(lambda v: Accept(what="next", v=v, id="x"), st.integers(12, 20)),
    st.just(Decline(what="next", id="x")),
)
sit_commands: list[tuple[Actor, Command]] = [
    (ADA, Sit(seat=0, id="x")),
    (BOB, Sit(seat=1, id="x")),
]
move_commands: list[tuple[Actor, Command]] = [
    ((ADA, BOB)[ply % 2], Move(ply=ply, move=move, id="x"))
    for ply, move in enumerate(("a1", "b1", "a2", "b2", "a3"))
]
next_commands: list[tuple[Actor, Command]] = [
    (BOB, NextGame("x", "sticks")),
    (ADA, Decline("x", "next")),
    (ADA, NextGame("x", "tic-tac-toe")),
    (ADA, NextGame("x", "sticks", {"rows": "1-3-5-7"}, (0, 1))),
]
openings = st.sampled_from(
    [
        [],
        sit_commands,
        sit_commands + move_commands,
        sit_commands + move_commands + next_commands[:1],
        sit_commands + move_commands + next_commands,
    ]
)
histories = st.builds(
    lambda opening, more: room_history(opening + more),
    openings,
    st.lists(st.tuples(st.sampled_from([ADA, BOB]), room_commands), max_size=30),
)


@given(histories)
@settings(max_examples=200)
def test_after_each_event_the_model_equals_the_servers_room(
    history: list[tuple[Room, LoggedEvent]],
) -> None:
    model = EMPTY
    for room, event in history:
        model = apply(model, event)
        assert as_snapshot(model) == snapshot(room, player=False)
        assert model.my_seat == room.seat_of(IdentityId("ada"))
        assert model.running == (room.running_match is not None)


@given(histories, st.data())
def test_any_snapshot_and_the_events_after_it_make_the_same_model(
    history: list[tuple[Room, LoggedEvent]], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(history) - 1))
    model = apply(EMPTY, snapshot(history[at][0], player=False))
    for _, event in history[at + 1 :]:
        model = apply(model, event)
    assert as_snapshot(model) == snapshot(history[-1][0], player=False)
    assert model.in_sync


@given(histories, st.data())
def test_a_repeated_event_changes_nothing(
    history: list[tuple[Room, LoggedEvent]], data: st.DataObject
) -> None:
    model = EMPTY
    for n, (_, event) in enumerate(history):
        model = apply(model, event)
        repeated = data.draw(st.integers(0, n))
        assert apply(model, history[repeated][1]) is model
    assert as_snapshot(model) == snapshot(history[-1][0], player=False)


@given(histories, st.data())
def test_after_a_gap_events_are_ignored_until_a_snapshot(
    history: list[tuple[Room, LoggedEvent]], data: st.DataObject
) -> None:
    missing = data.draw(st.integers(0, len(history) - 1))
    model = EMPTY
    for n, (_, event) in enumerate(history):
        if n != missing:
            model = apply(model, event)
    assert model.v == missing
    assert model.in_sync == (missing == len(history) - 1)
    model = apply(model, snapshot(history[-1][0], player=False))
    assert model.in_sync
    assert as_snapshot(model) == snapshot(history[-1][0], player=False)


# --- single messages


def started(match: str = "m1", seats: tuple[str, str] = ("ada", "bob")) -> Started:
    occupants = tuple(Occupant(identity, identity.title()) for identity in seats)
    return Started(match, 1, "start", "digest", occupants)


def apply_all(*messages: RoomMessage, model: Model = EMPTY) -> Model:
    for message in messages:
        model = apply(model, message)
    return model


def logged(v: int, event: object) -> LoggedEvent:
    return LoggedEvent(ROOM, v, 0, event)  # type: ignore[arg-type]


def view(v: int, ply: int, match: str = "m1") -> View:
    return View(room=ROOM, v=v, match=match, ply=ply, view=PositionView({}, 0, f"ply {ply}"))


def turn(v: int, ply: int, match: str = "m1") -> Turn:
    return Turn(room=ROOM, v=v, match=match, ply=ply, moves=(MoveView("a1", ("a1",), "a1"),))


def moved(v: int, ply: int) -> LoggedEvent:
    message = parse_server_message(
        b'{"t":"event","room":"r","v":%d,"at":0,"kind":"moved","match":"m1","ply":%d,"seat":0,"move":"a1","digest":""}'
        % (v, ply)
    )
    assert isinstance(message, LoggedEvent)
    return message


def test_a_hidden_event_changes_only_v() -> None:
    model = apply_all(logged(1, started()))
    assert apply_all(logged(2, Hidden()), model=model) == msgspec.structs.replace(model, v=2)


def test_messages_of_other_rooms_change_nothing() -> None:
    assert apply(EMPTY, LoggedEvent("other", 1, 0, started())) is EMPTY


def test_view_and_moves_belong_to_the_current_ply() -> None:
    model = apply_all(logged(1, started()), view(1, 0), turn(1, 0))
    assert model.view is not None
    assert [move.id for move in model.moves] == ["a1"]
    model = apply_all(moved(2, 0), model=model)
    assert (model.view, model.moves) == (None, ())
    model = apply_all(view(2, 1), turn(2, 1), model=model)
    assert model.view is not None
    assert model.view.text == "ply 1"
    assert model.moves
    assert apply_all(view(1, 0), turn(1, 0), model=model) == model


def test_chat_does_not_remove_the_legal_moves() -> None:
    model = apply_all(
        logged(1, started()), view(1, 0), turn(1, 0), logged(2, Said("bob", "Bob", "hi"))
    )
    assert model.moves
    assert model.chat[-1].text == "hi"


def test_a_frozen_room_has_no_legal_moves() -> None:
    description = RoomDescription(
        game="g",
        title="G",
        options={},
        visibility="public",
        host="ada",
        created_ms=0,
        levels=1,
        view=BoardView(Grid(1, 1), {}, ()),
    )
    model = apply_all(logged(1, started()), turn(1, 0))
    joined = Joined(room=ROOM, v=1, epoch="e", description=description)
    assert apply_all(joined, model=model).moves
    frozen = apply_all(msgspec.structs.replace(joined, frozen="game.changed"), model=model)
    assert frozen.moves == ()
    assert (frozen.epoch, frozen.description) == ("e", description)


def test_a_snapshot_removes_earlier_views_and_moves() -> None:
    match = MatchState(id="m1", number=1, start="", rules="", seats=(), moves=(Played("a1"),))
    model = apply_all(
        logged(1, started()),
        view(1, 0),
        turn(1, 0),
        Snapshot(room=ROOM, v=9, seats=(None, None), match=match),
    )
    assert (model.v, model.view, model.moves, model.ply) == (9, None, (), 1)


def test_an_ai_seat_is_never_mine_even_if_the_identities_are_equal() -> None:
    model = apply_all(
        Snapshot(room=ROOM, v=1, seats=(Occupant("ada", "AI", "ai", 1), None), match=None)
    )
    assert model.my_seat is None


@pytest.mark.parametrize(
    ("match", "ply", "is_applied"), [("m1", 0, True), ("m1", 1, True), ("m0", 0, False)]
)
def test_thinking_about_another_match_is_dropped(match: str, ply: int, is_applied: bool) -> None:
    thinking = Thinking(room=ROOM, match=match, ply=ply, seat=0, state="searching", depth=3)
    assert (apply_all(logged(1, started()), thinking).thinking is thinking) == is_applied


def test_thinking_about_an_earlier_ply_is_dropped() -> None:
    late = Thinking(room=ROOM, match="m1", ply=0, seat=0, state="done")
    assert apply_all(logged(1, started()), moved(2, 0), late).thinking is None


def test_the_model_has_the_presence_and_the_newest_lines_of_chat() -> None:
    model = apply_all(Presence(room=ROOM, seats=(True, False), watching=3))
    assert (model.present, model.watching) == ((True, False), 3)
    model = apply_all(
        *(logged(v, Said("bob", "Bob", str(v))) for v in range(1, MAX_CHAT_LINES + 50)), model=model
    )
    assert len(model.chat) == MAX_CHAT_LINES
    assert model.chat[-1].text == str(MAX_CHAT_LINES + 49)


def test_views_turns_and_presence_survive_both_codecs() -> None:
    """The client decodes each message that the server encodes to an equal message."""
    for message in (view(1, 0), turn(1, 0), Presence(room=ROOM, seats=(True,), watching=0)):
        assert parse_server_message(format_message(message)) == message


def test_a_snapshot_may_take_v_back() -> None:
    """A restored backup may have fewer events than the client has seen."""
    model = apply_all(
        logged(1, started()),
        logged(2, Hidden()),
        Snapshot(room=ROOM, v=1, seats=(None, None), match=None),
    )
    assert (model.v, model.match) == (1, None)


def test_after_a_gap_the_missing_event_does_not_restore_the_model() -> None:
    model = apply_all(logged(1, started()), moved(3, 1), moved(2, 0))
    assert (model.v, model.ply, model.in_sync) == (1, 0, False)


def test_an_offer_of_a_draw_lapses_when_the_other_side_moves() -> None:
    """After each event the model has the server's offers; a player's own move ends no offer."""
    ben = Actor(IdentityId("ben"), "Ben")
    moves = [Move(id=str(ply), ply=ply, move=cell) for ply, cell in enumerate(("a1", "b1", "c1"))]
    commands: list[tuple[Actor, Command]] = [
        (ADA, Sit(id="s", seat=0)), (ben, Sit(id="s", seat=1)),
        (ADA, OfferDraw(id="o")), (ADA, moves[0]), (ben, moves[1]),
        (ben, OfferDraw(id="o")), (ADA, moves[2]),
    ]  # fmt: skip
    model = Model(room=ROOM)
    offers = []
    for room, event in room_history(commands):
        model = apply(model, event)
        assert model.offers == room.offers
        offers.append(model.offers)
    assert offers[-5:] == [(0,), (0,), (), (1,), ()]


def test_a_model_names_the_seats_of_extra_turns() -> None:
    """In a match of Kalah the model equals the server's room after each move, seats included."""
    played = seated(game="kalah")
    for token in ("c1", "f1", "e2", "a2"):
        played.do(room_log.ADA if token[1] == "1" else room_log.BEN, played.move(token))
    model = Model(room=room_log.ROOM)
    for v, (at_ms, body) in enumerate(played.log, 1):
        message = parse_server_message(event_frame(room_log.ROOM, v, at_ms, body))
        assert isinstance(message, LoggedEvent)
        model = apply(model, message)
    assert as_snapshot(model).match == snapshot(played.room, player=False).match
    assert model.match is not None
    assert [move.seat for move in model.match.moves] == [None, 0, 1, None]
