"""Writes the text of a position from its pieces, where the game's text allows it.

A game's rules parse texts, but need not write one from pieces. Two forms of text are common enough
to be written here: rows of cells ("...X...", FEN with its counts of empty cells), and lists of each
side's squares (the FEN of draughts). Whether a written text is right is what the rules parse: it
counts only if its position has the same pieces.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from string import ascii_lowercase

from engine.game import Game, Position, PositionError
from engine.view import BoardView

#: The marks of an empty cell in rows.
EMPTY_MARKS = ".-"
#: The fewest rows of a board.
MIN_ROWS = 3
#: A cell's name: its column as a letter, and its row.
_CELL = re.compile(r"([a-z])(\d{1,2})")
#: A position as lists of squares: the side to move, the sides' squares, and the rest.
_SQUARES = re.compile(r"([A-Z])(:[A-Z][^:]*)(:[A-Z][^:]*)(.*)", re.DOTALL)

#: The kinds of the pieces, by cell.
Pieces = Mapping[str, str]


def place(game: Game, options: Mapping[str, str], pieces: Pieces, turn: int) -> Position | None:
    """Returns the position with these pieces and this side to move; None if no text says so.

    Raises PositionError if the rules refuse the position, and GameFault.
    """
    start = game.start(options)
    board = game.board(options)
    refusal: PositionError | None = None
    for text in _texts(start.text(), board, pieces, turn):
        try:
            position = game.position(text, options)
        except PositionError as error:
            refusal = refusal or error
            continue
        if position.view().pieces == dict(pieces) and position.turn == turn:
            return position
    if refusal is not None:
        raise refusal
    return None


def is_placeable(game: Game, options: Mapping[str, str]) -> bool:
    """Whether the pieces on the board make a position, and not pieces in hand as well.

    It is so if the text of the game's own start can be written from its pieces. Raises GameFault.
    """
    start = game.start(options)
    view = start.view()
    try:
        return not view.hands and place(game, options, view.pieces, start.turn) is not None
    except PositionError:
        return False


def _texts(start: str, board: BoardView, pieces: Pieces, turn: int) -> Iterator[str]:
    """Yields the texts that may describe the position, the most likely first."""
    if squares := _SQUARES.fullmatch(start):
        yield _write_squares(squares, board, pieces, turn)
        return
    rows, separator, rest = start.partition(" ")
    for written in _write_rows(rows, pieces):
        for tail in _write_rest(rest, board, turn):
            yield written + separator + tail


def _write_rows(start: str, pieces: Pieces) -> Iterator[str]:
    """Yields the rows with the pieces: from the highest row down, and from the lowest up."""
    if not all(_CELL.fullmatch(cell) for cell in pieces) or any(
        len(k) != 1 for k in pieces.values()
    ):
        return
    has_counts = bool(re.search(r"\d", start))
    expanded = re.sub(r"\d+", lambda count: "." * int(count[0]), start)
    is_split = "/" in start
    row_count = start.count("/") + 1 if is_split else round(len(expanded) ** 0.5)
    width = len(expanded.split("/", 1)[0]) if is_split else row_count
    if width > len(ascii_lowercase) or row_count < MIN_ROWS:
        return
    empty = next((mark for mark in expanded if mark in EMPTY_MARKS), ".")
    for order in (range(row_count, 0, -1), range(1, row_count + 1)):
        rows = [
            "".join(pieces.get(f"{column}{row}", empty) for column in ascii_lowercase[:width])
            for row in order
        ]
        yield ("/" if is_split else "").join(map(_count_empty, rows) if has_counts else rows)


def _count_empty(row: str) -> str:
    """The row with the number of each run of empty cells."""
    groups = ((mark, len(list(run))) for mark, run in groupby(row))
    return "".join(str(n) if mark in EMPTY_MARKS else mark * n for mark, n in groups)


def _write_rest(start: str, board: BoardView, turn: int) -> Iterator[str]:
    """Yields what follows the rows with the side to move: as in the start, then without rights."""
    words = start.split(" ")
    kinds = [kind for kind, view in board.kinds.items() if view.side == turn]
    name = board.seats[turn].name.lower()
    marks = dict.fromkeys([name, name[:1], *kinds]) if words[0] else {"": None}
    for mark in marks:
        yield " ".join([mark, *words[1:]])
        if len(words) > 1:
            yield " ".join([mark, "-", *words[2:]])


def _write_squares(start: "re.Match[str]", board: BoardView, pieces: Pieces, turn: int) -> str:
    """The lists of both sides' squares. A kind is its side's letter, in upper case for a king."""
    lists = []
    for letter in (part[1] for part in start.group(2, 3)):
        squares = sorted(
            (int(cell), "K" if kind.isupper() else "")
            for cell, kind in pieces.items()
            if kind.upper() == letter and cell.isdigit()
        )
        lists.append(f":{letter}{','.join(f'{king}{square}' for square, king in squares)}")
    return f"{board.seats[turn].name[0].upper()}{''.join(lists)}{start[4]}"
