"""Chess with castling, en passant, promotion, and draws by material, repetition and move count.

The rules are in the PARTS; this file collects them.
"""

from collections.abc import Mapping

from engine.game import Option
from engine.games.chess_parts import board as board_part
from engine.games.chess_parts import drawing, evaluation, exchange, fen, movement
from engine.games.chess_parts import ending as ending_part
from engine.games.chess_parts import notation as notation_part
from engine.games.chess_parts.board import turn, unstable
from engine.games.chess_parts.drawing import board, move_view, view
from engine.games.chess_parts.ending import (
    can_win,
    claim,
    drawn,
    ending,
    key,
    no_moves_result,
    repetition,
    reversible,
    status,
)
from engine.games.chess_parts.evaluation import evaluate
from engine.games.chess_parts.exchange import rank
from engine.games.chess_parts.fen import format_position, init, parse_position
from engine.games.chess_parts.movement import (
    MAX_MOVES,
    count,
    may_pass,
    moves,
    pass_turn,
    play,
    tactical,
)
from engine.games.chess_parts.notation import format_move, notation, parse_move

__all__ = [
    "MAX_MOVES",
    "board",
    "can_win",
    "claim",
    "count",
    "drawn",
    "ending",
    "evaluate",
    "format_move",
    "format_position",
    "init",
    "key",
    "may_pass",
    "move_view",
    "moves",
    "no_moves_result",
    "notation",
    "parse_move",
    "parse_position",
    "pass_turn",
    "play",
    "rank",
    "repetition",
    "reversible",
    "status",
    "tactical",
    "turn",
    "unstable",
    "view",
]  # fmt: skip

NAME = "chess"
TITLE = "Chess"
WORDS = 9
LEVELS = 8
LEVEL_TABLE = (
    (1, 110, 120),
    (155, 30, 725),
    (1_050, 19, 435),
    (3_900, 12, 265),
    (8_500, 8, 142),
    (17_000, 5, 67),
    (24_000, 4, 20),
)
DISABLED = ("mate-distance",)  # see docs/reference/ablations.md
OPTIONS: Mapping[str, Option] = {}
DATA = ("data/chess.txt",)
PARTS = (board_part, movement, exchange, evaluation, ending_part, fen, notation_part, drawing)
REPETITION = 5
CLAIM_REPETITION = 3
MARGIN = 90
GOAL = "Attack the other king so that it cannot escape: checkmate."
RULES = """White begins, then the players move in turn. A move takes one piece to a square that
is empty or held by an enemy piece, which is captured and leaves the board.

Rook: any distance along a row or column. Bishop: any distance along a diagonal. Queen: like rook
or bishop. None of them passes over another piece. Knight: two squares straight and one aside,
over whatever stands between. King: one square in any direction. Pawn: one square straight ahead,
or two from its first square, if the squares are empty; it captures one square diagonally ahead
and in no other way.

Check: a king that could be captured by the next move is in check. No move may leave one's own
king in check, so a check must be answered: move the king, capture the piece that gives check, or
put a piece between.

Castling: a king that has not moved goes two squares towards a rook that has not moved, and the
rook jumps to the square that the king passed. All squares between them must be empty, and the
king may not be in check, nor pass or reach a square that the enemy attacks. Move the king by two
squares to castle.

En passant: when a pawn goes two squares and lands beside an enemy pawn, that pawn may capture it
as if it had gone one square only; but only with the very next move.

Promotion: a pawn that reaches the last row becomes a queen, rook, bishop or knight of its
colour. Its player chooses which.

The end: a player who is in check and has no legal move is checkmated and loses. A player who is
not in check and has no legal move is stalemated, and the match is a draw. The match is also a
draw when neither side has the pieces to mate (king against king, perhaps with one knight, or
with bishops that all stand on squares of one colour), when a position occurs for the fifth time,
and when each player has made 75 moves in a row without a capture or a pawn move (unless the last
one mates). A player to move may claim a draw when the position occurs for the third time, or
after 50 such moves by each player. Positions are the same when the same side is to move and the
same moves are possible, castling and en passant included."""
