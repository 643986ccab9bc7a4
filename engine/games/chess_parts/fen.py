"""Chess positions as text: FEN."""

import re
from collections.abc import Mapping

from engine.game import State
from engine.games.chess_parts.board import (
    BISHOP,
    BLACK_KEY,
    DRAW_PLIES,
    EN_PASSANT_KEYS,
    KING,
    KINGS,
    KNIGHT,
    MISC,
    PAWN,
    QUEEN,
    RIGHTS_KEYS,
    ROOK,
    ZOBRIST_KEYS,
    in_check,
    turn,
)
from engine.games.chess_parts.movement import en_passant_origins
from engine.jit import U

#: The name of each square, by number.
CELLS = tuple(f"{file}{rank}" for rank in "12345678" for file in "abcdefgh")
#: The piece letters by side * 6 + kind.
LETTERS = "PNBRQKpnbrqk"
#: The FEN of the start position.
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
#: Maximum move number of a FEN.
MAX_MOVE_NUMBER = 999_999


def init(options: Mapping[str, str]) -> State:
    return parse_position(START, options)


def piece_map(s: State) -> dict[int, int]:
    """The pieces by square, each as side * 6 + kind."""
    own, theirs, pawns, knights, diagonals, straights = map(int, s[:KINGS])
    black = own if turn(s) else theirs
    pieces = {}
    remaining = own | theirs
    while remaining:
        bit = remaining & -remaining
        remaining ^= bit
        if bit & pawns:
            kind = PAWN
        elif bit & knights:
            kind = KNIGHT
        elif bit & diagonals:
            kind = QUEEN if bit & straights else BISHOP
        else:
            kind = ROOK if bit & straights else KING
        pieces[bit.bit_length() - 1] = kind + 6 if bit & black else kind
    return pieces


def _state(
    pieces: Mapping[int, int], side: int, rights: int, en_passant: int, clock: int, move_number: int
) -> State:
    """The state with these pieces; it has the en passant square only if such a capture is legal."""
    bits = [0] * 12
    key = int(ZOBRIST_KEYS[RIGHTS_KEYS + rights]) ^ (int(BLACK_KEY) if side else 0)
    for square, piece in pieces.items():
        bits[piece] |= 1 << square
        key ^= int(ZOBRIST_KEYS[piece * 64 + square])
    white, black = sum(bits[:6]), sum(bits[6:])
    pawns, knights, bishops, rooks, queens, kings = (
        bits[kind] | bits[kind + 6] for kind in range(6)
    )
    boards = (black, white) if side else (white, black)
    misc = rights | side << 10 | clock << 16 | move_number << 32
    words = [*boards, pawns, knights, bishops | queens, rooks | queens, kings, misc, key]
    state = tuple(U(word % 2**64) for word in words)
    with_en_passant = (
        *state[:MISC],
        U(misc | en_passant << 4),
        U(key ^ int(ZOBRIST_KEYS[EN_PASSANT_KEYS + en_passant])),
    )
    return with_en_passant if en_passant and en_passant_origins(with_en_passant) else state


def parse_position(text: str, options: Mapping[str, str]) -> State:
    fields = text.split(" ")
    if len(fields) != 6:
        raise ValueError(
            "a FEN has six fields: pieces, side to move, castling, en passant, halfmove clock,"
            " move number"
        )
    pieces = _parse_pieces(fields[0])
    if fields[1] not in ("w", "b"):
        raise ValueError("the side to move is w or b")
    side = "wb".index(fields[1])
    rights = _parse_rights(fields[2], pieces)
    en_passant = _parse_en_passant(fields[3], pieces, side)
    clock = _parse_number(fields[4], "the halfmove clock", 0, DRAW_PLIES)
    move_number = _parse_number(fields[5], "the move number", 1, MAX_MOVE_NUMBER)
    opponent_to_move = _state(pieces, 1 - side, rights, 0, clock, move_number)
    if in_check(opponent_to_move):
        raise ValueError("the side that is not to move is in check")
    return _state(pieces, side, rights, en_passant, clock, move_number)


def _parse_pieces(text: str) -> dict[int, int]:
    ranks = text.split("/")
    if len(ranks) != 8:
        raise ValueError("the pieces are eight ranks with / between them, rank 8 first")
    pieces = {}
    for rank, rank_text in zip(range(7, -1, -1), ranks, strict=True):
        if not re.fullmatch(f"(?:[1-8](?![1-8])|[{LETTERS}])+", rank_text):
            raise ValueError(
                f"rank {rank + 1} is written with {LETTERS} and single digits for empty squares"
            )
        squares = re.sub("[1-8]", lambda digit: "." * int(digit[0]), rank_text)
        if len(squares) != 8:
            raise ValueError(f"rank {rank + 1} has {len(squares)} squares instead of 8")
        pieces.update(
            {rank * 8 + file: LETTERS.index(c) for file, c in enumerate(squares) if c != "."}
        )
    for side, name in enumerate(("White", "Black")):
        _check_pieces(name, [piece - 6 * side for piece in pieces.values() if piece // 6 == side])
    if any(piece % 6 == PAWN and square // 8 in (0, 7) for square, piece in pieces.items()):
        raise ValueError("no pawn stands on the first or last rank")
    return pieces


def _check_pieces(name: str, kinds: list[int]) -> None:
    """Raises ValueError for pieces that no match can lead to; MAX_MOVES relies on this."""
    if kinds.count(KING) != 1:
        raise ValueError(f"{name} has exactly one king, not {kinds.count(KING)}")
    pawns = kinds.count(PAWN)
    promoted = sum(
        max(0, kinds.count(kind) - (1 if kind == QUEEN else 2))
        for kind in (KNIGHT, BISHOP, ROOK, QUEEN)
    )
    if pawns > 8 or promoted > 8 - pawns:
        raise ValueError(f"{name} has more pieces than eight pawns can become")


def _parse_rights(text: str, pieces: Mapping[int, int]) -> int:
    if not re.fullmatch("-|(?=.)K?Q?k?q?", text):
        raise ValueError("castling rights are some of KQkq in this order, or -")
    for letter, king, rook in (("K", 4, 7), ("Q", 4, 0), ("k", 60, 63), ("q", 60, 56)):
        side = 0 if letter.isupper() else 6
        if letter in text and (pieces.get(king) != KING + side or pieces.get(rook) != ROOK + side):
            raise ValueError(
                f"the castling right {letter} needs a king on {CELLS[king]}"
                f" and a rook on {CELLS[rook]}"
            )
    return sum(1 << "KQkq".index(letter) for letter in text if letter != "-")


def _parse_en_passant(text: str, pieces: Mapping[int, int], side: int) -> int:
    """Parses the en passant square, which a FEN may give after any double step; 0 for none."""
    if text == "-":
        return 0
    if text not in CELLS[40:48] + CELLS[16:24] or text[1] != "63"[side]:
        raise ValueError(f"the en passant square is - or on rank {'63'[side]}")
    square = CELLS.index(text)
    forward = -8 if side == 0 else 8
    if (
        pieces.get(square + forward) != PAWN + 6 * (1 - side)
        or {square, square - forward} & pieces.keys()
    ):
        raise ValueError(f"no pawn can just have passed {text}")
    return square


def _parse_number(text: str, name: str, low: int, high: int) -> int:
    if not re.fullmatch("0|[1-9][0-9]{0,5}", text) or not low <= int(text) <= high:
        raise ValueError(f"{name} is {low} to {high}")
    return int(text)


def format_position(s: State) -> str:
    pieces = piece_map(s)
    ranks = (
        "".join(LETTERS[pieces[rank + i]] if rank + i in pieces else "." for i in range(8))
        for rank in range(56, -1, -8)
    )
    board_text = re.sub(r"\.+", lambda empty: str(len(empty[0])), "/".join(ranks))
    misc = int(s[MISC])
    rights = "".join(letter for i, letter in enumerate("KQkq") if misc >> i & 1) or "-"
    en_passant = CELLS[misc >> 4 & 63] if misc >> 4 & 63 else "-"
    return f"{board_text} {'wb'[turn(s)]} {rights} {en_passant} {misc >> 16 & 0xFFFF} {misc >> 32}"
