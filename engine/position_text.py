"""Positions as people paste them, read as texts that `Game.position` takes. Pure.

`parse_position` is strict: it reads what logs hold. This reader stands beside it for a FEN with
fields left out or in another form (EPD, the underscores of links, a move number 0, castling rights
in any order or of Shredder-FEN), for PDN without our counters, and for boards of 64 characters. It
guesses nothing: what a text leaves out is as in python-chess and in the PDN standard (White to
move, no castling, no en passant, counters at their start). The form of a text decides how it is
read, not the game.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping

from engine.game import Game, Position, PositionError

#: The board of a FEN: eight rows.
FEN_BOARD = re.compile(r"[PNBRQKpnbrqk1-8]+(?:/[PNBRQKpnbrqk1-8]+){7}")
#: The castling rights: the row from above, the column of the rook, and the letter of Shredder-FEN.
CASTLING = {"K": (7, 7, "H"), "Q": (7, 0, "A"), "k": (0, 7, "h"), "q": (0, 0, "a")}
#: A position of draughts in PDN: the side to move, then the pieces of both sides in any order.
PDN = re.compile(r"([BW]):([BW])([K0-9,-]*):([BW])([K0-9,-]*)(?::H(\d+[\d,]*))?(?::F\d+)?\.?", re.I)
#: The characters of discs and empty cells, and those of our texts.
DISCS = str.maketrans("xX*bB●oO0wW○-._", "XXXXXXOOOOOO---")


def read_position(game: Game, text: str, options: Mapping[str, str] | None = None) -> Position:
    """Returns the position that a text of any of these forms names.

    Raises PositionError, with what the game expects, where it names none, and OptionError.
    """
    text = text.strip()
    try:
        return game.position(text, options)
    except PositionError as error:
        problem = error
    for spelling in _spellings(unicodedata.normalize("NFKC", text).rstrip(" ;")):
        try:
            return game.position(spelling, options)
        except PositionError as error:
            # What is wrong with a whole FEN says more than that fields are missing.
            problem = error
    raise problem


def _spellings(text: str) -> Iterator[str]:
    """Yields a text in the forms that games take."""
    fields = re.split(r"[\s_]+", text)
    if FEN_BOARD.fullmatch(fields[0]):
        yield from _fens(fields)
    elif pdn := PDN.fullmatch(re.sub(r"\s", "", text)):
        yield from _pdns(pdn)
    else:
        cells = re.sub(r"[\s/|]", "", text)
        if len(cells) == 65:
            discs = cells.translate(DISCS)
            yield f"{discs[:64]} {discs[64]}"


def _fens(fields: list[str]) -> Iterator[str]:
    """Yields a FEN with all six fields, then the same without en passant."""
    board, turn, rights, passed, *rest = [*fields, *("w", "-", "-")[max(0, len(fields) - 1) :]]
    clock, number = "0", "1"
    if rest and not re.match("[A-Za-z]", rest[0]):  # an operation of EPD: bm Qg6
        counters = [*rest, "1"][:2]
        if len(rest) > 2 or not all(re.fullmatch(r"\d{1,6}|-", each) for each in counters):
            return
        clock, number = (str(int(each.replace("-", "0"))) for each in counters)
        number = "1" if number == "0" else number
    kept = _castling(board, rights)
    for square in dict.fromkeys((passed.lower(), "-")):
        yield f"{board} {turn.lower()} {kept} {square} {clock} {number}"


def _castling(board: str, rights: str) -> str:
    """The castling rights in order, without those whose king or rook is not at home; unchanged if
    they have another letter.
    """
    rows = [re.sub(r"\d", lambda digit: "." * int(digit[0]), row) for row in board.split("/")]
    if not re.fullmatch("-|[KQkqHAha]+", rights) or any(len(row) != 8 for row in rows):
        return rights
    kept = ""
    for right, (row, column, letter) in CASTLING.items():
        home = ("K", "R") if right.isupper() else ("k", "r")
        if (right in rights or letter in rights) and (rows[row][4], rows[row][column]) == home:
            kept += right
    return kept or "-"


def _pdns(pdn: re.Match[str]) -> Iterator[str]:
    """Yields a position of PDN with both sides in order and with a counter."""
    turn, *sides = (group.upper() for group in pdn.groups()[:5])
    lists = {sides[0]: sides[1], sides[2]: sides[3]}
    if lists.keys() == {"W", "B"}:
        white, black = (",".join(_squares(lists[side])) for side in "WB")
        yield f"{turn}:W{white}:B{black}:H{pdn[6] or 0}"


def _squares(text: str) -> Iterator[str]:
    """Yields the pieces of a list: 01 is 1, and 1-12 are twelve men."""
    for part in filter(None, text.split(",")):
        piece = re.fullmatch(r"(K?)0*(\d{1,3})(?:-0*(\d{1,3}))?", part)
        if piece is None or int(piece[3] or piece[2]) < int(piece[2]):
            yield part
        else:
            for square in range(int(piece[2]), int(piece[3] or piece[2]) + 1):
                yield f"{piece[1]}{square}"
