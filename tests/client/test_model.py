"""The model equals the server's room, even when messages are repeated, late or lost."""

from collections.abc import Sequence
from itertools import count

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client.messages import Happened, RoomMessage, parse_server_message
from client.model import MAX_CHAT_LINES, Model, apply
from engine.rules.registry import load_game
from engine.view import BoardView, Grid, MoveView, PositionView
from server.protocol.codec import event_frame, format_event_body, format_message
from server.protocol.messages import (
    Accept,
    AddAi,
    Chat,
    Create,
    Decline,
    Hidden,
    Incoming,
    Joined,
    MatchState,
    Move,
    Occupant,
    OfferDraw,
    OpenSeat,
    Played,
    Presence,
    Rematch,
    RemoveAi,
    Resign,
    RoomDescription,
    Said,
    Sit,
    Snapshot,
    Stand,
    Started,
    Thinking,
    Turn,
    View,
)
from server.rooms.model import Actor, Room
from server.rooms.model import CommandRejected as Rejected
from server.rooms.rules import create, decide, evolve, initial_room
from server.rooms.views import snapshot

ADA, BOB = Actor("ada", "Ada"), Actor("bob", "Bob")
ROOM = "r"
EMPTY = Model(room=ROOM, me="ada")
HEAD = {"id": "x", "room": ROOM}


# --- the server's own rooms, as histories of events


def room_history(commands: Sequence[tuple[Actor, Incoming]]) -> list[tuple[Room, Happened]]:
    """The events of some commands as they are on the wire, each with the server's room after it."""
    ids = map(str, count())
    game = load_game("tic-tac-toe")
    opening = create(
        ADA,
        Create(id="c", game="tic-tac-toe", seats=(OpenSeat(), OpenSeat())),
        game,
        lambda: next(ids),
    )
    room = initial_room(ROOM, opening[0], 0, load_game)
    history = [(room, on_the_wire(room, opening[0]))]
    for actor, command in commands:
        try:
            events = decide(room, actor, command, lambda: next(ids))  # type: ignore[arg-type]
        except Rejected:
            continue
        for event in events:
            room = evolve(room, event, room.v + 1)
            history.append((room, on_the_wire(room, event)))
    return history


def on_the_wire(room: Room, event: object) -> Happened:
    """The event through the server's encoder and the client's decoder."""
    body = format_event_body(event)  # type: ignore[arg-type]
    message = parse_server_message(event_frame(ROOM, room.v, room.v, body))
    assert isinstance(message, Happened)
    return message


def as_snapshot(model: Model) -> Snapshot:
    """The model as a snapshot of the server."""
    return Snapshot(
        room=model.room,
        v=model.v,
        seats=model.seats,
        match=model.match,
        offers=model.offers,
        chat=model.chat[-50:],
    )


CELLS = [f"{column}{row}" for row in "123" for column in "abc"]
commands = st.one_of(
    st.builds(
        lambda ply, move: Move(ply=ply, move=move, **HEAD),
        st.integers(0, 8),
        st.sampled_from(CELLS),
    ),
    st.builds(lambda seat: Sit(seat=seat, **HEAD), st.integers(0, 1)),
    st.builds(lambda seat: AddAi(seat=seat, level=1, persona=None, **HEAD), st.integers(0, 1)),
    st.builds(lambda seat: RemoveAi(seat=seat, **HEAD), st.integers(0, 1)),
    st.builds(lambda text: Chat(text=text, id="x", room=ROOM), st.text(min_size=1, max_size=5)),
    st.sampled_from(
        [kind(**HEAD) for kind in (Stand, Resign, Rematch, Decline, OfferDraw, Accept)]
    ),
)
seated: list[tuple[Actor, Incoming]] = [(ADA, Sit(seat=0, **HEAD)), (BOB, Sit(seat=1, **HEAD))]
played: list[tuple[Actor, Incoming]] = [
    ((ADA, BOB)[ply % 2], Move(ply=ply, move=move, **HEAD))
    for ply, move in enumerate(("a1", "b1", "a2", "b2", "a3"))
]
openings = st.sampled_from([[], seated, seated + played])
histories = st.builds(
    lambda opening, more: room_history(opening + more),
    openings,
    st.lists(st.tuples(st.sampled_from([ADA, BOB]), commands), max_size=30),
)


@given(histories)
@settings(max_examples=200)
def test_events_make_the_room_that_the_server_has(history: list[tuple[Room, Happened]]) -> None:
    """The models agree after each event."""
    model = EMPTY
    for room, happened in history:
        model = apply(model, happened)
        assert as_snapshot(model) == snapshot(room, player=False)
        assert model.my_seat == room.seat_of("ada")
        assert model.running == (room.playing is not None)


@given(histories, st.data())
def test_a_snapshot_anywhere_and_the_events_after_it_make_the_same_room(
    history: list[tuple[Room, Happened]], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(history) - 1))
    model = apply(EMPTY, snapshot(history[at][0], player=False))
    for _, happened in history[at + 1 :]:
        model = apply(model, happened)
    assert as_snapshot(model) == snapshot(history[-1][0], player=False)
    assert model.in_step


@given(histories, st.data())
def test_repeated_and_late_events_change_nothing(
    history: list[tuple[Room, Happened]], data: st.DataObject
) -> None:
    model = EMPTY
    for n, (_, happened) in enumerate(history):
        model = apply(model, happened)
        again = data.draw(st.integers(0, n))
        assert apply(model, history[again][1]) is model
    assert as_snapshot(model) == snapshot(history[-1][0], player=False)


@given(histories, st.data())
def test_after_a_gap_events_are_ignored_until_a_snapshot(
    history: list[tuple[Room, Happened]], data: st.DataObject
) -> None:
    missing = data.draw(st.integers(0, len(history) - 1))
    model = EMPTY
    for n, (_, happened) in enumerate(history):
        if n != missing:
            model = apply(model, happened)
    assert model.v == missing
    assert model.in_step == (missing == len(history) - 1)
    model = apply(model, snapshot(history[-1][0], player=False))
    assert model.in_step
    assert as_snapshot(model) == snapshot(history[-1][0], player=False)


# --- single messages


def started(match: str = "m1", seats: tuple[str, str] = ("ada", "bob")) -> Started:
    return Started(match, 1, "start", "digest", tuple(Occupant(one, one.title()) for one in seats))


def play(*messages: RoomMessage, model: Model = EMPTY) -> Model:
    for message in messages:
        model = apply(model, message)
    return model


def at(v: int, event: object) -> Happened:
    return Happened(ROOM, v, 0, event)  # type: ignore[arg-type]


def view(v: int, ply: int, match: str = "m1") -> View:
    return View(room=ROOM, v=v, match=match, ply=ply, view=PositionView({}, 0, f"ply {ply}"))


def turn(v: int, ply: int, match: str = "m1") -> Turn:
    return Turn(room=ROOM, v=v, match=match, ply=ply, moves=(MoveView("a1", ("a1",), "a1"),))


def moved(v: int, ply: int) -> Happened:
    message = parse_server_message(
        b'{"t":"event","room":"r","v":%d,"at":0,"kind":"moved","match":"m1","ply":%d,"seat":0,"move":"a1","digest":""}'
        % (v, ply)
    )
    assert isinstance(message, Happened)
    return message


def test_a_hidden_event_counts_and_shows_nothing() -> None:
    model = play(at(1, started()))
    assert play(at(2, Hidden()), model=model) == msgspec.structs.replace(model, v=2)


def test_messages_of_other_rooms_change_nothing() -> None:
    assert apply(EMPTY, Happened("other", 1, 0, started())) is EMPTY


def test_view_and_moves_are_those_of_the_last_move() -> None:
    model = play(at(1, started()), view(1, 0), turn(1, 0))
    assert model.view is not None
    assert [move.id for move in model.moves] == ["a1"]
    model = play(moved(2, 0), model=model)
    assert (model.view, model.moves) == (None, ())
    model = play(view(2, 1), turn(2, 1), model=model)
    assert model.view is not None
    assert model.view.text == "ply 1"
    assert model.moves
    assert play(view(1, 0), turn(1, 0), model=model) == model


def test_chat_between_view_and_move_keeps_the_moves() -> None:
    model = play(at(1, started()), view(1, 0), turn(1, 0), at(2, Said("bob", "Bob", "hi")))
    assert model.moves
    assert model.chat[-1].text == "hi"


def test_nobody_moves_in_a_frozen_room() -> None:
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
    model = play(at(1, started()), turn(1, 0))
    joined = Joined(room=ROOM, v=1, epoch="e", description=description)
    assert play(joined, model=model).moves
    frozen = play(msgspec.structs.replace(joined, frozen="game.changed"), model=model)
    assert frozen.moves == ()
    assert (frozen.epoch, frozen.description) == ("e", description)


def test_a_snapshot_voids_earlier_views() -> None:
    match = MatchState(id="m1", number=1, start="", rules="", seats=(), moves=(Played("a1"),))
    model = play(
        at(1, started()),
        view(1, 0),
        turn(1, 0),
        Snapshot(room=ROOM, v=9, seats=(None, None), match=match),
    )
    assert (model.v, model.view, model.moves, model.ply) == (9, None, (), 1)


def test_an_ai_seat_is_never_mine_even_if_the_identities_agree() -> None:
    model = play(Snapshot(room=ROOM, v=1, seats=(Occupant("ada", "AI", "ai", 1), None), match=None))
    assert model.my_seat is None


@pytest.mark.parametrize(
    ("match", "ply", "kept"), [("m1", 0, True), ("m1", 1, True), ("m0", 0, False)]
)
def test_thinking_about_another_match_is_dropped(match: str, ply: int, kept: bool) -> None:
    thinking = Thinking(room=ROOM, match=match, ply=ply, seat=0, state="searching", depth=3)
    assert (play(at(1, started()), thinking).thinking is thinking) == kept


def test_thinking_about_an_earlier_ply_is_dropped() -> None:
    late = Thinking(room=ROOM, match="m1", ply=0, seat=0, state="done")
    assert play(at(1, started()), moved(2, 0), late).thinking is None


def test_presence_and_chat_are_kept_within_limits() -> None:
    model = play(Presence(room=ROOM, seats=(True, False), watching=3))
    assert (model.present, model.watching) == ((True, False), 3)
    model = play(
        *(at(v, Said("bob", "Bob", str(v))) for v in range(1, MAX_CHAT_LINES + 50)), model=model
    )
    assert len(model.chat) == MAX_CHAT_LINES
    assert model.chat[-1].text == str(MAX_CHAT_LINES + 49)


def test_what_the_server_writes_the_client_reads() -> None:
    """Each kind of message about a room survives both codecs."""
    for message in (view(1, 0), turn(1, 0), Presence(room=ROOM, seats=(True,), watching=0)):
        assert parse_server_message(format_message(message)) == message


def test_a_snapshot_may_take_v_back() -> None:
    """A restored backup has fewer events than the client knew."""
    model = play(
        at(1, started()), at(2, Hidden()), Snapshot(room=ROOM, v=1, seats=(None, None), match=None)
    )
    assert (model.v, model.match) == (1, None)


def test_missing_events_come_too_late_after_a_gap() -> None:
    model = play(at(1, started()), moved(3, 1), moved(2, 0))
    assert (model.v, model.ply, model.in_step) == (1, 0, False)


def test_an_offer_of_a_draw_lapses_by_the_other_sides_move() -> None:
    """The offer lapses as in the server's room; a move by the side that offered leaves it open."""
    ben = Actor("ben", "Ben")
    moves = [
        Move(id=str(ply), room=ROOM, ply=ply, move=cell)
        for ply, cell in enumerate(("a1", "b1", "c1"))
    ]
    commands: list[tuple[Actor, Incoming]] = [
        (ADA, Sit(id="s", room=ROOM, seat=0)), (ben, Sit(id="s", room=ROOM, seat=1)),
        (ADA, OfferDraw(id="o", room=ROOM)), (ADA, moves[0]), (ben, moves[1]),
        (ben, OfferDraw(id="o", room=ROOM)), (ADA, moves[2]),
    ]  # fmt: skip
    model = Model(room=ROOM)
    seen = []
    for room, happened in room_history(commands):
        model = apply(model, happened)
        assert model.offers == room.offers
        seen.append(model.offers)
    assert seen[-5:] == [(0,), (0,), (), (1,), ()]
