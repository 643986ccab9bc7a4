"""The opening book of connect four: what a search of a second does not reach, found once by the
same solver.

It holds the exact scores of the positions in which a side is to move that has always made the
book's move, whatever the other side did, up to a number of discs, and those behind it that take
long. So whoever plays by it needs no search there, and knows the exact score. Of the other
positions with few discs it has the result. A position and its mirror image are one entry: a word of
key (49 bits), column (3) and score + 32 (6), in rising order.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.game import GameError

BOTTOM = 0x0040810204081
COLUMN_BITS = 127
SCORE_SHIFT = 32
CELLS = 42
#: What takes more, a tenth of a second or longer, is in the book though it is deeper than the
#: others.
HARD_NODES = 2_000_000
EASY = " easy"
CENTRE_FIRST = (3, 2, 4, 1, 5, 0, 6)

#: The discs of the side to move, and all discs.
Board = tuple[int, int]
#: Positions with so many discs, and a score that each has at least.
Level = dict[Board, int]


class BookError(GameError):
    """The file is no book, or the work of another one."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The exact score of a position for the side to move, or its result alone (see
    `engine.solvers.connect_four_results`), and a column that reaches it.
    """

    score: int
    column: int


def mirrored(word: int) -> int:
    """The same columns from right to left."""
    return sum((word >> 7 * column & COLUMN_BITS) << 7 * (6 - column) for column in range(7))


def key_of(board: Board) -> tuple[int, bool]:
    """The key of a position and of its mirror image, and whether it is the mirror image's own."""
    key = board[0] + board[1] + BOTTOM
    other = mirrored(key)
    return (other, True) if other < key else (key, False)


def drop(board: Board, column: int) -> Board:
    """The position after a disc, the other side to move."""
    mine, discs = board
    return mine ^ discs, discs | discs + (1 << 7 * column)


def columns(board: Board) -> list[int]:
    """Those that are not full, the middle first."""
    return [column for column in CENTRE_FIRST if not board[1] >> 7 * column + 5 & 1]


def has_four(discs: int) -> bool:
    for step in (1, 6, 7, 8):
        pairs = discs & discs >> step
        if pairs & pairs >> 2 * step:
            return True
    return False


def is_over(board: Board) -> bool:
    """Has the side that moved last won, or is the board full?"""
    return board[1].bit_count() == CELLS or has_four(board[0] ^ board[1])


class Book:
    """Entries by position."""

    def __init__(self, words: Any) -> None:
        """Words that are no entries (the zero that stands for no data) are never found."""
        self._words = words

    def __len__(self) -> int:
        return int(np.count_nonzero(self._words))

    def find(self, board: Board) -> Entry | None:
        key, turned = key_of(board)
        at = int(np.searchsorted(self._words, key << 9))
        if at == len(self._words) or int(self._words[at]) >> 9 != key:
            return None
        word = int(self._words[at])
        column = word >> 6 & 7
        return Entry((word & 63) - SCORE_SHIFT, 6 - column if turned else column)


def to_words(entries: dict[int, Entry]) -> Any:
    """The entries, whose columns are those of the key's own position, as the words of a file."""
    words = [
        key << 9 | entry.column << 6 | entry.score + SCORE_SHIFT for key, entry in entries.items()
    ]
    return np.array(sorted(words), "<i8")


#: Takes a position, a score that it has at least, and whether nothing may be known from before;
#: gives the nodes too.
Solve = Callable[[Board, int, bool], tuple[Entry, int]]
#: Takes the number of discs that positions have now, how many of those are done, and of how many.
Tell = Callable[[int, int, int], None]


def make_book(solve: Solve, plies: int, work: Path, tell: Tell) -> dict[int, Entry]:
    """Solves what belongs into the book, up to positions of so many discs; `work` keeps what is
    done.

    Positions with few discs come first; those with two more follow from their moves. Of the
    positions behind the book the few come into it that take more than HARD_NODES, and then those
    behind them.
    """
    done = read_work(work)
    entries: dict[int, Entry] = {}
    levels: list[Level] = [{} for _ in range(CELLS + 3)]
    levels[0] = {(0, 0): -CELLS}
    with open(work, "a", encoding="ascii") as log:
        for count in range(CELLS + 1):
            level, is_behind = levels[count], count > plies
            for number, (board, least) in enumerate(level.items()):
                tell(count, number, len(level))
                key, turned = key_of(board)
                if key not in done:
                    found, nodes = solve(board, -CELLS if is_behind else least, is_behind)
                    own = Entry(found.score, 6 - found.column if turned else found.column)
                    done[key] = None if is_behind and nodes <= HARD_NODES else own
                    log.write(f"{key:x} {own.score} {own.column}{'' if done[key] else EASY}\n")
                    log.flush()
            if level:
                tell(count, len(level), len(level))
            known = {
                board: entry for board in level if (entry := done[key_of(board)[0]]) is not None
            }
            entries.update((key_of(board)[0], entry) for board, entry in known.items())
            levels[count + 2] = _distinct(_replies(known))
            if count == 0:
                levels[1] = _distinct(
                    (drop((0, 0), column), -known[0, 0].score) for column in range(7)
                )
    return entries


def _distinct(found: Iterable[tuple[Board, int]]) -> Level:
    """Without positions that have the key of another one; what is known of any of them is known of
    all.
    """
    level: dict[int, tuple[Board, int]] = {}
    for board, least in found:
        key = key_of(board)[0]
        kept, before = level.get(key, (board, least))
        level[key] = kept, max(before, least)
    return dict(level.values())


def _replies(known: Mapping[Board, Entry]) -> Iterator[tuple[Board, int]]:
    """What the other side may make of positions after the book's moves; the columns are those of
    the keys' own.

    None of it is worse than the position was, for whoever plays by the book.
    """
    for board, entry in known.items():
        after = drop(board, 6 - entry.column if key_of(board)[1] else entry.column)
        if is_over(after):
            continue
        for reply in columns(after):
            board_then = drop(after, reply)
            if not is_over(board_then):
                yield board_then, entry.score


def read_work(work: Path) -> dict[int, Entry | None]:
    """What an earlier run left, None for what is easy; a last line that was cut off is done again.

    BookError for a file that is no such work; it is left as it is.
    """
    done: dict[int, Entry | None] = {}
    if not work.exists():
        return done
    text = work.read_text("ascii")
    whole = text[: text.rfind("\n") + 1]
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            key, score, column = line.removesuffix(EASY).split()
            entry = Entry(int(score), int(column))
            done[int(key, 16)] = None if line.endswith(EASY) else entry
        except ValueError:
            raise BookError(
                f"{work}, line {number}: a key, a score and a column are expected"
            ) from None
    if text and not whole:
        raise BookError(f"{work}, line 1: a key, a score and a column are expected")
    if whole != text:
        work.write_text(whole, "ascii")
    return done
