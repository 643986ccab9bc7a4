"""A second implementation of the rules of some simple games, without the engine's code.

A referee has the legal moves, the side to move and the winner of a match.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar


class IllegalMove(Exception):
    """A move that the rules do not allow."""


@dataclass
class Referee:
    """One match: `turn` is the seat to move, `winner` is None while it runs and after a draw."""

    by_game: ClassVar[dict[str, type["Referee"]]] = {}

    options: Mapping[str, str]
    turn: int = 0
    over: bool = False
    winner: int | None = None

    def __init_subclass__(cls, game: str) -> None:
        Referee.by_game[game] = cls

    def play(self, token: str) -> None:
        """Plays a move of the seat to move; raises IllegalMove if the rules do not allow it."""
        if self.over:
            raise IllegalMove(f"{token} after the end")
        if token not in self.moves():
            raise IllegalMove(f"{token} is not one of {self.moves()}")
        self.apply(token)
        self.turn = 1 - self.turn
        self.update_result()

    def moves(self) -> list[str]:
        """Returns the legal moves of the seat to move, as tokens."""
        raise NotImplementedError

    def apply(self, token: str) -> None:
        """Makes a legal move on the board."""
        raise NotImplementedError

    def update_result(self) -> None:
        """Ends the match if the last move ended it; `turn` is already the next seat."""
        raise NotImplementedError

    def end(self, winner: int | None) -> None:
        """Ends the match; a winner of None means a draw."""
        self.over, self.winner = True, winner


def new_referee(game: str, options: Mapping[str, str]) -> Referee:
    """Returns a referee for a new match of the game."""
    return Referee.by_game[game](options)


@dataclass
class TicTacToe(Referee, game="tic-tac-toe"):
    cells: dict[str, int] = field(default_factory=dict)

    LINES: ClassVar[list[str]] = [
        "a1b1c1",
        "a2b2c2",
        "a3b3c3",
        "a1a2a3",
        "b1b2b3",
        "c1c2c3",
        "a1b2c3",
        "a3b2c1",
    ]

    def moves(self) -> list[str]:
        return [column + row for column in "abc" for row in "123" if column + row not in self.cells]

    def apply(self, token: str) -> None:
        self.cells[token] = self.turn

    def update_result(self) -> None:
        mover = 1 - self.turn
        for line in self.LINES:
            if all(self.cells.get(line[n : n + 2]) == mover for n in (0, 2, 4)):
                return self.end(mover)
        if len(self.cells) == 9:
            self.end(None)
        return None


@dataclass
class ConnectFour(Referee, game="connect-four"):
    columns: list[list[int]] = field(default_factory=lambda: [[] for _ in range(7)])
    last_column: int = 0

    def moves(self) -> list[str]:
        return ["abcdefg"[n] for n in range(7) if len(self.columns[n]) < 6]

    def apply(self, token: str) -> None:
        self.last_column = "abcdefg".index(token)
        self.columns[self.last_column].append(self.turn)

    def disc_at(self, column: int, row: int) -> int | None:
        """Returns the seat whose disc lies there, or None."""
        is_inside = 0 <= column < 7 and 0 <= row < len(self.columns[column])
        return self.columns[column][row] if is_inside else None

    def update_result(self) -> None:
        mover, row = 1 - self.turn, len(self.columns[self.last_column]) - 1
        for right, up in ((1, 0), (0, 1), (1, 1), (1, -1)):
            line = "".join(
                "x" if self.disc_at(self.last_column + n * right, row + n * up) == mover else "."
                for n in range(-3, 4)
            )
            if "xxxx" in line:
                return self.end(mover)
        if not self.moves():
            self.end(None)
        return None


@dataclass
class Sticks(Referee, game="sticks"):
    rows: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rows = [int(row) for row in self.options.get("rows", "1-2-3").split("-")]

    def moves(self) -> list[str]:
        return [
            f"{row + 1}x{take}"
            for row, sticks in enumerate(self.rows)
            for take in range(1, sticks + 1)
            if sum(self.rows) - take >= 1
        ]

    def apply(self, token: str) -> None:
        row, take = token.split("x")
        self.rows[int(row) - 1] -= int(take)

    def update_result(self) -> None:
        if sum(self.rows) == 1:
            self.end(1 - self.turn)


@dataclass
class Breakthrough(Referee, game="breakthrough"):
    pieces: dict[str, int] = field(default_factory=dict)
    last_square: str = ""

    def __post_init__(self) -> None:
        self.pieces = {
            column + row: seat
            for seat, rows in enumerate(("12", "78"))
            for row in rows
            for column in "abcdefgh"
        }

    def moves(self) -> list[str]:
        moves = []
        for square, seat in self.pieces.items():
            if seat != self.turn:
                continue
            row = str(int(square[1]) + (1 if seat == 0 else -1))
            for shift in (-1, 0, 1):
                target = chr(ord(square[0]) + shift) + row
                occupant = self.pieces.get(target)
                if "a" <= target[0] <= "h" and (
                    occupant is None if shift == 0 else occupant != seat
                ):
                    moves.append(square + target)
        return moves

    def apply(self, token: str) -> None:
        self.last_square = token[2:]
        del self.pieces[token[:2]]
        self.pieces[self.last_square] = self.turn

    def update_result(self) -> None:
        if self.last_square[1] in "18" or self.turn not in self.pieces.values():
            self.end(1 - self.turn)
