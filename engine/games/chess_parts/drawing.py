"""The board views of chess: positions and moves for the clients to draw."""

from collections.abc import Mapping

from engine.game import State
from engine.games.chess_parts.board import (
    KINGS,
    ONE,
    OWN,
    PAWN,
    en_passant_square,
    in_check,
    kind_at,
    turn,
)
from engine.games.chess_parts.ending import (
    drawn,
    ending,
)
from engine.games.chess_parts.fen import (
    CELLS,
    LETTERS,
    piece_map,
)
from engine.games.chess_parts.movement import (
    count_moves,
)
from engine.games.chess_parts.notation import (
    format_move,
    is_castling,
)
from engine.jit import U, lsb
from engine.view import BoardView, Grid, Kind, MoveView, PositionView, SeatView, Sprite

NAMES = ("White", "Black")
SPRITES: tuple[Sprite, ...] = ("pawn", "knight", "bishop", "rook", "queen", "king")


def board(options: Mapping[str, str]) -> BoardView:
    kinds = {
        letter: Kind(
            name=f"{NAMES[i // 6].lower()} {SPRITES[i % 6]}",
            side=i // 6,
            sprite=SPRITES[i % 6],
            text=letter,
        )
        for i, letter in enumerate(LETTERS)
    }
    seats = (SeatView("White", "#f5f1e6"), SeatView("Black", "#3a3f44"))
    return BoardView(
        board=Grid(cols=8, rows=8, style="checker", flips=True), kinds=kinds, seats=seats
    )


def view(s: State, last: tuple[State, int] | None) -> PositionView:
    pieces = {CELLS[square]: LETTERS[piece] for square, piece in piece_map(s).items()}
    path = (CELLS[last[1] & 63], CELLS[last[1] >> 6 & 63]) if last else ()
    marks: dict[str, tuple[str, ...]] = {"last": path}
    side, checked = turn(s), in_check(s)
    if checked:
        marks["check"] = (CELLS[lsb(s[KINGS] & s[OWN])],)
    if not count_moves(s):
        text = f"{NAMES[1 - side]} wins by checkmate" if checked else "Draw by stalemate"
        return PositionView(pieces, None, text, marks, path)
    if drawn(s):
        return PositionView(pieces, None, f"Draw: {ending(s)}", marks, path)
    text = f"{NAMES[side]} is in check" if checked else f"{NAMES[side]} to move"
    return PositionView(pieces, side, text, marks, path)


def move_view(s: State, m: int) -> MoveView:
    origin, target, promoted = m & 63, m >> 6 & 63, m >> 12
    kind = kind_at(s, ONE << U(origin))
    affects: tuple[str, ...] = ()
    if is_castling(kind, m):
        affects = (
            CELLS[origin + 3 if target > origin else origin - 4],
            CELLS[(origin + target) // 2],
        )
    elif kind == PAWN and target == en_passant_square(s) and target:
        affects = (CELLS[origin & 56 | target & 7],)
    return MoveView(
        id=format_move(s, m),
        path=(CELLS[origin], CELLS[target]),
        text=f"{CELLS[origin]}-{CELLS[target]}" + (f" {SPRITES[promoted]}" if promoted else ""),
        choice=SPRITES[promoted] if promoted else None,
        affects=affects,
        ghost=(CELLS[target], LETTERS[(promoted or kind) + 6 * turn(s)]),
    )
