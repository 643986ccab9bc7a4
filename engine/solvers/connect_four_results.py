"""Who wins each position of connect four with few discs: what the book lacks beside the lines of
its own player.

The exact score of such a position takes a search of many seconds, its result a tenth of that; and
one move that keeps it is all that a player needs. So each position up to so many discs that is not
in the book becomes an entry of it, with the score WON, LOST or 0. Those with the most discs are
searched; the others follow from their moves.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from engine.solvers.connect_four_book import Board, Entry, Tell, columns, drop, key_of, read_work

#: The score of an entry that is won, nobody says how soon: above any exact one. LOST is the same
#: for the other side.
WON = 31
LOST = -WON
#: Up to so many discs no match is over; from the next one on a search has the result in its time.
RESULT_DISCS = 6

#: Takes a position; gives its result (WON, LOST or 0) and a column that keeps it.
Weigh = Callable[[Board], Entry]


def result_of(score: int) -> int:
    """WON, LOST or 0, of an exact score as well."""
    return WON if score > 0 else LOST if score < 0 else 0


def is_exact(entry: Entry) -> bool:
    """Does the entry say how soon, too?"""
    return abs(entry.score) != WON


def make_results(
    known: Mapping[int, Entry], weigh: Weigh, discs: int, work: Path, tell: Tell
) -> dict[int, Entry]:
    """The entries for all positions of up to so many discs that are not known, with the columns of
    the keys' own.

    `work` keeps what was searched, so that another run goes on there.
    """
    levels = levels_of(discs)
    done = read_work(work)
    entries: dict[int, Entry] = {}
    with open(work, "a", encoding="ascii") as log:
        last = sorted(levels[discs].items())
        for number, (key, board) in enumerate(last):
            tell(discs, number, len(last))
            if key in known:
                continue
            found = done.get(key)
            if found is None:
                found = _own(board, weigh(board))
                log.write(f"{key:x} {found.score} {found.column}\n")
                log.flush()
            entries[key] = found
        tell(discs, len(last), len(last))
    for level in reversed(levels[:discs]):
        for key, board in level.items():
            if key not in known:
                entries[key] = _own(board, _from_moves(board, known, entries))
    return entries


def levels_of(discs: int) -> list[dict[int, Board]]:
    """The positions by key, for each number of discs up to this; of mirror images one."""
    levels: list[dict[int, Board]] = [{key_of((0, 0))[0]: (0, 0)}]
    for _ in range(discs):
        after = (drop(board, column) for board in levels[-1].values() for column in columns(board))
        levels.append({key_of(board)[0]: board for board in after})
    return levels


def _from_moves(board: Board, known: Mapping[int, Entry], entries: Mapping[int, Entry]) -> Entry:
    """The best result that a move leaves; the first such column, from the middle."""
    found = Entry(LOST - 1, -1)
    for column in columns(board):
        key = key_of(drop(board, column))[0]
        reached = -result_of((known.get(key) or entries[key]).score)
        if reached > found.score:
            found = Entry(reached, column)
    return found


def _own(board: Board, entry: Entry) -> Entry:
    """The entry with the column of the key's own position."""
    return Entry(entry.score, 6 - entry.column if key_of(board)[1] else entry.column)
