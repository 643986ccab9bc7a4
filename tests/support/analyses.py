"""Matches to analyse, and engines whose results depend on the job alone."""

import asyncio

from engine.null_move import null_move
from engine.rules.registry import load_game
from engine.search.job import Info, Job, Load, Result, RootMove
from server.commands import AiSeat, MySeat, OpenSeat, Resign, Takeback
from server.ids import MatchId
from server.ports import OnInfo
from server.protocol import messages as wire
from server.store.base import StoredMatch
from tests.support.fake_server import Client, FakeServer, ScriptedEngines

#: A match of tic-tac-toe that the first seat wins on the board.
WON = ("b2", "a1", "a2", "c2", "a3", "b1", "c1")


class SearchingEngines(ScriptedEngines):
    """Engines that search for `search_s`; `failures` are raised by the next searches.

    `workers` is the number of their processes.
    """

    def __init__(self, search_s: float = 0.1) -> None:
        super().__init__()
        self.search_s = search_s
        self.workers = 2
        self.failures: list[Exception] = []

    def load(self) -> Load:
        return Load(0, 0, self.workers)

    async def search(self, job: Job, on_info: OnInfo, time_ms: int | None = None) -> Result:
        self.jobs.append(job)
        self.requested.set()
        try:
            await asyncio.sleep(self.search_s)
        except asyncio.CancelledError:
            self.cancelled.append(job)
            raise
        if self.failures:
            raise self.failures.pop(0)
        return made_up_result(job)


def made_up_result(job: Job) -> Result:
    """A result that depends on the moves of the job alone, with as many lines as the job wants."""
    position = load_game(job.game).position(job.start, job.options)
    for token in job.moves:
        position = position.replay(token)
    if job.null_move:
        position = null_move(position)
    scores = {
        token: (sum(map(ord, token)) * 37 + 101 * len(job.moves)) % 700 - 350
        for token in position.tokens()
    }
    ranked = sorted(scores, key=lambda token: (-scores[token], token))
    scored, rest = ranked[: job.lines], ranked[job.lines :]
    moves = [
        RootMove(token, scores[token], line=(token,) if job.lines > 1 else ()) for token in scored
    ]
    moves += [RootMove(token, scores[scored[-1]], "upper") for token in rest]
    info = Info(5, scores[ranked[0]], 60_000, 1, 1, (ranked[0],), tuple(moves))
    return Result(ranked[0], info)


def analysing_server(search_s: float = 0.1) -> FakeServer:
    """A fake server with such engines."""
    fake = FakeServer()
    fake.engines = SearchingEngines(search_s)
    return fake


async def play_match(
    fake: FakeServer, *moves: str, resigns: bool = False, game: str = "tic-tac-toe"
) -> MatchId:
    """Plays a match between two guests; returns its id."""
    async with fake.hub("played") as hub:
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        room = await ada.create(game, seats=(MySeat(), OpenSeat()))
        await ada.ack(ada.join(room))
        await ben.ack(ben.join(room))
        await ben.ack(ben.sit(room, 1))
        started = await ada.event("started")
        for ply, move in enumerate(moves):
            player = (ada, ben)[ply % 2]
            await player.ack(player.move(room, ply, move))
        if resigns:
            await ada.ack(ada.plain(Resign, room))
        return MatchId(started["match"])


async def play_match_with_takeback(fake: FakeServer) -> MatchId:
    """Plays a match against the AI in which the first two moves are taken back; returns its id."""
    async with fake.hub("played") as hub:
        ada = Client(hub, "ada")
        room = await ada.create(seats=(MySeat(), AiSeat(1)))
        await ada.ack(ada.join(room))
        for move in ("a1", "b2"):
            since = len(ada.messages)
            await ada.ack(ada.move(room, 0, move))
            await ada.until(lambda m: m["t"] == "turn" and m["ply"] == 2, since)
            if move == "a1":
                await ada.ack(wire.CommandFrame(room, Takeback(id=ada.new_id(), ply=2)))
        await ada.ack(ada.plain(Resign, room))
        return MatchId((await ada.event("moved"))["match"])


async def stored_match(fake: FakeServer, match_id: MatchId) -> StoredMatch:
    """The row of a match."""
    match = await fake.store.memory.projections.match(match_id)
    assert match is not None
    return match
