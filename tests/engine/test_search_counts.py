"""What a search counts: cut-offs, table hits, the nodes and exact depths of each root move, and the
best moves of its depths.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

import pytest

from engine.conformance.checks import playouts
from engine.game import Position
from engine.rules.registry import load_game
from engine.search.driver import Control, Running, Searcher, Table, answer
from engine.search.job import MATE, MAX_LINE_MOVES, Counts, Info, Job, Limit
from engine.search.layout import INF
from engine.search.report import Report

#: A function from a game's id to its searcher, such as the fixture `searcher_of`.
Searchers = Callable[[str], Searcher]
#: The features of a search without any: the moves are in the order of the rules.
NO_FEATURES = 0


def job_of(position: Position, limit: Limit) -> Job:
    game = position.game
    options = dict(position.options)
    return Job(game.id, game.digest, options, position.text(), (), "room", limit=limit)


def infos_of(searcher: Searcher, position: Position, limit: Limit) -> list[Info]:
    """The infos of the depths of a search with one thread and an empty table."""
    infos: list[Info] = []
    job = job_of(position, limit)
    answer(job, searcher, lambda: Table(14), Control(), on_info=infos.append)
    return infos


def sample(game_id: str, count: int) -> Iterator[Position]:
    """Positions of random matches with moves to choose from."""
    rng = random.Random(f"counts {game_id}")
    game = load_game(game_id)
    matches = playouts(game, 6, seed=3)
    found = [each for match in matches for each in match if len(each.moves()) > 1]
    yield from rng.sample(found, min(count, len(found)))


# --- an independent count


@dataclass
class Oracle:
    """The same search written anew on positions, without features: it counts the cut-offs."""

    cuts: int = 0
    first_cuts: int = 0

    def value(self, position: Position, depth: int, alpha: int, beta: int, ply: int) -> int:
        outcome = position.outcome()
        if outcome is not None:
            if outcome.winner is None:
                return 0
            return MATE - ply if outcome.winner == position.turn else ply - MATE
        if depth == 0:
            return int(position.game.rules.evaluate(position.state, None))
        best = -MATE
        for number, move in enumerate(position.moves()):
            child = position.play(move)
            low = max(alpha, best)
            value = self.child(child, depth, low, beta if number == 0 else low + 1, ply)
            if number > 0 and low < value < beta:
                value = self.child(child, depth, low, beta, ply)
            best = max(best, value)
            if value >= beta:
                self.cuts += 1
                self.first_cuts += number == 0
                break
        return best

    def child(self, child: Position, depth: int, low: int, high: int, ply: int) -> int:
        return -self.value(child, depth - 1, -high, -low, ply + 1)

    def search(self, position: Position, moves: list[int], depth: int) -> list[int]:
        """Searches the root moves in this order; returns them in the order of the next depth."""
        best, scores = -INF, list[int]()
        for number, move in enumerate(moves):
            child = position.play(move)
            value = best + 1
            if number > 0:
                value = self.child(child, depth, best, best + 1, 0)
            if value > best:
                best = value = self.child(child, depth, best, INF, 0)
            scores.append(value)
        order = sorted(range(len(moves)), key=lambda i: -scores[i])
        return [moves[i] for i in order]


@pytest.mark.parametrize(("game_id", "depth"), [("tic-tac-toe", 5), ("connect-four", 4)])
def test_cut_offs_are_those_of_the_algorithm(
    game_id: str, depth: int, searcher_of: Searchers
) -> None:
    """The cut-offs, and those by the first move, are as many as in the same search on positions."""
    searcher = searcher_of(game_id)
    for position in sample(game_id, 6):
        reports = list[Report]()
        searcher.search(
            position, Limit(depth=depth), Table(10), Control(), features=NO_FEATURES,
            on_depth=reports.append,
        )  # fmt: skip
        oracle, moves = Oracle(), position.moves()
        for report in reports:
            moves = oracle.search(position, moves, report.depth)
            assert moves == [move for move, _, _ in report.moves]
            assert report.counts == Counts(oracle.cuts, oracle.first_cuts)


# --- what holds for every search


@pytest.mark.parametrize("game_id", ["connect-four", "chess", "kalah"])
def test_counts_add_up(game_id: str, searcher_of: Searchers) -> None:
    """The nodes of the root moves are all nodes of the search; cut-offs by the first move are among
    the cut-offs, and values from the table among its hits; no count falls.
    """
    for position in sample(game_id, 8):
        infos = infos_of(searcher_of(game_id), position, Limit(depth=5))
        before = Counts()
        for info in infos:
            counts = info.counts
            assert sum(move.nodes for move in info.moves) == info.nodes
            assert counts.first_cuts <= counts.cuts <= info.nodes
            assert counts.table_cuts <= counts.table_hits <= info.nodes
            assert before.cuts <= counts.cuts
            assert before.table_hits <= counts.table_hits
            before = counts
        if infos[-1].nodes > 1000:
            assert before.first_cuts > 0
            assert before.table_cuts > 0


def test_the_depths_tell_how_the_search_went(searcher_of: Searchers) -> None:
    """Each depth has the best move at the head of its line; a move has the depths at which its
    score was exact. A better move of an unfinished depth is the last.
    """
    unfinished = 0
    for number, position in enumerate(sample("connect-four", 60)):
        limit = Limit(depth=9, nodes=None if number % 4 == 0 else 200 + 97 * number)
        infos = infos_of(searcher_of("connect-four"), position, limit)
        bests: list[tuple[int, str]] = []
        for before, info in pairwise([None, *infos]):
            assert info is not None
            is_unfinished = before is not None and info.depth == before.depth
            unfinished += is_unfinished
            bests.append((info.depth + is_unfinished, info.pv[0]))
            assert [(best.depth, best.line[0]) for best in info.depths] == bests
            last = info.depths[-1]
            assert (last.score, last.line) == (info.score, info.pv[:MAX_LINE_MOVES])
            for move in info.moves:
                led = [depth for depth, best in bests if best == move.move]
                assert set(led) <= set(move.exact)
                assert list(move.exact) == sorted(set(move.exact))
                if not is_unfinished:
                    assert (info.depth in move.exact) == (move.bound == "exact")
    assert unfinished > 0, "no search was stopped after it had found a better move"


def test_live_counts_go_on_during_a_depth(searcher_of: Searchers) -> None:
    """A report between two depths has the counts of its moment and the record of the last one."""
    position = load_game("connect-four").start()
    seen: list[tuple[Info, Info]] = []
    running: list[Running] = []

    @contextmanager
    def watch(each: Running) -> Iterator[None]:
        running[:] = [each]
        yield

    def receive(info: Info) -> None:
        live = running[0].live()
        assert live is not None
        seen.append((info, live))

    answer(
        job_of(position, Limit(depth=6)), searcher_of("connect-four"), lambda: Table(14),
        Control(), on_info=receive, watch=watch,
    )  # fmt: skip
    for info, live in seen:
        assert live.counts == info.counts
        assert (live.depths, live.moves) == (info.depths, info.moves)
    assert seen[-1][0].counts.cuts > 0
