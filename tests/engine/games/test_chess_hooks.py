"""The search hooks of chess compared with python-chess and with slower code.

The hooks are tactical moves, unstable positions, the ranks of captures, and the null move.
"""

import random
from collections.abc import Iterator
from typing import Any

import chess
import numpy as np
import pytest

from engine.game import Game, Position
from engine.games.chess_parts.exchange import EXCHANGE_VALUES
from engine.rules.registry import load_game
from tests.engine.games.planted import planted

#: Starting positions of the random games.
STARTS = [
    chess.STARTING_FEN,
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
    "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N w - - 0 1",
    "4k3/8/8/3q1q2/2R5/3RBN2/8/4K1B1 w - - 0 1",
]


def random_boards(count: int, seed: int) -> Iterator[chess.Board]:
    """Yields positions of random games with more captures than uniformly random moves give."""
    rng = random.Random(seed)
    while count:
        board = chess.Board(rng.choice(STARTS))
        while not board.is_game_over() and count:
            yield board
            count -= 1
            captures = list(board.generate_legal_captures())
            choices = captures if captures and rng.random() < 0.2 else list(board.legal_moves)
            board.push(rng.choice(choices))


def check_hooks(game: Game, count: int) -> int:
    """Compares the hooks with python-chess; returns the number of tactical moves."""
    rules: Any = game.module
    tactical_count = 0
    for board in random_boards(count, seed=1):
        position = game.position(board.fen())
        buffer = [0] * rules.MAX_MOVES
        tactical = {
            rules.format_move(position.state, move)
            for move in buffer[: rules.tactical(position.state, buffer)]
        }
        expected = {m.uci() for m in board.legal_moves if board.is_capture(m) or m.promotion}
        assert tactical == expected, board.fen()
        tactical_count += len(tactical)
        assert bool(rules.unstable(position.state)) == board.is_check(), board.fen()
        non_pawns = board.occupied_co[board.turn] & ~(board.pawns | board.kings)
        assert bool(rules.may_pass(position.state)) == (bool(non_pawns) and not board.is_check()), (
            board.fen()
        )
        if rules.may_pass(position.state):
            check_pass(game, position, board)
    return tactical_count


def check_pass(game: Game, position: Position, board: chess.Board) -> None:
    """Asserts that passing equals python-chess's null move with the clock reset, hash included."""
    passed = board.copy(stack=False)
    passed.push(chess.Move.null())
    passed.halfmove_clock = 0
    rules: Any = game.module
    after = rules.pass_turn(position.state)
    expected = game.position(passed.fen())
    assert rules.repetition(after) == rules.repetition(expected.state), board.fen()
    assert rules.format_position(after).split()[:5] == passed.fen().split()[:5]
    assert rules.reversible(after) == 0


def test_tactical_unstable_and_passing() -> None:
    """Tactical moves are captures and promotions; unstable means check; a pass moves no piece."""
    assert check_hooks(load_game("chess"), 600) > 1_000


# --- exchanges


def best_exchange(board: chess.BaseBoard, square: int, side: bool) -> int:
    """Returns the most that a side gains on a square.

    Both sides capture with their least valuable piece, or stop.
    """
    pieces = [
        (EXCHANGE_VALUES[(board.piece_type_at(origin) or 0) - 1], origin)
        for origin in board.attackers(side, square)
    ]
    if not pieces:
        return 0
    _, origin = min(pieces)
    after = board.copy()
    piece, victim = after.remove_piece_at(origin), board.piece_type_at(square)
    assert piece is not None
    assert victim is not None
    after.set_piece_at(square, piece)
    if piece.piece_type == chess.KING and after.attackers(not side, square):
        return 0
    return max(0, EXCHANGE_VALUES[victim - 1] - best_exchange(after, square, not side))


def loses_exchange(board: chess.Board, move: chess.Move) -> bool:
    """Returns whether a move loses material when the exchange is played out."""
    victim = board.piece_type_at(move.to_square)
    after = chess.BaseBoard(board.board_fen())
    piece = after.remove_piece_at(move.from_square)
    after.set_piece_at(move.to_square, piece)
    gained = EXCHANGE_VALUES[victim - 1] if victim else 0
    return gained < best_exchange(after, move.to_square, not board.turn)


def check_exchanges(game: Game, count: int) -> int:
    """Compares `loses` with playing the exchange out; returns the number of losing moves."""
    rules: Any = game.module
    losing_count = 0
    for board in random_boards(count, seed=2):
        state = game.position(board.fen()).state
        for move in board.legal_moves:
            if move.promotion or board.is_en_passant(move) or board.is_castling(move):
                continue
            expected = loses_exchange(board, move)
            assert (
                rules.exchange.loses(state, rules.parse_move(state, move.uci())) != 0
            ) == expected, (
                board.fen(),
                move,
            )
            losing_count += expected
    return losing_count


def test_exchanges() -> None:
    """`loses` is true of exactly the moves that lose material when the exchange is played out."""
    assert check_exchanges(load_game("chess"), 400) > 1_000


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("4k3/8/8/3q1r2/4P3/8/8/4K3 w - - 0 1", "e4d5 e4f5 | "),  # the more valuable victim first
        ("4k3/8/8/3q4/4P3/3Q4/8/4K3 w - - 0 1", "e4d5 d3d5 | "),  # the less valuable attacker first
        ("4k3/8/4p3/3p4/8/1N1Q4/8/4K3 w - - 0 1", " | d3d5"),  # a guarded pawn is not worth a queen
        ("4k3/8/8/3p4/8/1N1Q4/8/4K3 w - - 0 1", "d3d5 | "),  # an unguarded pawn is
        ("3rk3/8/8/3p4/8/8/3R4/3RK3 w - - 0 1", "d2d5 | "),  # two rooks in line against one guard
        # two rooks in line against two guards
        ("3qk3/3r4/8/3p4/8/8/3R4/3RK3 w - - 0 1", " | d2d5"),
        ("8/P7/8/8/8/8/8/k1K5 w - - 0 1", "a7a8q | a7a8r a7a8b a7a8n"),
        ("4k3/8/8/3Pp3/8/8/8/4K3 w - e6 0 1", "d5e6 | "),
    ],
)
def test_ranks(text: str, order: str) -> None:
    """Moves left of the bar rank above the quiet moves, in this order; those right of it below."""
    game = load_game("chess")
    rules: Any = game.module
    position = game.position(text)
    ranks = {
        position.format_move(move): rules.rank(position.state, move) for move in position.moves()
    }
    first = sorted((move for move in ranks if ranks[move] > 0), key=lambda move: -ranks[move])
    last = [move for move in ranks if ranks[move] < 0]
    high, low = (part.split() for part in order.split("|"))
    assert (first, last) == (high, low)


#: Name, source text, faulty text.
FAULTS = [
    ("captures without promotions", "pushes & check_mask & LAST_RANKS, sevens", "ZERO, sevens"),
    (
        "passing in check",
        " and not in_check(s) else 0\n\n\n@rule\ndef pass_turn",
        " else 0\n\n\n@rule\ndef pass_turn",
    ),
    (
        "passing with pawns alone",
        "if s[OWN] & (s[KNIGHTS] | s[DIAGONALS] | s[STRAIGHTS]) and",
        "if",
    ),
    ("hash of the passing side", "key = s[HASH] ^ BLACK_KEY", "key = s[HASH]"),
    (
        "en passant after passing",
        "misc = (s[MISC] & (RIGHTS | MOVE_NUMBER | BLACK)) ^ BLACK",
        "misc = s[MISC] ^ BLACK",
    ),
    (
        "no slider behind another",
        "        occupied ^= bit\n        side = ~side",
        "        side = ~side",
    ),
    ("the king is worth little", "500, 950, 20_000)", "500, 950, 2)"),
    (
        "exchange of equals",
        "        if at_stake < wanted or mine == ZERO:",
        "        if at_stake <= wanted or mine == ZERO:",
    ),
    (
        "the most valuable first",
        "    candidates = pieces & s[PAWNS]\n    if candidates == ZERO:",
        "    candidates = ZERO\n    if True:",
    ),
]


@pytest.mark.long
@pytest.mark.parametrize(
    ("right", "wrong"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS]
)
def test_a_fault_is_found(right: str, wrong: str) -> None:
    """The comparisons fail with one wrong line."""
    game = planted("chess", right, wrong)
    with np.errstate(over="ignore"), pytest.raises(AssertionError):
        _ = check_hooks(game, 600) + check_exchanges(game, 400)
