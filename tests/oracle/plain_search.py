"""Minimax and alpha-beta in a few lines, to compare other searches with.

The code shares nothing with the engine: a node is a function that returns pairs of a name and a
child, and a leaf is a number. MAX moves at the root, and the sides alternate.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

#: A leaf, or a node as a function that returns its moves and what they lead to.
Tree = float | Callable[[], Sequence[tuple[str, "Tree"]]]
#: The lines of three in tic-tac-toe, as indices of a board that is written row by row.
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


@dataclass(slots=True)
class Visits:
    """The moves to the visited and the skipped nodes in order, and the number of leaves."""

    prunes: bool
    visited: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    leaves: int = 0
    value: float = math.nan

    @classmethod
    def of(cls, tree: Tree, *, prunes: bool) -> "Visits":
        """Searches a tree by alpha-beta, or by minimax if it does not prune."""
        visits = cls(prunes)
        visits.value = visits._search(tree, True, -math.inf, math.inf)
        return visits

    def _search(self, tree: Tree, is_max: bool, alpha: float, beta: float) -> float:
        if not callable(tree):
            self.leaves += 1
            return tree
        best = -math.inf if is_max else math.inf
        for name, child in tree():
            if self.prunes and alpha >= beta:
                self.skipped.append(name)
                continue
            self.visited.append(name)
            value = self._search(child, not is_max, alpha, beta)
            best = max(best, value) if is_max else min(best, value)
            alpha, beta = (max(alpha, best), beta) if is_max else (alpha, min(beta, best))
        return best


def uniform_tree(leaves: Sequence[float], width: int) -> Tree:
    """Returns the tree in which every node has that many moves, named by their numbers from 1."""
    if len(leaves) == 1:
        return leaves[0]
    size = len(leaves) // width
    parts = [leaves[start : start + size] for start in range(0, len(leaves), size)]
    return lambda: [(str(n), uniform_tree(part, width)) for n, part in enumerate(parts, 1)]


def in_order(tree: Tree, *, best_first: bool, is_max: bool = True) -> Tree:
    """Returns a tree with the moves of each node from the best to the worst, or the other way."""
    if not callable(tree):
        return tree
    moves = [
        (name, in_order(child, best_first=best_first, is_max=not is_max)) for name, child in tree()
    ]
    moves.sort(key=lambda move: _minimax(move[1], not is_max), reverse=best_first == is_max)
    return lambda: moves


def _minimax(tree: Tree, is_max: bool) -> float:
    if not callable(tree):
        return tree
    values = [_minimax(child, not is_max) for _, child in tree()]
    return max(values) if is_max else min(values)


def tic_tac_toe(board: str, mover: str, ours: str) -> Tree:
    """Returns the tree of all games from a board, written row by row from a1: "XX.OO....".$

    A leaf is 1 if `ours` has won, -1 if they have lost, 0 after a draw. The moves go from a1 to c3.
    """
    other = "O" if mover == "X" else "X"
    if any(all(board[cell] == other for cell in line) for line in LINES):
        return 1 if other == ours else -1
    if "." not in board:
        return 0
    return lambda: list(_tic_tac_toe_moves(board, mover, ours, other))


def _tic_tac_toe_moves(board: str, mover: str, ours: str, other: str) -> Iterator[tuple[str, Tree]]:
    for row in "123":
        for column in "abc":
            cell = "abc".index(column) + 3 * (int(row) - 1)
            if board[cell] == ".":
                after = board[:cell] + mover + board[cell + 1 :]
                yield column + row, tic_tac_toe(after, other, ours)
