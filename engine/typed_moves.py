"""Moves as people write them, read against a position. Pure.

`Position.parse_move` is strict: it reads the tokens of logs and programs, and a game's own
notation. This reader stands beside it for what people type and paste: `nf3`, `1. e4!`, `E2-E4`,
`♘f3`, `0-0`, `bxa8q`, `Sf3` (German), `11:18`, `D 3`, a number for a column. It plays nothing that
may be another legal move: then it raises AmbiguousMove, which names them.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat

from engine.game import MAX_TEXT, GameError, IllegalMove, MalformedMove, Position
from engine.view import Grid, MoveView, cell_ids

#: Maximum number of moves that a message names.
MAX_CHOICES = 8
#: Minus signs and dashes, the signs of captures and of check, figurines, and letters of Cyrillic
#: keyboards: of castling, and the two that name columns and no piece.
SIGNS = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys("\u00d7\u2715\u2716\u2a2f", "x")
    | dict.fromkeys("†‡", "+")
    | dict(zip("♔♕♖♗♘♙♚♛♜♝♞♟", "KQRBNPKQRBNP", strict=True))
    | dict.fromkeys("\u041e\u043e\u039f\u03bf", "O")
    | {"\u0410": "A", "\u0430": "a", "\u0415": "E", "\u0435": "e"}
)
#: The Cyrillic letters that name a column, and at the beginning of a move perhaps a bishop.
CYRILLIC_C = str.maketrans("\u0421\u0441", "Cc")
#: A small one that may name the column there: before a row, or before a column beside it.
COLUMN_C = re.compile(r"\u0441[\W_x]*[b-d1-8]")
#: Two squares and nothing but signs between them, which name no piece; the group is the first.
SQUARES = re.compile(r"([a-h][1-8])[\W_x]*[a-h][1-8]", re.I)
#: A comment in braces or after a semicolon, and a numeric annotation, as in PGN.
COMMENT = re.compile(r"\{[^}]*\}?|;.*|\$\d+")
#: The number of a move: "1.", "12...", "3)".
NUMBER = re.compile(r"\s*\d+\s*(?:\.[.\s]*|\))\s*(?=\S)")
#: The number of a move without a full stop, before a letter.
BARE_NUMBER = re.compile(r"\s*\d+\s+(?=[^\W\d])")
#: What may follow a move: check, mate, annotations, "e.p.", an offer of a draw.
SUFFIX = re.compile(
    r"(?:\s*(?:[+#!?*.,]|\(=\)|(?<=\d)=|(?<=[\d\s])(?:e\.?\s?p\.?|ch(?:eck)?|mate)))+\s*$", re.I
)
#: Words of a move and the signs that stand for them: "knight to f3", "11 takes 18".
WORDS = {
    "king": "K", "queen": "Q", "rook": "R", "bishop": "B", "knight": "N", "pawn": "P",
    "to": "-", "takes": "x", "captures": "x",
}  # fmt: skip
WORD = re.compile(rf"(?<![^\W\d_])(?:{'|'.join(WORDS)})(?![^\W\d_])", re.IGNORECASE)
#: Castling: two or three letters O or zeros.
CASTLING = re.compile(r"[O0]\s?-?\s?[O0](\s?-?\s?[O0])?", re.I)
#: Castling in words; the group is of the long one.
CASTLING_WORDS = re.compile(
    r"(?:castl(?:es?|ing)\s)?(?:king(?:\W?s)?\W?side|short|(queen(?:\W?s)?\W?side|long))"
    r"(?:\scastl(?:es?|ing))?",
    re.I,
)
#: Standard algebraic notation, without the signs after it: piece, origin, target and promotion.
SAN = re.compile(r"([KQRBN]?)[a-h]?[1-8]?x?([a-h][1-8])(?:=([QRBN]))?")
#: The pieces that a letter may mean in the notations of other languages: Danish, Dutch, Estonian,
#: Finnish, French, German, Hungarian, Italian, Norwegian, Polish, Portuguese, Romanian, Russian,
#: Spanish and Swedish (PGN standard, 8.2.3.2, lists most). English letters mean English pieces.
FOREIGN = {
    "a": "B", "c": "N", "d": "Q", "f": "B", "g": "B", "h": "NQ", "j": "N", "l": "BQ", "o": "B",
    "s": "NB", "t": "R", "v": "RQ", "w": "R",
    "ф": "Q", "л": "R", "\u0441": "B", "к": "N", "кр": "K",
}  # fmt: skip
#: A letter of a notation with the rest of the move; Cyrillic has one of two letters.
PIECE = re.compile(r"(кр|[^\W\d_])(.*\d.*)")
#: A promotion at the end of a move: "e8D".
PROMOTION = re.compile(r"(.*[18])\W?([^\W\d_])\W?")


class AmbiguousMove(GameError):
    """The text may be several legal moves, or one that it does not clearly say; `choices` names
    them.
    """

    def __init__(self, text: str, choices: tuple[str, ...]) -> None:
        named = choices[:MAX_CHOICES]
        more = " …" if len(choices) > MAX_CHOICES else ""
        super().__init__(
            f"{text} can be any of: {', '.join(named)}{more}"
            if len(choices) > 1
            else f"{text} is not clear: to play {choices[0]}, write {choices[0]}"
        )
        self.choices = choices


@dataclass(frozen=True, slots=True)
class Reading:
    """A legal move: its token, and how the text was read, "" where that is plain to see."""

    token: str
    says: str = ""


def read_move(position: Position, text: str) -> Reading:
    """Returns the legal move that a person's text means.

    Raises AmbiguousMove where it may be several moves, IllegalMove with what was read and why it is
    not allowed, and MalformedMove where it is no move.
    """
    if len(text) > MAX_TEXT:
        raise MalformedMove(f"a move has at most {MAX_TEXT} characters")
    typed = _plain(position, text)
    numbered, shown = typed.translate(CYRILLIC_C), NUMBER.sub("", typed, count=1)
    plain = NUMBER.sub("", numbered, count=1)
    exact = _exact(position, plain)
    if exact is not None and plain[0] == shown[0]:  # else the letter may be a column or a bishop
        return Reading(exact)
    written = list(map(_Written, repeat(position), position.moves(), position.move_views()))
    first, shown = shown[:1], shown[:40]
    spellings = {_squeezed(each) for each in (plain, BARE_NUMBER.sub("", plain), numbered)} - {""}
    # A sign that is not known may be a piece: without it, the rest could be another move.
    is_known = plain != "" and unicodedata.category(plain[0]) != "So"
    for group in _readings(position, plain, first, spellings, written) if is_known else ():
        found = {each.token: each for each in group.moves}
        if found and (len(found) > 1 or not group.is_clear):
            raise AmbiguousMove(shown, tuple(each.notation for each in found.values()))
        if found:
            (only,) = found.values()
            return Reading(only.token, f"{shown} is read as {only.notation}" * group.is_told)
    for spelling in (plain, plain.casefold()):
        try:
            return Reading(position.format_move(position.parse_move(spelling)))
        except IllegalMove as error:
            raise IllegalMove(_refusal(position, plain) or str(error)) from error
        except MalformedMove as error:
            malformed = error
    if is_known and (reason := _refusal(position, plain)):
        raise IllegalMove(reason) from malformed
    raise malformed


def _plain(position: Position, text: str) -> str:
    """The text in plain characters, without comments and the signs after a move."""
    text = "".join(
        each for each in unicodedata.normalize("NFKC", text)
        if unicodedata.category(each) != "Cf" and not "\ufe00" <= each <= "\ufe0f"
    ).translate(SIGNS)  # fmt: skip
    text = " ".join(COMMENT.sub(" ", text).split())
    text = SUFFIX.sub("", text) or text
    unnumbered = BARE_NUMBER.sub("", NUMBER.sub("", text, count=1))
    castling = CASTLING_WORDS.fullmatch(unnumbered) if _has_castling(position) else None
    if castling is None:
        text = WORD.sub(lambda word: WORDS[word[0].lower()], text)
        castling = CASTLING.fullmatch(NUMBER.sub("", text, count=1))
    return ("O-O-O" if castling[1] else "O-O") if castling else text


def _has_castling(position: Position) -> bool:
    """Whether the game has castling, which may be illegal now."""
    try:
        position.parse_move("O-O")
    except GameError as error:
        return isinstance(error, IllegalMove)
    return True


def _exact(position: Position, plain: str) -> str | None:
    """The token of the move whose token or notation the text is; None if it is none."""
    try:
        move = position.parse_move(plain)
    except GameError:
        return None
    token = position.format_move(move)
    return token if plain in (token, _unmarked(position.notation(move))) else None


def _unmarked(notation: str) -> str:
    return notation.rstrip("+#")


class _Written:
    """A legal move with the ways to write it.

    `letter` is that of its piece in standard algebraic notation, "" for a pawn; None where the
    game's notation is another one.
    """

    def __init__(self, position: Position, move: int, view: MoveView) -> None:
        self.token = position.format_move(move)
        self.notation = _unmarked(position.notation(move))
        self.path = view.path
        self.letter: str | None = None
        #: Forms in which the case of letters counts, and forms as `_squeezed` returns them.
        self.cased: set[str] = set()
        self.literal = {_squeezed(self.token), _squeezed(self.notation)}
        self.squeezed = {*self.literal, _squeezed(view.text), _squeezed("-".join(self.path))}
        if len(self.path) == 1:
            self._add_cell(view)
        elif self.notation == self.token:
            self._add_column()
        elif CASTLING.fullmatch(self.notation):
            self._add_castling()
        elif san := SAN.fullmatch(self.notation):
            self.letter = san[1]
            self._add_san(san[1], (san[3] or "").lower())

    def _add_cell(self, view: MoveView) -> None:
        """Adds the cell of a move to a column, and the other direction of a line between dots."""
        if view.ghost is not None:
            self.squeezed.add(_squeezed(view.ghost[0]))
        if len(self.token) == 4 and self.token.isalnum():
            self.squeezed.add(self.token[2:] + self.token[:2])

    def _add_column(self) -> None:
        """Adds a step to another column by the one from which it comes: axb3 is a2b3."""
        origin, target = self.path[0], self.path[-1]
        if origin[0].isalpha() and origin[0] != target[0]:
            self.squeezed.add(f"{origin[0]}{target}")

    def _add_san(self, letter: str, promoted: str) -> None:
        origin, target = self.path
        if letter:
            for start in ("", origin[0], origin[1], origin):
                self.cased |= {f"{letter}{start}{target}", f"{letter}{start}x{target}"}
                self.squeezed.add(f"{letter.lower()}{start}{target}")
            return
        self.squeezed |= {f"p{start}{target}{promoted}" for start in ("", origin[0], origin)}
        if origin[0] != target[0]:
            self.squeezed |= {f"{start}{target[0]}{promoted}" for start in (origin[0], origin)}

    def _add_castling(self) -> None:
        origin, target = self.path
        corner = ("h" if target[0] == "g" else "a") + target[1]
        ends = (f"{origin}{target}", target, f"{origin}{corner}")
        self.squeezed |= {*(f"k{end}" for end in ends), f"{origin}{corner}"}

    def passes(self, squares: list[str]) -> bool:
        """Whether the move begins and ends as the squares do, and passes all of them in order."""
        rest = iter(self.path)
        return (self.path[0], self.path[-1]) == (squares[0], squares[-1]) and all(
            square in rest for square in squares
        )


def _squeezed(text: str) -> str:
    """The text in small letters without the signs between cells: only numbers stay apart."""
    if castling := CASTLING.fullmatch(text):
        return "ooo" if castling[1] else "oo"
    text = re.sub(r"(?<!\d)0+(?=\d)", "", text.casefold())  # 09-14 is 9-14
    parts = re.split(r"(?<=\d)(?:x|[\W_])+(?=\d)", text)
    return ".".join(re.sub(r"[\W_]|(?<=\w)x(?=\w)", "", part) for part in parts)


@dataclass(frozen=True, slots=True)
class _Group:
    """Moves that a text may mean. One alone is played if the text is clear, and told if it is far
    from the text.
    """

    moves: list[_Written]
    is_clear: bool = True
    is_told: bool = False


def _readings(
    position: Position, plain: str, first: str, spellings: set[str], written: list[_Written]
) -> Iterator[_Group]:
    """The readings of a text, the most literal first; a later one counts if those before are
    empty. `first` is the first letter as it was typed, which may be Cyrillic; `spellings` are the
    text as `_squeezed` returns it, with and without a number before it.
    """
    compact = plain.replace(" ", "")
    yield _Group([each for each in written if compact in each.cased])
    own = [each for each in written if each.squeezed & spellings]
    foreign = _foreign(compact, first, written)
    # A capital letter names a piece, never a column, and a small one rather the column.
    squares = SQUARES.match(compact)
    is_piece = compact[0].isupper() and compact[1:] != compact[1:].upper() and not squares
    is_unlike = is_piece and compact[0] != "P" and any(each.letter == "" for each in own)
    may_be_column = first in "abcdefgh" or COLUMN_C.match(first + compact[1:]) or squares
    is_guess = not own and any(each.letter for each in foreign) and bool(may_be_column)
    if squares:  # b2c4 is no bishop's move from the second row
        is_guess |= any(each.letter and each.path[0] != squares[1].lower() for each in own)
    is_literal = any(each.literal & spellings for each in own)
    yield _Group([*own, *foreign], is_clear=not is_unlike and not is_guess, is_told=not is_literal)
    numbers = re.findall(r"\d+", plain)
    if re.fullmatch(r"[\d\W_x]+", plain) and len(numbers) > 1:
        yield _Group([each for each in written if each.passes(numbers)])
    for text in spellings:
        if swapped := re.fullmatch(r"(\d+)([a-z])", text):
            wanted = swapped[2] + swapped[1]
            yield _Group([each for each in written if wanted in each.squeezed], is_told=True)
        if re.fullmatch("[1-9]", text):
            yield from _numbered(position, int(text), written)
        joined = [
            each for each in written if text in {form.replace(".", "") for form in each.literal}
        ]
        targets = [each for each in written if len(each.path) > 1 and text == each.path[-1]]
        yield _Group([*targets, *joined], is_clear=False)
        begun = [each for each in written if any(form.startswith(text) for form in each.literal)]
        is_word = all(len(each.token) > 1 and each.token.isalpha() for each in written)
        yield _Group(begun, is_clear=is_word, is_told=True)


def _foreign(compact: str, first: str, written: list[_Written]) -> list[_Written]:
    """The moves that a text means with the letters of other languages.

    A letter before a row is a piece only if the move needs that row in its notation: c2c4 is no
    knight's move from the second row.
    """
    text = compact.casefold()
    pieces: set[str] = set()
    promotions: set[str] = set()
    if promotion := PROMOTION.fullmatch(text):
        letters = FOREIGN.get(promotion[2], "")
        promotions = {_squeezed(promotion[1] + letter) for letter in letters}
    if piece := PIECE.fullmatch(first.casefold() + text[1:]):
        letters = FOREIGN.get(piece[1], "")
        pieces = {_squeezed(letter + piece[2]) for letter in letters}
    is_row = SQUARES.match(compact) is not None
    return [
        each for each in written
        if (each.letter and (each.literal if is_row else each.squeezed) & pieces)
        or (each.letter == "" and each.squeezed & promotions)
    ]  # fmt: skip


def _numbered(position: Position, number: int, written: list[_Written]) -> Iterator[_Group]:
    """The moves of a column or a house by its number from the left, in a game with one move for
    each; and of a cell of a board of three by three, which people number from either row.
    """
    column = chr(96 + number)
    if len({each.token[1:] for each in written}) == 1:
        is_column = all(len(each.token) == 1 for each in written)
        found = [each for each in written if each.token[0] == column]
        yield _Group(found, is_clear=is_column, is_told=True)
    board = position.game.board(position.options).board
    if isinstance(board, Grid) and board.rows == board.cols == 3 and 1 <= number <= 9:
        row, col = divmod(number - 1, 3)
        cells = {f"{'abc'[col]}{row + 1}", f"{'abc'[col]}{3 - row}"}
        found = [each for each in written if each.token in cells]
        yield _Group(found, is_clear=len(cells) == 1, is_told=True)


def _refusal(position: Position, plain: str) -> str:
    """Why a text that names cells of the board is no legal move, as a sentence; "" if it names
    none.
    """
    board = position.game.board(position.options)
    view = position.view()
    names = sorted(cell_ids(board.board), key=len, reverse=True)
    text = re.sub(r"(?<=[^\W\d_])[\W_]+(?=\d)", "", plain.casefold())  # d 3 is d3
    pattern = "|".join(rf"(?<!\d){re.escape(name)}(?!\d)" for name in names)
    # Other cells are a letter and a number, but not the "x" of a capture nor the end of a word.
    pattern += r"|\d+" if names[0].isdecimal() else r"|(?<![a-z]{2})[a-wyz]\d+"
    cells = re.findall(pattern, text)
    letters = re.sub(r"[\W_]", "", text)
    if not cells or view.turn is None or len(letters) > len("".join(cells)) + 2:
        return ""
    if unknown := [cell for cell in cells if cell not in names]:
        return f"there is no {unknown[0]} on this board"
    check = " (you are in check)" if view.marks.get("check") else ""
    kinds = {cell: board.kinds[kind] for cell, kind in view.pieces.items() if kind in board.kinds}
    start, target = cells[0], cells[-1]
    paths = [each.path for each in position.move_views()]
    if len(cells) > 1:
        if all(len(path) == 1 for path in paths):
            return ""
        if start not in kinds:
            return f"there is no piece on {start}"
        if kinds[start].side not in (view.turn, None):
            return f"the {kinds[start].name} on {start} is not yours"
        return f"the {kinds[start].name} on {start} may not go to {target}{check}"
    for kind in board.kinds.values():
        if kind.side == view.turn and kind.text and letters == kind.text.lower() + target:
            return f"no {kind.name} may go to {target}{check}"
    if target in kinds and all(len(path) == 1 and path[0] not in kinds for path in paths):
        return f"{target} is taken"
    return f"{target} is not allowed here{check}"
