"""Exact results of endings of connect four, Othello and draughts, by solvers of this module's own.

They share nothing with `engine.solvers`, `engine.search` or the rules files: each reads a position
text and plays by rules written here. Connect four has bitboards, Othello a board with a border,
draughts tables of all positions with two to four pieces, made by iteration over the distance to the
end. numba compiles them once in a process.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar, cast

import numba
import numpy as np

from engine.game import Game, Position
from engine.rules.registry import load_game

F = TypeVar("F", bound=Callable[..., Any])


def njit(function: F) -> F:
    """The function, compiled when it is first called."""
    return cast(F, numba.njit(function))


@dataclass(frozen=True)
class Exact:
    """The result of perfect play for one side: 1 for a win, 0 for a draw, -1 for a loss.

    `plies` is the distance to the end with the fastest win and the slowest loss, None where this
    module does not know it. `discs` is the difference of the discs at the end in Othello, where the
    winner gets the empty cells.
    """

    result: int
    plies: int | None = None
    discs: int | None = None

    def for_the_other_side(self) -> "Exact":
        return Exact(-self.result, self.plies, None if self.discs is None else -self.discs)


@dataclass(frozen=True)
class Decisive:
    """A position and the exact results of its moves."""

    position: Position
    moves: dict[str, Exact]

    @property
    def result(self) -> int:
        """The result of the position for the side to move."""
        return max(exact.result for exact in self.moves.values())

    @property
    def kept(self) -> list[str]:
        """The moves that keep the result."""
        return [token for token, exact in self.moves.items() if exact.result == self.result]

    @property
    def given_away(self) -> list[str]:
        """The moves that give it away."""
        return [token for token, exact in self.moves.items() if exact.result < self.result]


def exact_moves(position: Position) -> dict[str, Exact]:
    """The exact result of each legal move, by token, for the side that makes it."""
    solve = SOLVERS[position.game.id]
    found = {}
    for token in position.tokens():
        after = position.replay(token)
        outcome = solve(after.text())
        if after.turn != position.turn:
            outcome = outcome.for_the_other_side()
        plies = None if outcome.plies is None else outcome.plies + 1
        found[token] = Exact(outcome.result, plies, outcome.discs)
    return found


def decisive_positions(game_id: str, count: int, seed: int = 1) -> Iterator[Decisive]:
    """Yields this many positions in which some moves keep the exact result and others give it away.

    Nobody wins with the next move or the one after it, so that the result is not in plain sight.
    The same seed gives the same positions.
    """
    game, chance = load_game(game_id), random.Random(f"{game_id}:{seed}")
    seen = set[str]()
    while len(seen) < count:
        position = SOURCES[game_id](game, chance)
        if position.text() in seen or not position.moves():
            continue
        decisive = Decisive(position, exact_moves(position))
        is_plain = any(
            exact.plies is not None and exact.plies <= 3 and exact.result != 0
            for exact in decisive.moves.values()
        )
        if decisive.kept and decisive.given_away and not is_plain:
            seen.add(position.text())
            yield decisive


def _played(game: Game, plies: int, chance: random.Random) -> Position:
    """The position after this many random moves, or the end of a match that ended before."""
    position = game.start()
    for _ in range(plies):
        moves = position.moves()
        if moves:
            position = position.play(chance.choice(moves))
    return position


def _placed(game: Game, chance: random.Random) -> Position:
    """A position of draughts with two to four pieces on random squares."""
    squares = chance.sample(range(1, 33), chance.choice((3, 4, 4)))
    sides: tuple[list[str], list[str]] = ([], [])
    for number, square in enumerate(squares):
        side = number % 2 if number < 2 else chance.randrange(2)
        last_row = range(29, 33) if side == 0 else range(1, 5)
        is_king = square in last_row or chance.random() < 0.6
        sides[side].append(f"K{square}" if is_king else str(square))
    black, white = (",".join(side) for side in sides)
    return game.position(f"{chance.choice('BW')}:W{white}:B{black}:H0")


# --- connect four

#: The columns, the middle one first, and a bit for the lowest cell of each.
ORDER = np.array([3, 2, 4, 1, 5, 0, 6])
#: Entries of the table of connect four: a power of two.
ENTRIES = 1 << 22
CELLS = 42


def connect_four(text: str) -> Exact:
    """The result for the side to move. A position has at least 18 discs to be solved in seconds."""
    stones = {"R": 0, "Y": 0}
    for row, line in enumerate(reversed(text.split("/"))):
        for column, cell in enumerate(line):
            if cell in stones:
                stones[cell] |= 1 << (7 * column + row)
    red, yellow = stones["R"], stones["Y"]
    count = (red | yellow).bit_count()
    mine, theirs = (red, yellow) if count % 2 == 0 else (yellow, red)
    if has_four(theirs):
        return Exact(-1, 0)
    if count == CELLS:
        return Exact(0, 0)
    value = int(drop_search(mine, theirs, count, -CELLS, CELLS, *drop_table()))
    end = CELLS + 1 - abs(value) if value else CELLS
    return Exact((value > 0) - (value < 0), end - count)


@cache
def drop_table() -> tuple[Any, Any]:
    """The bounds of positions, by key; they hold for every search."""
    return np.zeros(ENTRIES, np.int64), np.zeros(ENTRIES, np.int64)


@njit
def has_four(stones: int) -> bool:
    """Whether four stones stand in a row."""
    for step in (1, 6, 7, 8):
        pairs = stones & (stones >> step)
        if pairs & (pairs >> (2 * step)):
            return True
    return False


@njit
def drop_search(
    mine: int, theirs: int, count: int, alpha: int, beta: int, keys: Any, values: Any
) -> int:
    """43 minus the stones at the end for a win, its negative for a loss, 0 for a draw."""
    full = mine | theirs
    for column in range(7):
        cell = (full + (1 << (7 * column))) & (63 << (7 * column))
        if cell and has_four(mine | cell):
            return CELLS - count
    if count >= CELLS - 1:
        return 0
    beta = min(beta, CELLS - count - 2)  # the next win is two plies later
    if alpha >= beta:
        return beta
    key = full + mine + 1
    slot = (key * 11400714819323 >> 12) & (ENTRIES - 1)
    if keys[slot] == key:
        low, high = (values[slot] >> 8) - 64, (values[slot] & 255) - 64
        if low >= beta or low == high:
            return int(low)
        if high <= alpha:
            return int(high)
        alpha, beta = max(alpha, low), min(beta, high)
    best, first = -CELLS - 1, alpha
    for column in ORDER:
        cell = (full + (1 << (7 * column))) & (63 << (7 * column))
        if cell == 0:
            continue
        value = -drop_search(theirs, mine | cell, count + 1, -beta, -alpha, keys, values)
        best = max(best, value)
        alpha = max(alpha, value)
        if alpha >= beta:
            break
    low = best if best > first else -CELLS
    high = best if best < beta else CELLS
    keys[slot], values[slot] = key, ((low + 64) << 8) | (high + 64)
    return best


# --- Othello

#: The steps to the neighbours of a cell on a board of ten by ten with a border.
STEPS = np.array([-11, -10, -9, -1, 1, 9, 10, 11])
BORDER = 3
#: Corners first, cells beside them last.
WEIGHTS = (0, 3, 1, 1, 1, 1, 3, 0)
INNER = sorted(
    (10 * (row + 1) + column + 1 for row in range(8) for column in range(8)),
    key=lambda cell: (
        WEIGHTS[cell // 10 - 1] * WEIGHTS[cell % 10 - 1],
        WEIGHTS[cell // 10 - 1] + WEIGHTS[cell % 10 - 1],
    ),
)
CELL_ORDER = np.array(INNER)


def othello(text: str) -> Exact:
    """The result for the side to move, with the difference of discs. Fast up to 12 empty cells."""
    cells, side = text.split()
    board = np.full((64, 100), BORDER, np.int8)
    for number, cell in enumerate(cells):
        value = {"X": 1, "O": -1}.get(cell, 0)
        board[0, 10 * (number // 8 + 1) + number % 8 + 1] = value
    color = 1 if side == "X" else -1
    discs = int(disc_search(board, 0, color, -64, 64, False))
    return Exact((discs > 0) - (discs < 0), discs=discs)


@njit
def turn_discs(board: Any, cell: int, color: int) -> int:
    """Places a disc and turns those that it captures; returns their number, 0 for no move."""
    turned = 0
    for step in STEPS:
        at = cell + step
        while board[at] == -color:
            at += step
        if board[at] == color:
            at -= step
            while at != cell:
                board[at] = color
                turned += 1
                at -= step
    if turned:
        board[cell] = color
    return turned


@njit
def disc_search(
    boards: Any, depth: int, color: int, alpha: int, beta: int, has_passed: bool
) -> int:
    """The discs of the color at the end minus those of the other one; the winner gets the empty
    cells.

    The position is boards[depth]; the later ones are the positions below it.
    """
    board, below = boards[depth], boards[depth + 1]
    best = -65
    for cell in CELL_ORDER:
        if board[cell] != 0:
            continue
        below[:] = board
        if turn_discs(below, cell, color) == 0:
            continue
        value = -disc_search(boards, depth + 1, -color, -beta, -alpha, False)
        best = max(best, value)
        alpha = max(alpha, value)
        if alpha >= beta:
            return best
    if best > -65:
        return best
    if has_passed:
        total, empty = 0, 0
        for cell in CELL_ORDER:
            total += board[cell] * color
            empty += board[cell] == 0
        return total + empty if total > 0 else total - empty if total < 0 else 0
    below[:] = board
    return -disc_search(boards, depth + 1, -color, -beta, -alpha, True)


# --- draughts

# A board is 32 cells from the view of the side to move, whose men move to higher numbers: 1 and 2
# are its man and king, -1 and -2 those of the other side.
PIECES = 4


def _neighbours(distance: int) -> Any:
    """The cells at this distance along the diagonals: two backward, two forward; -1 is outside."""
    table = np.full((32, 4), -1, np.int64)
    for cell in range(32):
        row, column = cell // 4, 2 * (cell % 4) + (cell // 4 + 1) % 2
        for number, (down, right) in enumerate(((-1, -1), (-1, 1), (1, -1), (1, 1))):
            to_row, to_column = row + distance * down, column + distance * right
            if 0 <= to_row < 8 and 0 <= to_column < 8:
                table[cell, number] = 4 * to_row + to_column // 2
    return table


NEAR, FAR = _neighbours(1), _neighbours(2)
#: The slices of the tables, with those that a capture or a promotion leads to before a slice: the
#: numbers of own men and kings and of the other side's.
SLICES = sorted(
    (
        (men, kings, their_men, their_kings)
        for men in range(PIECES)
        for kings in range(PIECES)
        for their_men in range(PIECES)
        for their_kings in range(PIECES)
        if men + kings and their_men + their_kings
        and men + kings + their_men + their_kings <= PIECES
    ),
    key=lambda counts: (sum(counts), counts[0] + counts[2]),
)  # fmt: skip
#: The first entry of each slice, by its counts. A slice has 32 to the power of its pieces entries.
OFFSETS = np.full((PIECES, PIECES, PIECES, PIECES), -1, np.int64)
SIZE = 0
for _counts in SLICES:
    OFFSETS[_counts] = SIZE
    SIZE += 32 ** sum(_counts)


def draughts(text: str) -> Exact:
    """The result for the side to move of a position with two to four pieces.

    The rule of 80 plies without progress is left out, so `plies` must stay below what is left.
    """
    side, white, black, _ = text.split(":")
    board = np.zeros(32, np.int8)
    for pieces, sign in ((white, -1), (black, 1)):
        for piece in filter(None, pieces[1:].split(",")):
            is_king = piece.startswith("K")
            board[int(piece.lstrip("K")) - 1] = sign * (2 if is_king else 1)
    if side == "W":
        board = -board[::-1]
    if not (board > 0).any():
        return Exact(-1, 0)
    value = int(draughts_table()[entry_of(board)])
    return Exact(0) if value == 0 else Exact(1 if value % 2 == 0 else -1, value - 1)


@cache
def draughts_table() -> Any:
    """The value of each position: 0 for a draw, else 1 plus the plies to the end.

    An even number of plies is a loss for the side to move, an odd one a win. Making it takes about
    half a minute.
    """
    table = np.zeros(SIZE, np.uint8)
    for men, kings, their_men, their_kings in SLICES:
        if (men, kings) >= (their_men, their_kings):
            # The moves that stay in a slice lead to the slice of the other side to move.
            own = boards_of(men, kings, their_men, their_kings)
            if (men, kings) != (their_men, their_kings):
                own = np.concatenate([own, boards_of(their_men, their_kings, men, kings)])
            fill_slices(own, table)
    return table


@njit
def entry_of(board: Any) -> int:
    """The entry of a board: its slice, then the cells of its pieces in order, kind by kind."""
    counts, numbers = np.zeros(4, np.int64), np.zeros(4, np.int64)
    for cell in range(32):
        value = board[cell]
        if value:
            kind = value - 1 if value > 0 else 1 - value
            numbers[kind] = 32 * numbers[kind] + cell
            counts[kind] += 1
    number = 0
    for kind in range(4):
        number = (number << 5 * counts[kind]) + numbers[kind]
    return int(OFFSETS[counts[0], counts[1], counts[2], counts[3]] + number)


@njit
def boards_of(men: int, kings: int, their_men: int, their_kings: int) -> Any:
    """All boards with these numbers of pieces. No man stands on the row where it would be king."""
    pieces = men + kings + their_men + their_kings
    kinds = np.array([1] * men + [2] * kings + [-1] * their_men + [-2] * their_kings, np.int8)
    found = np.zeros((32**pieces, 32), np.int8)
    count = 0
    for code in range(32**pieces):
        board = found[count]
        board[:] = 0
        is_board, before = True, -1
        for number in range(pieces):
            cell, kind = code >> (5 * (pieces - 1 - number)) & 31, kinds[number]
            if number and kinds[number - 1] != kind:
                before = -1
            is_man_home = (kind == 1 and cell >= 28) or (kind == -1 and cell < 4)
            if board[cell] != 0 or cell <= before or is_man_home:
                is_board = False
                break
            board[cell] = kind
            before = cell
        if is_board:
            count += 1
    return found[:count].copy()


@njit
def add_successor(board: Any, found: Any, count: int) -> int:
    """Adds the entry of a board after a move, seen from the other side; -1 if that has no piece."""
    flipped = -board[::-1]
    has_pieces = False
    for cell in range(32):
        has_pieces = has_pieces or flipped[cell] > 0
    found[count] = entry_of(flipped) if has_pieces else -1
    return count + 1


@njit
def add_jumps(board: Any, cell: int, found: Any, count: int) -> int:
    """Adds the positions after all captures of the piece on a cell; the count stays without one."""
    piece = board[cell]
    for way in range(2 if piece == 1 else 0, 4):
        over, to = NEAR[cell, way], FAR[cell, way]
        if to < 0 or board[over] >= 0 or board[to] != 0:
            continue
        taken = board[over]
        board[cell], board[over], board[to] = 0, 0, piece
        if piece == 1 and to >= 28:
            board[to] = 2
            count = add_successor(board, found, count)
        else:
            before = count
            count = add_jumps(board, to, found, count)
            if count == before:
                count = add_successor(board, found, count)
        board[cell], board[over], board[to] = piece, taken, 0
    return count


@njit
def successors(board: Any, found: Any) -> int:
    """Writes the entries of the positions after all moves; returns their number."""
    count = 0
    for cell in range(32):
        if board[cell] > 0:
            count = add_jumps(board, cell, found, count)
    if count:
        return count
    for cell in range(32):
        piece = board[cell]
        if piece <= 0:
            continue
        for way in range(2 if piece == 1 else 0, 4):
            to = NEAR[cell, way]
            if to >= 0 and board[to] == 0:
                board[cell], board[to] = 0, 2 if to >= 28 else piece
                count = add_successor(board, found, count)
                board[cell], board[to] = piece, 0
    return count


@njit
def fill_slices(boards: Any, table: Any) -> None:
    """Fills in the entries of these boards. All positions after a capture or promotion are done.

    In pass p the positions at distance p get their values: those with a move to a loss in p - 1
    plies at most, and those whose moves all lead to wins in p - 1 plies at most.
    """
    count = len(boards)
    entries, starts = np.zeros(count, np.int64), np.zeros(count + 1, np.int64)
    found, moves = np.zeros(200, np.int64), np.zeros(16 * count, np.int64)
    for number in range(count):
        entries[number] = entry_of(boards[number])
        added = successors(boards[number], found)
        starts[number + 1] = starts[number] + added
        moves[starts[number] : starts[number + 1]] = found[:added]
    open_boards, distance, idle, longest = np.arange(count), 0, 0, 0
    for entry in moves[: starts[count]]:
        longest = max(longest, table[entry] if entry >= 0 else 1)
    while idle < 2 or distance <= longest:
        still_open = 0
        assigned = np.zeros(len(open_boards), np.int64)
        for place in range(len(open_boards)):
            number = open_boards[place]
            is_lost, is_won = True, False
            for entry in moves[starts[number] : starts[number + 1]]:
                value = table[entry] if entry >= 0 else 1
                is_done = value != 0 and value <= distance
                is_won = is_won or (is_done and value % 2 == 1)
                is_lost = is_lost and is_done and value % 2 == 0
            assigned[place] = 1 if is_won or is_lost else 0
        for place in range(len(open_boards)):
            number = open_boards[place]
            if assigned[place]:
                table[entries[number]] = distance + 1
            else:
                open_boards[still_open] = number
                still_open += 1
        idle = idle + 1 if still_open == len(open_boards) else 0
        open_boards = open_boards[:still_open]
        distance += 1


SOLVERS: dict[str, Callable[[str], Exact]] = {
    "connect-four": connect_four,
    "draughts": draughts,
    "othello": othello,
}
#: A random position of each game, as far from its end as its solver reaches in a second or two.
SOURCES: dict[str, Callable[[Game, random.Random], Position]] = {
    "connect-four": lambda game, chance: _played(game, chance.randint(18, 25), chance),
    "draughts": _placed,
    "othello": lambda game, chance: _played(game, 60 - chance.randint(9, 13), chance),
}
