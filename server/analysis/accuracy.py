"""How much each move of a match lost, and the accuracy of both sides. Pure.

The loss of a move is the chance to win of the best move minus that of the played move.

- If the search of the position before the move scored the played move exactly, both chances are
  from that search.
- Otherwise the played move has the chance of the position after it, but at most that of the worst
  move that the search scored.
- If the best move wins by force, a move that does not has the chance of the position after it. The
  search ended at the depth of the forced win, so its other scores mean little.
- Where the result of the position after the move is proven, the move has that result. So a move
  that keeps a proven result loses nothing.

The accuracy of a side is 100 x (1 - mean loss).
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from engine.game import Position
from engine.win_chance import win_chance
from server.analysis.positions import PlyResult

#: The name of a move that loses much.
Mark = Literal["inaccuracy", "mistake", "blunder"]
#: The least loss of each mark, from 0 to 1, the greatest first.
MARKS: tuple[tuple[float, Mark], ...] = (
    (0.20, "blunder"), (0.10, "mistake"), (0.05, "inaccuracy"),
)  # fmt: skip
#: The least loss of a mistake, from 0 to 1.
MISTAKE_LOSS = 0.10


class PositionJudgement(Struct, frozen=True):
    """The judgement of a position: the seat to move, its chance to win, and its scored moves with
    their chances, the best one first. A position in which the match is over has no moves.

    `is_proven` says that the result is known, because a solver has proved it or the match is over.
    With `is_partial` it is not known how good the moves are that have no chance here.
    """

    seat: int
    chance: float
    moves: tuple[tuple[str, float], ...] = ()
    is_forced: bool = False
    is_proven: bool = False
    is_partial: bool = False

    def chance_of(self, seat: int) -> float:
        """The chance to win of a seat."""
        return self.chance if seat == self.seat else 1.0 - self.chance

    @property
    def has_only_move(self) -> bool:
        """Whether every move but the best one is a mistake; False for the only legal move."""
        if self.is_forced or self.is_partial or len(self.moves) < 2:
            return False
        return self.moves[0][1] - self.moves[1][1] >= MISTAKE_LOSS


class PlayedMove(Struct, frozen=True):
    """A move of the match: who made it, the mover's chance before it, and what it lost."""

    seat: int
    best: float
    played: float

    @property
    def loss(self) -> float:
        return max(0.0, self.best - self.played)

    @property
    def mark(self) -> Mark | None:
        """The mark of the loss; None for a good move."""
        loss = round(self.loss, 9)
        return next((mark for least, mark in MARKS if loss >= least), None)


class SideSummary(Struct, frozen=True):
    """The accuracy of a side in percent (None without moves), and the number of each mark."""

    accuracy: float | None
    inaccuracy: int
    mistake: int
    blunder: int


def judge_position(position: Position, result: PlyResult) -> PositionJudgement:
    """Judges a position by its search, or by its result if the match is over."""
    outcome = position.outcome()
    if outcome is not None or not result.pv:
        winner = outcome.winner if outcome is not None else None
        chance = 0.5 if winner is None else float(winner == position.turn)
        return PositionJudgement(position.turn, chance, is_proven=True)
    game = position.game
    moves = tuple((move.move, win_chance(game, move.score)) for move in result.moves)
    return PositionJudgement(
        position.turn, win_chance(game, result.score), moves,
        is_forced=len(position.moves()) == 1,
        is_proven=any(move.proven and move.move == result.pv[0] for move in result.moves),
        is_partial=result.is_partial,
    )  # fmt: skip


def judge_move(before: PositionJudgement, token: str, after: PositionJudgement) -> PlayedMove:
    """Judges a move by the judgements of the positions before and after it."""
    scored, following = dict(before.moves), after.chance_of(before.seat)
    if after.is_proven or (before.chance == 1.0 and scored.get(token) != 1.0):
        played = following
    elif token in scored:
        played = scored[token]
    elif before.is_partial:
        played = following
    else:
        played = min([following, *scored.values()])
    return PlayedMove(before.seat, before.chance, played)


def summarise(moves: Sequence[PlayedMove], seat: int) -> SideSummary:
    """The summary of the moves of one seat."""
    own = [move for move in moves if move.seat == seat]
    marks = [move.mark for move in own]
    accuracy = None
    if own:
        accuracy = round(100 * (1 - sum(move.loss for move in own) / len(own)), 1)
    return SideSummary(
        accuracy, marks.count("inaccuracy"), marks.count("mistake"), marks.count("blunder")
    )
