"""`python -m server.bench peers`: its pairs play whole matches, and its report marks missed
targets.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from server.bench.peers import boardgame
from server.bench.peers.boardgame import BoardgamePair, PeerMissing
from server.bench.peers.loads import opened_pairs
from server.bench.peers.measure import PLYROOM, RELAY, raise_descriptor_limit
from server.bench.peers.play import DRAWN_CELLS, Pace, Peer
from server.bench.peers.plyroom import moves_in as moves_in_event
from server.bench.peers.relay import NO_SEAT, Match, Move, serve_relay
from server.bench.peers.report import best, table, verdict
from server.bench.players import Player
from server.bench.processes import Process
from tests.support.server_process import NO_RATE_LIMITS, serving


class CountedPace(Pace):
    """A pace that sets `done` after this number of moves."""

    def __init__(self, moves: int) -> None:
        super().__init__()
        self._wanted = moves
        self.done = asyncio.Event()

    def record(self, latency_ms: float) -> None:
        super().record(latency_ms)
        if self.moves >= self._wanted:
            self.done.set()


async def play_matches(peer: Peer, port: int, moves: int) -> Pace:
    """Lets three pairs play until they have made this number of moves."""
    pace = CountedPace(moves)
    async with opened_pairs(peer, Process(0, port, 0.0), pace, 3):
        pace.release()
        async with asyncio.timeout(60):
            await pace.done.wait()
    return pace


async def test_pairs_play_matches_on_the_relay() -> None:
    """Pairs play one match after another on the relay, and each move has a latency."""
    ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    relay = asyncio.create_task(serve_relay(ready.set_result))
    pace = await play_matches(RELAY, await ready, 100)
    assert len(pace.latencies_ms) == pace.moves
    relay.cancel()
    await asyncio.wait({relay})


async def test_pairs_play_matches_on_our_server(tmp_path: Path) -> None:
    """Pairs play one match after another in their rooms."""
    async with serving(tmp_path / "data", **NO_RATE_LIMITS) as server:
        await play_matches(PLYROOM, server.port, 60)


def test_the_relay_checks_moves() -> None:
    """The relay refuses moves out of turn and on taken cells, and detects a win."""
    match = Match("m")
    assert match.play(1, Move(0, 0)) is None
    assert match.play(NO_SEAT, Move(0, 0)) is None
    for ply, cell in enumerate((0, 3, 1, 4)):
        assert match.play(ply % 2, Move(ply, cell)) is not None
    assert match.play(0, Move(4, 3)) is None
    won = match.play(0, Move(4, 2))
    assert won is not None
    assert won.is_won


def test_the_match_of_the_load_is_drawn() -> None:
    """The load's moves fill the board and nobody wins."""
    match = Match("m")
    results = [match.play(ply % 2, Move(ply, cell)) for ply, cell in enumerate(DRAWN_CELLS)]
    assert [each is not None and not each.is_won for each in results] == [True] * 9


class ScriptedPlayer:
    """Records what a client of boardgame.io sends."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.on_text: Callable[[bytes], None] = lambda text: None

    def send(self, text: bytes) -> None:
        self.sent.append(text)


async def test_a_match_on_boardgame_io() -> None:
    """The first player creates the match, the second enters it, and an opponent's board with one
    more move is answered with the next move; a match of nine moves is followed by another one.
    """
    pace = Pace()
    pair = BoardgamePair(7, pace)
    players = (ScriptedPlayer(), ScriptedPlayer())
    pair.players = cast(tuple[Player, Player], players)
    pair.start_next_match()
    assert players[0].sent == [b'42/tic-tac-toe,["sync","m7-1","0",null,2]']
    pair._on_text(0, b'42/tic-tac-toe,["sync","m7-1",{"state":{"_stateID":0}}]')
    assert players[1].sent == [b'42/tic-tac-toe,["sync","m7-1","1",null,2]']
    pair._on_text(1, b'42/tic-tac-toe,["sync","m7-1",{"state":{"_stateID":0}}]')
    pace.release()
    for ply in range(9):
        sent = players[ply % 2].sent[-1]
        assert sent.endswith(b',%d,"m7-1","%d"]' % (ply, ply % 2)), sent
        board = b'42/tic-tac-toe,["update","m7-1",{"_stateID":%d},[{"_stateID":9}]]' % (ply + 1)
        pair._on_text(ply % 2, board)  # the mover's own board does not count
        assert pace.moves == ply
        pair._on_text(1 - ply % 2, board)
        assert pace.moves == ply + 1
    assert players[0].sent[-1] == b'42/tic-tac-toe,["sync","m7-2","0",null,2]'


def test_updates_of_other_matches_are_ignored() -> None:
    """Only an update of the pair's current match counts."""
    update = b'42/tic-tac-toe,["update","m1-1",{"_stateID":3},[]]'
    assert boardgame.moves_in(update, "m1-1") == 3
    assert boardgame.moves_in(update, "m1-2") is None
    assert boardgame.moves_in(b'42/tic-tac-toe,["matchData","m1-1",[]]', "m1-1") is None
    assert moves_in_event(b'{"t":"event","room":"r","v":9,"kind":"said"}') is None


def test_without_node_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A machine without Node, or without boardgame.io, gets an error that names the remedy."""
    monkeypatch.setattr(boardgame, "shutil", SimpleNamespace(which=lambda name: None))
    with pytest.raises(PeerMissing, match="apt-get install nodejs npm"):
        boardgame.command(tmp_path)
    monkeypatch.setattr(boardgame, "shutil", SimpleNamespace(which=lambda name: "/usr/bin/node"))
    with pytest.raises(PeerMissing, match="make bench-peers"):
        boardgame.command(tmp_path)
    (tmp_path / "boardgame.io").mkdir()
    assert boardgame.command(tmp_path)[0] == "/usr/bin/node"


def test_the_report_compares_the_best_rounds() -> None:
    """The least time and the highest rate count, and a missed target is marked."""
    rounds = [
        {"CPU a move, us": 60.0, "moves a second": 90.0},
        {"CPU a move, us": 50.0, "moves a second": 80.0},
    ]
    assert best(rounds) == {"CPU a move, us": 50.0, "moves a second": 90.0}
    figures = {"relay": {"CPU a move, us": 10.0}, "plyroom": best(rounds)}
    figures["relay"]["moves a second"] = 1.0
    assert "  CPU a move: 5.00 x the relay" in table("a load", figures)
    lines = verdict(figures, {"relay": 4.0, "boardgame.io": 0.5})
    assert lines == ["  CPU a move beside the relay: 5.00, target 4: NOT reached", ""]


def test_the_limit_of_open_files_is_reported() -> None:
    """`raise_descriptor_limit` returns the limit in force and does not change a sufficient one."""
    limit = raise_descriptor_limit(1)
    assert raise_descriptor_limit(limit) == limit
