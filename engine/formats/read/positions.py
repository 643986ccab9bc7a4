"""Positions as people paste them, read as texts that `Game.position` takes. Pure.

`parse_position` is strict: it reads what logs hold. This reader stands beside it and says what it
put right. It reads a FEN with fields left out or in another form (EPD, the underscores of links, a
move number 0, castling rights in any order or of Shredder-FEN), every form of a position of PDN
(pdn.fmjd.org/fen), boards of 64 discs (FFO, Edax), and a list of moves in games in which a move
names one cell or column. What a text leaves out is as in python-chess and in the PDN standard
(White to move, no castling, no en passant, counters at their start). The form of a text decides how
it is read, not the game.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from engine.game import MAX_TEXT, Game, GameError, Position, PositionError
from engine.games.chess_parts.board import DRAW_PLIES
from engine.games.chess_parts.fen import MAX_MOVE_NUMBER
from engine.typed_moves import read_move

#: The board of a FEN: eight rows.
FEN_BOARD = re.compile(r"[PNBRQKpnbrqk1-8]+(?:/[PNBRQKpnbrqk1-8]+){7}")
#: What people copy around a position: the tag of a file, the command of UCI.
AROUND = re.compile(
    r'\[\s*(?:FEN|Start)\s+"([^"]*)"\s*\]|(?:position\s+)?fen[\s:]+(.*)', re.IGNORECASE | re.DOTALL
)
#: The castling rights: the row from above, the column of the rook, and the letter of Shredder-FEN.
CASTLING = {"K": (7, 7, "H"), "Q": (7, 0, "A"), "k": (0, 7, "h"), "q": (0, 0, "a")}
#: A position of draughts in PDN: the side to move, then the pieces of the sides.
PDN = re.compile(r"[BW?](?::[BW][^:]*)+(?::[HF+][^:]*)*", re.IGNORECASE)
#: What may follow the pieces: plies since a capture or a man's move, the number of the move, and
#: the counters of Frisian draughts, as lidraughts writes them; our counters of a lone king.
PDN_SUFFIX = re.compile(r"H(\d{1,6})((?:,\d{1,3})*)|F\d{1,6}|\+\d{1,6}\+\d{1,6}")
#: A piece of PDN, or a range of them.
PIECES = re.compile(r"(K?)(?:0*(\d{1,3})(?:-0*(\d{1,3}))?|([A-H])([1-8]))")
#: The most squares that a range is written out to.
MAX_SQUARES = 50
#: The greatest counter of plies that is tried where a game does not take the one of a text.
MAX_COUNTER = 100
#: The characters of discs and empty cells, and those of our texts.
DISCS = str.maketrans("xX*bB●oO0wW○-._", "XXXXXXOOOOOO---")
#: A board of 64 discs with the side to move, as a disc or a word.
BOARD = re.compile(r"((?:[xX*bB●oO0wW○._-][\s/|]*){64})(black|white|[xX*bB●oO0wW○])(?![xXoO*.-])")
#: A list of moves: cells, columns as letters or as digits, and passes.
LISTED = re.compile(r"pass|pa(?!\d)|swap|[a-z]\d{1,2}|[a-z]|[1-9]", re.IGNORECASE)
MOVE_LIST = re.compile(rf"(?:(?>{LISTED.pattern})[\s,;.-]*+)++", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PositionReading:
    """A position, and sentences without full stop that say what was put right in its text."""

    position: Position
    mended: tuple[str, ...] = ()


def read_position(
    game: Game, text: str, options: Mapping[str, str] | None = None
) -> PositionReading:
    """Returns the position that a text of any of these forms names.

    Raises PositionError, with what the game expects, where it names none, and OptionError.
    """
    plain = text.strip()
    try:
        return PositionReading(game.position(plain, options))
    except PositionError as error:
        problem = error
    if len(text) > MAX_TEXT:
        raise problem
    plain = _plain(plain)
    if around := AROUND.fullmatch(plain):
        plain = (around[1] or around[2] or "").strip()
    for spelling, mended in _spellings(game, plain, options or {}):
        try:
            return PositionReading(game.position(spelling, options), mended)
        except PositionError as error:
            # What is wrong with a whole FEN says more than that fields are missing.
            problem = error
    if MOVE_LIST.fullmatch(plain) and (start := _start_of_placements(game, options)):
        return PositionReading(_after(start, LISTED.findall(plain), problem))
    raise problem


def _plain(text: str) -> str:
    """The text with plain blanks and digits, without characters that nobody sees."""
    return "".join(
        str(unicodedata.decimal(each)) if each.isdecimal() else each
        for each in unicodedata.normalize("NFKC", text)
        if unicodedata.category(each) != "Cf"
    ).strip(" \t\r\n;")


def _spellings(
    game: Game, text: str, options: Mapping[str, str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yields a text in the forms that games take, with what was put right for it."""
    yield text, ()
    fields = re.split(r"[\s_]+", text)
    if FEN_BOARD.fullmatch(fields[0]):
        yield from _fens(fields)
    elif PDN.fullmatch(pdn := re.sub(r"\s", "", text).rstrip(".").upper()):
        yield from _pdns(game, pdn, options)
    elif board := BOARD.match(text):
        discs = re.sub(r"[\s/|]", "", board[1]).translate(DISCS)
        side = {"black": "X", "white": "O"}.get(board[2], board[2].translate(DISCS))
        yield f"{discs} {side}", ()


# --- chess


def _fens(fields: list[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yields a FEN with all six fields, then the same without en passant."""
    board, turn, rights, passed, *rest = [*fields, *("w", "-", "-")[max(0, len(fields) - 1) :]]
    mended = [] if len(fields) > 1 else ["side to move not given: White"]
    clock, number = "0", "1"
    if rest and re.match("[A-Za-z]", rest[0]):  # an operation of EPD: bm Qg6
        operations = " ".join(rest)
        clock, number = (
            found[1] if (found := re.search(rf"\b{name} (\d+)", operations)) else default
            for name, default in (("hmvc", clock), ("fmvn", number))
        )
    elif rest:
        counters = [*rest, "1"][:2]
        # A FEN with operations after its counters is in many collections of problems.
        is_more = len(rest) > 2 and not re.match("[A-Za-z]", rest[2])
        if is_more or not all(re.fullmatch(r"\d+|-", each) for each in counters):
            return
        clock, number = (each.replace("-", str(i)) for i, each in enumerate(counters))
    clock = _within(clock, 0, DRAW_PLIES, "halfmove clock", mended)
    number = _within(number, 1, MAX_MOVE_NUMBER, "move number", mended)
    kept = _castling(board, rights, mended)
    yield f"{board} {turn.lower()} {kept} {passed.lower()} {clock} {number}", tuple(mended)
    if re.fullmatch("[a-h][1-8]", passed.lower()):
        mended.append(f"en passant {passed} dropped: no pawn can just have passed it")
        yield f"{board} {turn.lower()} {kept} - {clock} {number}", tuple(mended)


def _within(text: str, low: int, high: int, name: str, mended: list[str]) -> str:
    number = int(text)
    kept = min(max(number, low), high)
    if kept != number:
        mended.append(f"{name} {text[:20]} {'lowered' if kept < number else 'raised'} to {kept}")
    return str(kept)


def _castling(board: str, rights: str, mended: list[str]) -> str:
    """The castling rights in order, without those whose king or rook is not at home; unchanged if
    they have another letter.
    """
    rows = [re.sub(r"\d", lambda digit: "." * int(digit[0]), row) for row in board.split("/")]
    if not re.fullmatch("-|[KQkqHAha]+", rights) or any(len(row) != 8 for row in rows):
        return rights
    kept = ""
    for right, (row, column, letter) in CASTLING.items():
        king, rook = ("K", "R") if right.isupper() else ("k", "r")
        named = right if right in rights else letter if letter in rights else None
        if named is None:
            continue
        if rows[row][4] != king:
            mended.append(f"castling right {named} dropped: no king on e{8 - row}")
        elif rows[row][column] != rook:
            mended.append(f"castling right {named} dropped: no rook on {'ah'[column > 0]}{8 - row}")
        else:
            kept += right
    return kept or "-"


# --- draughts


def _pdns(
    game: Game, text: str, options: Mapping[str, str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yields a position of PDN, in capitals, with both sides in order and with counters."""
    turn, *parts = text.split(":")
    mended: list[str] = []
    if turn == "?":
        turn = game.board(game.check_options(options)).seats[game.start(options).turn].name[0]
        mended.append(f"side to move not known: {'White' if turn == 'W' else 'Black'}, who begins")
    lists: dict[str, list[str]] = {}
    counter, more = "0", ""
    for part in parts:
        if part[0] in "WB":
            lists.setdefault(part[0], []).extend(_squares(part[1:], mended))
        elif suffix := PDN_SUFFIX.fullmatch(part):
            counter, more = (suffix[1], suffix[2]) if suffix[1] else (counter, more)
        else:
            return
    if lists.keys() != {"W", "B"}:
        return
    pieces = f"{turn}:W{','.join(lists['W'])}:B{','.join(lists['B'])}:H"
    plies = int(counter)
    yield f"{pieces}{plies}{more}", tuple(mended)
    if plies:
        for lower in range(min(plies, MAX_COUNTER), 0, -1):
            lowered = f"plies without a capture or a man's move: {plies} lowered to {lower}"
            yield f"{pieces}{lower}{more}", (*mended, lowered)


def _squares(text: str, mended: list[str]) -> Iterator[str]:
    """Yields the pieces of a list: 01 is 1, 1-12 are twelve men, and a1 is 29."""
    for part in filter(None, text.split(",")):
        piece = PIECES.fullmatch(part)
        if piece and piece[4]:
            column, row = "ABCDEFGH".index(piece[4]), int(piece[5])
            # On the dark squares of eight rows; others are no squares of draughts.
            is_dark = (column + row) % 2 == 1
            yield f"{piece[1]}{4 * (8 - row) + column // 2 + 1}" if is_dark else part
            note = "squares named as in chess: a1 is at White's left"
            if note not in mended:
                mended.append(note)
        elif piece is None or not 0 <= int(piece[3] or piece[2]) - int(piece[2]) < MAX_SQUARES:
            yield part
        else:
            for square in range(int(piece[2]), int(piece[3] or piece[2]) + 1):
                yield f"{piece[1]}{square}"


# --- lists of moves


def _start_of_placements(game: Game, options: Mapping[str, str] | None) -> Position | None:
    """The start of a game in which each move names one cell or column; None for another game."""
    start = game.start(options)
    return start if all(re.fullmatch(r"[a-z]\d{0,2}", each) for each in start.tokens()) else None


def _after(position: Position, words: list[str], problem: PositionError) -> Position:
    """The position after a list of moves. Raises PositionError for a move that is not legal:
    `problem` for the first one, since the text is then hardly such a list.
    """
    for number, word in enumerate(words, 1):
        try:
            if (forced := position.forced_pass()) and not forced.startswith(word.lower()):
                position = position.play(position.parse_move(forced))
            move = read_move(position, word)
        except GameError as error:
            if number == 1:
                raise problem from error
            raise PositionError(f"move {number} of the list, {word}: {error}") from error
        position = position.replay(move.token)
    return position
