"""The opening book of connect four, for positions that a search takes more than a second to solve.

The solver itself makes the book once. The book covers the positions that a player who always plays
the book's move can reach. It has the exact scores of all of them up to a number of discs, and of
those with more discs that take long to solve. Of the other positions with few discs the book has
only the result. A position and its mirror image share one entry, a word of key (49 bits), column
(3 bits) and score + 32 (6 bits). The words are sorted.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.game import GameError

#: The bottom cells of all columns.
BOTTOM = 0x0040810204081
#: The bits of the first column.
COLUMN_BITS = 127
#: Added to a score so that an entry holds it in six bits.
SCORE_SHIFT = 32
#: The number of cells.
CELLS = 42
#: Positions with more discs than the book's plies become entries if they take more nodes than this,
#: which is a tenth of a second or longer.
HARD_NODES = 2_000_000
#: The mark in the work file of a position that takes fewer nodes, and so is not an entry.
EASY_MARK = " easy"
#: The columns from the centre outwards.
CENTRE_FIRST = (3, 2, 4, 1, 5, 0, 6)

#: The discs of the side to move, and all discs.
Board = tuple[int, int]
#: The positions with one number of discs, and a lower bound of the score of each.
Positions = dict[Board, int]


class BookError(GameError):
    """A file is not a work file of a book."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The exact score of a position for the side to move and a column that reaches it.

    The score may be a result alone, see `engine.solvers.connect_four_results`.
    """

    score: int
    column: int


def mirrored(word: int) -> int:
    """The word with its columns mirrored."""
    return sum((word >> 7 * column & COLUMN_BITS) << 7 * (6 - column) for column in range(7))


def key_of(board: Board) -> tuple[int, bool]:
    """The common key of a position and its mirror image, and whether it is that of the image."""
    key = board[0] + board[1] + BOTTOM
    mirrored_key = mirrored(key)
    return (mirrored_key, True) if mirrored_key < key else (key, False)


def drop(board: Board, column: int) -> Board:
    """The position after a disc is dropped, with the other side to move."""
    mine, discs = board
    return mine ^ discs, discs | discs + (1 << 7 * column)


def columns(board: Board) -> list[int]:
    """The columns that are not full, the middle first."""
    return [column for column in CENTRE_FIRST if not board[1] >> 7 * column + 5 & 1]


def has_four(discs: int) -> bool:
    for step in (1, 6, 7, 8):
        pairs = discs & discs >> step
        if pairs & pairs >> 2 * step:
            return True
    return False


def is_over(board: Board) -> bool:
    """True if the side that moved last has won, or the board is full."""
    return board[1].bit_count() == CELLS or has_four(board[0] ^ board[1])


class Book:
    """The entries of a book, by position."""

    def __init__(self, words: Any) -> None:
        """Takes the sorted words; a single 0 stands for an empty book."""
        self._words = words

    def __len__(self) -> int:
        return int(np.count_nonzero(self._words))

    def find(self, board: Board) -> Entry | None:
        key, is_mirrored = key_of(board)
        index = int(np.searchsorted(self._words, key << 9))
        if index == len(self._words) or int(self._words[index]) >> 9 != key:
            return None
        word = int(self._words[index])
        column = word >> 6 & 7
        return Entry((word & 63) - SCORE_SHIFT, 6 - column if is_mirrored else column)


def to_words(entries: dict[int, Entry]) -> Any:
    """The sorted words of a book file; the columns are those of the position that makes the key."""
    words = [
        key << 9 | entry.column << 6 | entry.score + SCORE_SHIFT for key, entry in entries.items()
    ]
    return np.array(sorted(words), "<i8")


#: Takes a position, a lower bound of its score, and whether to start from an empty table; returns
#: the entry and the nodes.
Solve = Callable[[Board, int, bool], tuple[Entry, int]]
#: Takes the number of discs of the positions being solved, the number done and the total.
Progress = Callable[[int, int, int], None]


def make_book(solve: Solve, plies: int, work: Path, progress: Progress) -> dict[int, Entry]:
    """Solves the positions of the book up to `plies` discs and returns the entries by key.

    The file `work` records finished positions. Positions with few discs come first, because their
    moves lead to the positions with two more. A position with more than `plies` discs becomes an
    entry only if it takes more than HARD_NODES; its successors are then tried as well.
    """
    done = read_work(work)
    entries: dict[int, Entry] = {}
    levels: list[Positions] = [{} for _ in range(CELLS + 3)]
    levels[0] = {(0, 0): -CELLS}
    with open(work, "a", encoding="ascii") as log:
        for count in range(CELLS + 1):
            positions, is_beyond = levels[count], count > plies
            for number, (board, lower_bound) in enumerate(positions.items()):
                progress(count, number, len(positions))
                key, is_mirrored = key_of(board)
                if key not in done:
                    solved, nodes = solve(board, -CELLS if is_beyond else lower_bound, is_beyond)
                    keyed_entry = Entry(
                        solved.score, 6 - solved.column if is_mirrored else solved.column
                    )
                    done[key] = None if is_beyond and nodes <= HARD_NODES else keyed_entry
                    log.write(
                        f"{key:x} {keyed_entry.score} {keyed_entry.column}"
                        f"{'' if done[key] else EASY_MARK}\n"
                    )
                    log.flush()
            if positions:
                progress(count, len(positions), len(positions))
            known = {
                board: entry for board in positions if (entry := done[key_of(board)[0]]) is not None
            }
            entries.update((key_of(board)[0], entry) for board, entry in known.items())
            levels[count + 2] = _distinct(_replies(known))
            if count == 0:
                levels[1] = _distinct(
                    (drop((0, 0), column), -known[0, 0].score) for column in range(7)
                )
    return entries


def _distinct(positions: Iterable[tuple[Board, int]]) -> Positions:
    """Returns one position for each key, with the highest of the lower bounds of its score."""
    by_key: dict[int, tuple[Board, int]] = {}
    for board, lower_bound in positions:
        key = key_of(board)[0]
        first_board, known_bound = by_key.get(key, (board, lower_bound))
        by_key[key] = first_board, max(known_bound, lower_bound)
    return dict(by_key.values())


def _replies(known: Mapping[Board, Entry]) -> Iterator[tuple[Board, int]]:
    """Yields the positions after the book's move and any reply, with lower bounds of their scores.

    The columns of `known` are those of the position that makes the key. A reply cannot make the
    position worse for the side that follows the book.
    """
    for board, entry in known.items():
        after = drop(board, 6 - entry.column if key_of(board)[1] else entry.column)
        if is_over(after):
            continue
        for reply in columns(after):
            after_reply = drop(after, reply)
            if not is_over(after_reply):
                yield after_reply, entry.score


def read_work(work: Path) -> dict[int, Entry | None]:
    """Reads the entries that an earlier run recorded; None for easy positions.

    Removes an incomplete last line from the file. If it is not a work file, raises BookError and
    leaves the file unchanged.
    """
    done: dict[int, Entry | None] = {}
    if not work.exists():
        return done
    text = work.read_text("ascii")
    complete_lines = text[: text.rfind("\n") + 1]
    for number, line in enumerate(complete_lines.splitlines(), 1):
        try:
            key, score, column = line.removesuffix(EASY_MARK).split()
            entry = Entry(int(score), int(column))
            done[int(key, 16)] = None if line.endswith(EASY_MARK) else entry
        except ValueError:
            raise BookError(
                f"{work}, line {number}: a key, a score and a column are expected"
            ) from None
    if text and not complete_lines:
        raise BookError(f"{work}, line 1: a key, a score and a column are expected")
    if complete_lines != text:
        work.write_text(complete_lines, "ascii")
    return done
