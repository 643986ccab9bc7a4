"""Rooms of games in which a side may move again after its own move."""

import msgspec
import pytest

from engine.search.job import Job
from server.codes import Code
from server.commands import OfferDraw, Rematch, Resign
from server.protocol import messages as wire
from server.protocol import views
from server.rooms.permissions import offer_draw, viewer_of
from server.rooms.refusals import NO_DRAWS
from tests.server.test_api import get
from tests.support.fake_server import Client, FakeServer, first_legal, virtual
from tests.support.node import serve
from tests.support.room_log import ADA, BEN, LoggedRoom, plain, seated
from tests.support.two_players import AI1, ME, playing


def kalah(tokens: str) -> LoggedRoom:
    """A room of Kalah in which these moves were played: those on row 1 by Ada."""
    room = seated(game="kalah")
    for token in tokens.split():
        room.do(ADA if token[1] == "1" else BEN, room.move(token))
    return room


def test_a_player_moves_again() -> None:
    """After a move that keeps the turn the same player moves, and the other one may not."""
    room = kalah("c1")
    assert room.match.turn == 0
    assert room.refuse(BEN, room.move("a2")) is Code.MOVE_NOT_YOUR_TURN
    room.do(ADA, room.move("f1"))
    assert room.match.turn == 1
    assert room.refuse(ADA, room.move("a1")) is Code.MOVE_NOT_YOUR_TURN
    assert room.fold() == room.room


def test_each_move_has_its_number_and_its_seat() -> None:
    """Moves are numbered one by one; the snapshot names the seat where it is not the ply's."""
    room = kalah("c1 f1 e2 a2 b1")
    match = views.snapshot(room.fold(), True).match
    assert match is not None
    assert [played.number for played in match.moves] == ["1.", "2.", "3.", "4.", "5."]
    assert [played.seat for played in match.moves] == [None, 0, 1, None, None]


def test_an_offer_stands_until_the_other_side_moves() -> None:
    """An offered draw stands while the player who offered it moves on."""
    room = seated(game="kalah")
    room.do(ADA, plain(OfferDraw))
    room.do(ADA, room.move("c1"))
    room.do(ADA, room.move("f1"))
    assert list(room.room.offers) == [0]
    room.do(BEN, room.move("d2"))
    assert list(room.room.offers) == []


@pytest.mark.parametrize(("size", "is_refused"), [("3", True), ("4", False), ("5", True)])
def test_nobody_offers_a_draw_where_the_options_exclude_one(size: str, is_refused: bool) -> None:
    """Nine boxes cannot be halved, so no client gets the button; sixteen can."""
    room = seated(game="dots-and-boxes", options={"size": size})
    viewer = viewer_of(room.room, ADA.identity)
    assert (offer_draw(room.room, viewer) is NO_DRAWS) is is_refused
    if is_refused:
        room.refuse(ADA, plain(OfferDraw))


@pytest.mark.parametrize("tokens", ["c1", "c1 f1", "c1 f1 d2"])
def test_a_rematch_swaps_the_seats(tokens: str) -> None:
    """After any last move, in a rematch the players swap seats and the first seat begins."""
    room = kalah(tokens)
    room.do(ADA, plain(Resign))
    room.do(ADA, plain(Rematch))
    room.do(BEN, plain(Rematch))
    assert [seat.identity for seat in room.match.seats] == [BEN.identity, ADA.identity]
    assert (room.match.number, room.match.turn, room.match.first_seat) == (2, 0, 0)
    assert room.refuse(ADA, room.move("c1")) is Code.MOVE_NOT_YOUR_TURN
    room.do(BEN, room.move("c1"))


@virtual
async def test_the_player_to_move_gets_the_moves_again() -> None:
    """After each of its moves the player who keeps the turn receives the next legal moves."""
    async with playing("kalah") as (_, _, room, ada, ben):
        await ada.ack(ada.move(room, 0, "c1"))
        turn = await ada.until(lambda m: m["t"] == "turn" and m["v"] > 4 and m["moves"])
        assert {move["id"] for move in turn["moves"]} == {"a1", "b1", "d1", "e1", "f1"}
        assert not any(m["t"] == "turn" and m["moves"] for m in ben.messages)


@virtual
async def test_the_ai_moves_again() -> None:
    """An AI that keeps the turn searches again, with its own moves in the job."""
    fake = FakeServer()

    async def take_the_extra_turn(job: Job) -> str:
        return "d2" if len(job.moves) == 1 else await first_legal(job)

    fake.engines.answer = take_the_extra_turn
    async with fake.hub() as hub:
        ada = Client(hub, "ada")
        room = await ada.create("kalah", seats=(ME, AI1))
        await ada.ack(ada.join(room))
        await ada.ack(ada.move(room, 0, "e1"))
        await ada.until(lambda m: m["t"] == "event" and m["kind"] == "moved" and m["ply"] == 2)
        assert [job.moves for job in fake.engines.jobs] == [("e1",), ("e1", "d2")]
        movers = [m["seat"] for m in ada.messages if m["t"] == "event" and m["kind"] == "moved"]
        assert movers == [0, 1, 1]


async def test_a_replay_has_the_moves_of_both_sides() -> None:
    """A stored match names its movers and has a view for each ply."""
    async with serve(FakeServer()) as node:
        ada, ben = Client(node.hub, "ada"), Client(node.hub, "ben")
        room = await ada.create("kalah")
        await ada.ack(ada.join(room))
        await ben.ack(ben.sit(room, 1))
        for ply, (player, token) in enumerate(((ada, "c1"), (ada, "f1"), (ben, "e2"))):
            await player.ack(player.move(room, ply, token))
        await ada.ack(ada.plain(Resign, room))
        (entry,) = (await get(node, "/api/matches"))["matches"]
        match = await get(node, f"/api/matches/{entry['match']}")
        shown = await get(node, f"/api/matches/{entry['match']}/views?from=0&to=3")
    moves = [msgspec.convert(move, wire.Played) for move in match["moves"]]
    assert [(move.move, move.seat) for move in moves] == [("c1", None), ("f1", 0), ("e2", 1)]
    assert match["length"] == "3 moves"
    assert [view["view"]["turn"] for view in shown["views"]] == [0, 0, 1, 1]
