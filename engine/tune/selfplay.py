"""Self-play at fixed nodes from random openings, which gives the tuner its positions."""

import random
from collections.abc import Callable

import numpy as np

from engine.game import Game, Position
from engine.search import layout
from engine.search.driver import Control, Searcher, Table
from engine.search.job import Limit
from engine.tune.games import Plan, PlayedMatch, WorkFile

#: Size of the search's table, as a power of two of entries.
TABLE_BITS = 16
#: Plies after which a match counts as a draw.
MAX_PLIES = 600
#: Consecutive plies with a decisive score that end a match.
DECIDED_PLIES = 6


class SelfPlay:
    """Plays the matches of a plan; each match depends on its number only."""

    def __init__(self, game: Game, plan: Plan) -> None:
        self.game = game
        self.plan = plan
        self._searcher = Searcher(game)
        self._table = Table(TABLE_BITS)
        self._control = Control()

    def fill(
        self, file: WorkFile, count: int, on_match: Callable[[int], None] = lambda count: None
    ) -> None:
        """Plays until the file has `count` matches."""
        while file.count < count:
            file.add(self.play_match(file.count))
            on_match(file.count)

    def play_match(self, number: int) -> PlayedMatch:
        """Plays a random opening, then the best moves of both sides.

        The match ends early when the search finds a forced win or loss, when a draw may be claimed,
        and when both sides have reported the plan's decisive score.
        """
        position, moves = draw_opening(
            self.game, self.plan, random.Random(f"{self.plan.seed}:{number}")
        )
        self._table.memory.array.fill(0)
        kept: list[int] = []
        scores: list[int] = []
        leads: list[int] = []
        while position.moves() and position.claim() is None and len(moves) < MAX_PLIES:
            report = self._searcher.search(
                position, Limit(nodes=self.plan.nodes), self._table, self._control
            )
            if abs(report.score) > layout.MATE_BOUND:
                return PlayedMatch(
                    number,
                    " ".join(moves),
                    _points(position.turn, report.score),
                    tuple(kept),
                    tuple(scores),
                )
            leads.append(report.score if position.turn == 0 else -report.score)
            if self.plan.decided and is_decided(leads, self.plan.decided):
                return PlayedMatch(
                    number, " ".join(moves), _points(0, leads[-1]), tuple(kept), tuple(scores)
                )
            move = report.line[0]
            if is_quiet(position, move):
                kept.append(len(moves))
                scores.append(report.score)
            moves.append(position.format_move(move))
            position = position.play(move)
        outcome = position.outcome()
        result = 0.5 if outcome is None or outcome.winner is None else float(outcome.winner == 0)
        return PlayedMatch(number, " ".join(moves), result, tuple(kept), tuple(scores))


def draw_opening(game: Game, plan: Plan, rng: random.Random) -> tuple[Position, list[str]]:
    """Draws a random opening of the plan's length; returns its position and moves.

    It draws again if the match is already over there.
    """
    while True:
        position = game.start(plan.options)
        played = []
        for _ in range(rng.randint(plan.least_random, plan.most_random)):
            moves = position.moves()
            if not moves:
                break
            move = rng.choice(moves)
            played.append(position.format_move(move))
            position = position.play(move)
        if position.moves():
            return position, played


def is_decided(leads: list[int], decided: int) -> bool:
    """Whether the last DECIDED_PLIES searches all had the same side ahead by `decided` or more."""
    latest = leads[-DECIDED_PLIES:]
    return len(latest) == DECIDED_PLIES and (min(latest) >= decided or max(latest) <= -decided)


def is_quiet(position: Position, best: int) -> bool:
    """Whether a static evaluation is meaningful: a stable position with a quiet best move."""
    rules = position.game.rules
    state = position.state
    with np.errstate(over="ignore"):
        if rules.unstable is not None and rules.unstable(state):
            return False
        if rules.tactical is not None:
            buffer = [0] * int(rules.MAX_MOVES)
            return best not in buffer[: rules.tactical(state, buffer)]
    return True


def _points(turn: int, score: int) -> float:
    """The first seat's result of a match that the score decides."""
    return float((score > 0) == (turn == 0))
