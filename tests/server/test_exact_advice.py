"""No hint, comment of the coach, mark or chance contradicts the exact result of a position.

The positions and their results are those of tests/oracle/exact_results.py, within the limits of the
product's solvers. The bot, the coach and the analyses run on the searches of a worker.
"""

import asyncio
import functools
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from engine.rules.registry import load_game
from engine.search.driver import Control, Searcher, Table, answer
from engine.search.job import MATE, Info, Job, Load, Result, RootMove
from engine.search.report import resolve
from server.analysis.report import Reports
from server.analysis.requests import request_analysis
from server.analysis.runner import open_analyses
from server.analysis.words import PositionEntry
from server.bot.coach import open_coach
from server.commands import Resign
from server.ids import IdentityId, MatchId, RoomId
from server.ports import OnInfo
from server.runtime.node.hub import Hub
from tests.oracle.exact_results import Decisive, Exact, decisive_positions, exact_moves
from tests.support.analyses import stored_match
from tests.support.bots import bot_of, private_answer
from tests.support.fake_server import Client, FakeServer, Message, ScriptedEngines, virtual

#: The number of positions of each game.
POSITIONS = {"connect-four": 70, "othello": 70, "draughts": 60}
#: A draw may be given this chance to win, in percent, while nothing is proven.
DRAWN_CHANCES = range(26, 75)
#: A result in words, in a sentence or in `says`.
WINS = re.compile(r"\b(?:wins|a forced win|a win|can win|could have won)\b")
LOSES = re.compile(r"\b(?:loses|a forced loss|a loss|it loses)\b")
DRAWS = re.compile(r"\b(?:draws|a draw)\b")
ADA = IdentityId("ada")


@functools.cache
def searcher_of(game_id: str) -> Searcher:
    """The compiled search of a game with its solver, as a worker has it."""
    searcher = Searcher(load_game(game_id))
    searcher.add_solver()
    return searcher


class WorkerEngines(ScriptedEngines):
    """Engines that run each job in the test's process as a worker does."""

    def load(self) -> Load:
        return Load(0, 0, 2)

    async def search(self, job: Job, on_info: OnInfo, time_ms: int | None = None) -> Result:
        self.jobs.append(job)
        return answer(job, searcher_of(job.game), lambda: Table(10), Control(), on_info=on_info)


class ExactEngines(WorkerEngines):
    """Engines that know the exact result of every move."""

    async def search(self, job: Job, on_info: OnInfo, time_ms: int | None = None) -> Result:
        self.jobs.append(job)
        moves = [
            RootMove(token, exact_score(exact), line=(token,))
            for token, exact in exact_moves(resolve(job, load_game(job.game))).items()
        ]
        moves.sort(key=lambda move: -move.score)
        best = moves[0]
        return Result(best.move, Info(9, best.score, 1, 1, 1, best.line, tuple(moves)))


def exact_score(exact: Exact) -> int:
    """An exact result as a score of the search."""
    return exact.result * (MATE - (20 if exact.plies is None else exact.plies))


class Contradictions:
    """What the advice on one position claims against the exact results, by kind."""

    def __init__(self, decisive: Decisive) -> None:
        self.decisive = decisive
        self.found: list[tuple[str, str]] = []

    def add(self, kind: str, text: str) -> None:
        self.found.append((kind, f"{self.decisive.position.text()}: {text}"))

    def check_best(self, source: str, token: str) -> None:
        """The move that is called best must keep the result."""
        if token not in self.decisive.kept:
            self.add(f"{source}: the best move gives the result away", token)

    def check_claim(self, source: str, exact: Exact, candidate: Message) -> None:
        """What is said of a move, and its chance, must fit its exact result."""
        says, chance = candidate.get("says", ""), candidate.get("chance")
        bound = candidate.get("bound", "exact")
        words = f"{candidate['move']} {says} ({exact})"
        for pattern, result in ((WINS, 1), (LOSES, -1), (DRAWS, 0)):
            if pattern.search(says):
                if exact.result != result:
                    self.add(f"{source}: a false result", words)
                return
        if chance is None:
            return
        may_be_less, may_be_more = bound == "upper", bound == "lower"
        if exact.result > 0:
            is_false = chance < 50 and not may_be_more
        elif exact.result < 0:
            is_false = chance > 50 and not may_be_less
        else:
            is_false = (chance >= DRAWN_CHANCES.stop and not may_be_less) or (
                chance < DRAWN_CHANCES.start and not may_be_more
            )
        if is_false:
            self.add(f"{source}: a chance against the result", words)

    def check_comment(self, text: str, token: str) -> None:
        """The coach calls no move a mistake that keeps the result, and none the only good one
        beside another.
        """
        praise = re.search(r"very other (?:one|move) (loses|only draws|draws or loses)[.,]", text)
        if praise is not None:
            self.check_praise(praise[1], token, text)
            return
        names_best = re.search(
            r"(\S+) was better|Better was (\S+?)[,.]"
            r"|(?:but|worse: it [^.]+\.|Coach:) (\S+) (?:wins|draws)",
            text,
        )
        bound = re.search(r"(\d+) % (?:to win )?or less", text)
        if bound is not None:
            if self.decisive.kept != [token]:
                self.add("coach: praise of one of several moves", text)
            best = max(exact.result for move, exact in self.decisive.moves.items() if move != token)
            claim = {"move": "the others", "chance": int(bound[1]), "bound": "upper"}
            self.check_claim("coach", Exact(best), claim)
        elif token in self.decisive.kept:
            self.add("coach: a move that keeps the result is a mistake", text)
        elif names_best is not None:
            name = names_best[1] or names_best[2] or names_best[3]
            position = self.decisive.position
            self.check_best("coach", position.format_move(position.parse_move(name)))

    def check_praise(self, others: str, token: str, text: str) -> None:
        """The praised move is the only one with its result; the others do what is said of them."""
        verb = {1: "wins", 0: "draws"}.get(self.decisive.result, "nothing")
        results = {exact.result for move, exact in self.decisive.moves.items() if move != token}
        expected = {(0,): "only draws", (-1,): "loses", (-1, 0): "draws or loses"}
        if self.decisive.kept != [token] or not re.search(rf"\b{verb}\b", text):
            self.add("coach: praise of one of several moves", text)
        if others != expected.get(tuple(sorted(results))):
            self.add("coach: what the other moves do", text)

    def check_entry(self, entry: PositionEntry, token: str) -> None:
        """The analysis of the position, and its mark of the move that was played."""
        assert entry.best is not None
        self.check_best("analysis", entry.best)
        for candidate in entry.candidates:
            claim = {"move": candidate.move, "says": candidate.says, "chance": candidate.chance}
            self.check_claim("analysis", self.decisive.moves[candidate.move], claim)
        chance = entry.chance if entry.seat == 0 else 100 - entry.chance
        whole = {"move": "position", "says": entry.says, "chance": chance}
        self.check_claim("analysis of the position", Exact(self.decisive.result), whole)
        if token in self.decisive.kept and entry.mark is not None:
            self.add(f"analysis: {entry.mark} for a move that keeps the result", entry.says_mark)
        if token in self.decisive.given_away and entry.mark is None:
            self.add("analysis: no mark for a move that gives the result away", token)
        others = self.decisive.kept != [token] and len(self.decisive.kept) > 1
        if entry.only and others:
            self.add("analysis: the only move of several", entry.text)


@asynccontextmanager
async def room_at(
    fake: FakeServer, decisive: Decisive
) -> AsyncIterator[tuple[Hub, Client, RoomId]]:
    """A room whose match starts from the position; Ada plays both sides, with the bot and coach."""
    async with fake.hub() as hub, bot_of(hub) as bot, open_coach(hub, bot):
        ada = Client(hub, ADA)
        game_id, start = decisive.position.game.id, decisive.position.text()
        room = await ada.create(game_id, one_screen=True, start=start)
        await ada.ack(ada.join(room))
        yield hub, ada, room


async def ask_for_a_hint(
    decisive: Decisive, engines: ScriptedEngines, found: Contradictions
) -> None:
    """Checks /hint and /best in the position."""
    fake = FakeServer().unlimited()
    fake.engines = engines
    async with room_at(fake, decisive) as (_, ada, room):
        hint = await private_answer(ada, room, "/hint")
        found.check_best("hint", hint["candidates"][0]["move"])
        for candidate in hint["candidates"]:
            found.check_claim("hint", decisive.moves[candidate["move"]], candidate)
        best = await private_answer(ada, room, "/best")
        found.check_best("best", best["candidates"][0]["move"])
        pieces = (await private_answer(ada, room, "/hint piece"))["text"]
        named = re.findall(r"[^ ,:]+", pieces.partition("best move: ")[2].rstrip("."))
        tokens = {decisive.position.notation(move): move for move in decisive.position.moves()}
        kept = {decisive.position.parse_move(token) for token in decisive.kept}
        if named and not kept & {tokens.get(name) for name in named}:
            found.add("hint piece: none of the moves keeps the result", pieces)


async def play_with_the_coach(
    decisive: Decisive, token: str, engines: ScriptedEngines, found: Contradictions
) -> None:
    """Checks the coach's comment on a move, and the analysis of the match that ends with it."""
    fake = FakeServer().unlimited()
    fake.engines = engines
    async with room_at(fake, decisive) as (hub, ada, room):
        await private_answer(ada, room, "/coach on")
        await ada.ack(ada.move(room, 0, token))
        for _ in range(50):  # the searches run in the loop, so the coach needs no time
            await asyncio.sleep(0)
        is_over = decisive.position.replay(token).outcome() is not None
        assert is_over or len(engines.jobs) >= 2, "the coach has searched both positions"
        for message in ada.of("answer"):
            if message.get("about") == "coach":
                found.check_comment(message["text"], token)
        if not is_over:
            await ada.ack(ada.plain(Resign, room))
        runner = hub.runner(room)
        assert runner is not None
        assert runner.room is not None
        assert runner.room.match is not None
        match = MatchId(runner.room.match.id)
    async with open_analyses(fake.ports("n1")) as feed:
        stored = await stored_match(fake, match)
        assert await request_analysis(fake.ports("n1"), stored, ADA)
        feed.publish(match)
        async with asyncio.timeout(600):
            while (report := await Reports(fake.ports("n1")).of(stored)).state != "done":
                assert report.state != "failed", report.reason
                await asyncio.sleep(0.1)
    found.check_entry(report.moves[0], token)
    if not is_over:
        after = decisive.position.replay(token)
        following = Contradictions(Decisive(after, exact_moves(after)))
        entry = report.moves[1]
        chance = entry.chance if entry.seat == 0 else 100 - entry.chance
        claim = {"move": "position", "says": entry.says, "chance": chance}
        following.check_claim("analysis of the position", Exact(following.decisive.result), claim)
        found.found += following.found


def contradictions(
    decisive: Decisive, make_engines: Callable[[], ScriptedEngines]
) -> list[tuple[str, str]]:
    """All contradictions of the advice on one position, with a move of each sort played."""
    found = Contradictions(decisive)

    @virtual
    async def run() -> None:
        await ask_for_a_hint(decisive, make_engines(), found)
        for token in (decisive.kept[-1], decisive.given_away[0]):
            await play_with_the_coach(decisive, token, make_engines(), found)

    run()
    return found.found


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("game_id", POSITIONS)
def test_no_advice_contradicts_the_exact_result(game_id: str) -> None:
    """In 200 positions of three games no advice contradicts the result of perfect play."""
    found = list[tuple[str, str]]()
    false_positions = 0
    for decisive in decisive_positions(game_id, POSITIONS[game_id]):
        here = contradictions(decisive, WorkerEngines)
        found += here
        false_positions += bool(here)
    kinds = Counter(kind for kind, _ in found)
    assert not found, f"{false_positions} positions: {dict(kinds)}, such as {found[:5]}"


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("game_id", POSITIONS)
def test_exact_scores_make_advice_without_contradictions(game_id: str) -> None:
    """The checks above find nothing where the engines score every move exactly."""
    for decisive in decisive_positions(game_id, 15, seed=2):
        assert contradictions(decisive, ExactEngines) == []
