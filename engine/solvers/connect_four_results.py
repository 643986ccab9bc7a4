"""The results of positions of connect four with few discs that are not in the book.

The exact score of such a position takes a search of many seconds, its result a tenth of that, and a
player needs only a move that keeps the result. So each of these positions, up to RESULT_DISCS
discs, becomes an entry with the score WON, LOST or 0. The positions with the most discs
are searched; the results of the others follow from their moves.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from engine.solvers.connect_four_book import (
    Board,
    Entry,
    Progress,
    columns,
    drop,
    key_of,
    read_work,
)

#: The score of an entry that is won at an unknown distance: above any exact score.
WON = 31
#: The score of an entry that is lost at an unknown distance.
LOST = -WON
#: Maximum number of discs of such entries. No match ends with so few discs; with more, a search
#: finds the result in time.
RESULT_DISCS = 6

#: Takes a position; returns its result (WON, LOST or 0) and a column that keeps it.
FindResult = Callable[[Board], Entry]


def result_of(score: int) -> int:
    """WON, LOST or 0 for any score, exact or not."""
    return WON if score > 0 else LOST if score < 0 else 0


def is_exact(entry: Entry) -> bool:
    """True if the score of the entry is exact, not just a result."""
    return abs(entry.score) != WON


def make_results(
    known: Mapping[int, Entry], find_result: FindResult, discs: int, work: Path, progress: Progress
) -> dict[int, Entry]:
    """The entries of all positions of up to `discs` discs that are not in `known`.

    The columns are those of the position that makes the key. The file `work` records the searched
    positions, so that a later run skips them.
    """
    levels = levels_of(discs)
    done = read_work(work)
    entries: dict[int, Entry] = {}
    with open(work, "a", encoding="ascii") as log:
        last = sorted(levels[discs].items())
        for number, (key, board) in enumerate(last):
            progress(discs, number, len(last))
            if key in known:
                continue
            entry = done.get(key)
            if entry is None:
                entry = _with_key_column(board, find_result(board))
                log.write(f"{key:x} {entry.score} {entry.column}\n")
                log.flush()
            entries[key] = entry
        progress(discs, len(last), len(last))
    for level in reversed(levels[:discs]):
        for key, board in level.items():
            if key not in known:
                entries[key] = _with_key_column(board, _best_of_moves(board, known, entries))
    return entries


def levels_of(discs: int) -> list[dict[int, Board]]:
    """The positions by key, for each number of discs up to `discs`; mirror images share one."""
    levels: list[dict[int, Board]] = [{key_of((0, 0))[0]: (0, 0)}]
    for _ in range(discs):
        after = (drop(board, column) for board in levels[-1].values() for column in columns(board))
        levels.append({key_of(board)[0]: board for board in after})
    return levels


def _best_of_moves(board: Board, known: Mapping[int, Entry], entries: Mapping[int, Entry]) -> Entry:
    """The best result that a move reaches, with the most central such column."""
    best = Entry(LOST - 1, -1)
    for column in columns(board):
        key = key_of(drop(board, column))[0]
        reached = -result_of((known.get(key) or entries[key]).score)
        if reached > best.score:
            best = Entry(reached, column)
    return best


def _with_key_column(board: Board, entry: Entry) -> Entry:
    """The entry with the column of the position that makes the key."""
    return Entry(entry.score, 6 - entry.column if key_of(board)[1] else entry.column)
