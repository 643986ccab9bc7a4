"""Chess: rules compared with python-chess; refused texts, draw counts, and views."""

import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path

import chess
import numpy as np
import pytest

from engine.game import (
    Game,
    GameError,
    IllegalMove,
    MalformedMove,
    Outcome,
    Position,
    PositionError,
)
from engine.rules.registry import load_game
from engine.search import driver
from engine.search.driver import Control, Searcher, Table
from engine.search.job import Job
from tests.engine.games.planted import planted
from tests.engine.test_games import MAX_NODES, check_perft, perft_cases

#: The start of a match.
START = chess.STARTING_FEN
#: A perft position with many kinds of moves.
KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"
#: Each player may castle on either side.
CASTLES = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"
#: Both sides have pawns that can promote.
PROMOTIONS = "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N w - - 0 1"
#: Starting positions of the random matches.
STARTS = [
    START,
    START,
    START,
    KIWIPETE,
    CASTLES,
    PROMOTIONS,
    "4k3/pppppppp/8/8/8/8/PPPPPPPP/4K3 w - - 0 1",
    "4k3/8/8/r6r/8/R6R/8/4K3 w - - 60 40",
    "4k3/8/8/2Q3Q1/8/8/8/Q2K2Q1 w - - 140 90",
    "1n2k1n1/8/8/8/8/8/8/1N2K1N1 w - - 130 90",
]
#: Positions and their first moves; each is played for a few plies, several times.
THEMES = [
    (CASTLES, ""),
    (CASTLES, "a1a8"),  # the rook's capture ends the castling right
    ("4k3/8/8/8/8/8/4r3/R3K2R w KQ - 0 1", ""),  # no castling out of check
    ("r3k3/8/8/8/8/8/8/RN2K3 w Qq - 0 1", ""),  # no castling over a piece beside the rook
    ("4k3/2p5/8/KP5r/8/8/8/8 b - - 0 1", "c7c5"),  # en passant would expose the king on its row
    ("4k3/8/8/8/1p6/8/2P5/4K3 w - - 0 1", "c2c4 b4c3"),
    ("3qk3/8/8/8/4N3/8/8/K3R3 w - - 0 1", "e4f6"),  # double check
    ("4k3/8/8/8/7b/4p3/5P2/4K3 w - - 0 1", ""),  # a pinned pawn
    ("4k3/8/8/8/8/4r3/4R3/4K3 w - - 0 1", ""),  # a pinned rook
    ("4k3/8/8/8/8/8/8/3NK3 w - - 0 1", ""),  # not enough pieces to mate
    ("4kb2/8/8/8/8/8/8/4KB2 w - - 0 1", ""),  # enough pieces to mate
    ("7k/8/6K1/8/8/8/8/R7 w - - 149 100", "a1a8"),  # mate takes precedence over the 75 moves
    ("4k3/8/8/8/8/8/8/R3K3 w - - 97 60", ""),
    ("4k3/8/8/8/8/8/8/R3K3 w - - 147 90", ""),
]

#: Our reasons for the end of a match, and python-chess's test of each.
ENDINGS: dict[str, Callable[[chess.Board], bool]] = {
    "checkmate": chess.Board.is_checkmate,
    "stalemate": chess.Board.is_stalemate,
    "not enough pieces to mate": chess.Board.is_insufficient_material,
    "75 moves by each side without a capture or a pawn move": chess.Board.is_seventyfive_moves,
    "the same position 5 times": chess.Board.is_fivefold_repetition,
}


def position_of(text: str) -> Position:
    """Returns the position with this text."""
    return load_game("chess").position(text)


def after(position: Position, *moves: str) -> Position:
    """Returns the position after these moves."""
    for move in moves:
        position = position.play(position.parse_move(move))
    return position


# --- comparison with python-chess


def repeating_move(position: Position, board: chess.Board, rng: random.Random) -> int:
    """Returns a random move, often one that goes back, so that positions repeat."""
    if len(board.move_stack) >= 2 and rng.random() < 0.8:
        last = board.move_stack[-2]
        back = chess.Move(last.to_square, last.from_square)
        if board.is_legal(back):
            return position.parse_move(back.uci())
    return rng.choice(position.moves())


def compare_position(position: Position, board: chess.Board) -> Outcome | None:
    """Asserts that text, moves, checks, claims and outcome equal those of python-chess."""
    fen = board.fen()
    assert position.text() == fen
    outcome, expected = position.outcome(), board.outcome()
    view = position.view()
    assert (outcome is None) == (expected is None), fen
    assert ("check" in view.marks) == board.is_check(), fen
    if outcome is None:
        assert sorted(position.tokens()) == sorted(move.uci() for move in board.legal_moves), fen
        assert (position.claim() is not None) == (
            board.is_repetition(3) or board.is_fifty_moves()
        ), fen
        return None
    assert expected is not None
    assert outcome.winner == (None if expected.winner is None else int(not expected.winner)), fen
    assert ENDINGS[outcome.reason](board), fen
    assert (
        outcome.winner is None
        or not position.game.rules.drawn
        or not position.game.rules.drawn(position.state)
    ), fen
    assert view.turn is None
    return outcome


def compare(
    game: Game, text: str, rng: random.Random, plies: int, first: str = ""
) -> Iterator[str]:
    """Compares a random match with python-chess; yields each position's ending, or ""."""
    position, board = game.position(text), chess.Board(text)
    seeks_repetition = rng.random() < 0.3
    script = iter(first.split())
    for _ in range(plies):
        outcome = compare_position(position, board)
        yield outcome.reason if outcome else ""
        if outcome:
            return
        if rng.random() < 0.05:
            compare_notation(position, board)
        if scripted := next(script, None):
            move = position.parse_move(scripted)
        else:
            move = (
                repeating_move(position, board, rng)
                if seeks_repetition
                else rng.choice(position.moves())
            )
        played = board.parse_uci(position.format_move(move))
        position = position.play(move)
        written = board.san_and_push(played)
        assert position.view().played == written
        assert game.position(position.text()) == position, (
            "the updated hash and score equal those of the text"
        )


def compare_notation(position: Position, board: chess.Board) -> None:
    """Asserts that notation equals python-chess's and that its variants are parsed."""
    for move in position.moves():
        written = position.notation(move)
        assert written == board.san(board.parse_uci(position.format_move(move))), board.fen()
        for text in (
            written,
            written.rstrip("+#"),
            written.replace("x", ""),
            written.replace("O", "0"),
        ):
            assert position.parse_move(text) == move, text


def compare_many(game: Game, count: int, seed: int) -> Counter[str]:
    """Compares at least `count` positions of random matches; returns the counts of the endings."""
    rng = random.Random(seed)
    endings: Counter[str] = Counter()
    for text, first in 6 * THEMES:
        endings.update(compare(game, text, rng, plies=8, first=first))
    starts = cycle(STARTS)
    while endings.total() < count:
        endings.update(compare(game, next(starts), rng, plies=400))
    return endings


def test_rules_match_python_chess() -> None:
    """1,500 positions of random matches are the same in our rules and in python-chess.

    The comparison covers moves, texts, notation, check, claims and each kind of ending.
    """
    endings = compare_many(load_game("chess"), 1_500, seed=1)
    assert endings.keys() == {*ENDINGS, ""}, endings


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_rules_match_python_chess_on_many_positions() -> None:
    """200,000 positions of random matches are the same in our rules and in python-chess."""
    compare_many(load_game("chess"), 200_000, seed=2)


#: Name, source text, faulty text.
FAULTS = [
    ("castling through check", "        if not safe & (king << ONE):\n", "        if False:\n"),
    (
        "castling over a piece",
        "king >> ONE | king >> TWO | king >> U(3)",
        "king >> ONE | king >> TWO",
    ),
    (
        "castling into check",
        "candidates = (KING_ATTACKS[lsb(king)] | castling)",
        "candidates = KING_ATTACKS[lsb(king)]",
    ),
    ("castling out of check", "if rights and check_mask == ALL_SQUARES:", "if rights:"),
    (
        "rights outlive the rook",
        "misc & RIGHTS & KEPT_RIGHTS[origin] & KEPT_RIGHTS[target]",
        "misc & RIGHTS & KEPT_RIGHTS[origin]",
    ),
    (
        "en passant exposes the king",
        "occupied_after ^ pawn, s[THEIRS] ^ captured",
        "occupied_after ^ captured, s[THEIRS] ^ captured",
    ),
    (
        "en passant square always kept",
        "            if en_passant_origins(after):\n",
        "            if True:\n",
    ),
    (
        "pinned pawn captures",
        "sevens = pawns & (~pinned | LINES[ANTIDIAGONAL_LINES + square])",
        "sevens = pawns",
    ),
    (
        "pinned slider leaves its line",
        "& check_mask\n        if piece & pinned:\n",
        "& check_mask\n        if piece & pinned & s[DIAGONALS]:\n",
    ),
    (
        "captures listed as quiet moves",
        "np.int64(targets & ~occupied)",
        "np.int64(targets & ~s[OWN])",
    ),
    (
        "king blocks the ray behind it",
        "lsb(target), occupied ^ king, s[THEIRS]",
        "lsb(target), occupied, s[THEIRS]",
    ),
    (
        "double check blocked",
        "    if checkers & (checkers - ONE):\n        return ZERO",
        "    if False:\n        return ZERO",
    ),
    ("clock not reset by a capture", "if kind == PAWN or is_capture else", "if kind == PAWN else"),
    ("rook missing after castling", "        straights ^= jump\n", ""),
    (
        "hash without the castled rook",
        "        key ^= ZOBRIST_KEYS[corner] ^ ZOBRIST_KEYS[rook_target]\n",
        "",
    ),
    ("disambiguation by row first", "if all(rival[0] != origin[0]", "if all(rival[0] < origin[0]"),
    ("a draw before mate", "and (not in_check(s) or count_moves(s) > 0) else 0", "else 0"),
    ("one knight suffices", "popcount(s[KNIGHTS]) == 1", "popcount(s[KNIGHTS]) == 0"),
    (
        "bishops of two colours do not suffice",
        "s[DIAGONALS] & DARK == ZERO or s[DIAGONALS] & ~DARK == ZERO",
        "True",
    ),
    (
        "limit one ply late",
        "CLAIM_PLIES, DRAW_PLIES = 100, 150",
        "CLAIM_PLIES, DRAW_PLIES = 100, 151",
    ),
    (
        "claim one ply early",
        "CLAIM_PLIES, DRAW_PLIES = 100, 150",
        "CLAIM_PLIES, DRAW_PLIES = 99, 150",
    ),
    ("draw at the fourth time", "REPETITION = 5", "REPETITION = 4"),
    ("claim at the second time", "CLAIM_REPETITION = 3", "CLAIM_REPETITION = 2"),
    (
        "repetition ignores castling rights",
        "    return s[HASH]\n",
        "    return s[6] ^ s[STRAIGHTS] ^ s[PAWNS] ^ s[0]\n",
    ),
]


@pytest.mark.long
@pytest.mark.parametrize(
    ("right", "wrong"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS]
)
def test_a_fault_is_found(right: str, wrong: str) -> None:
    """The comparison fails with one wrong line."""
    game = planted("chess", right, wrong)
    with (
        np.errstate(over="ignore"),
        pytest.raises((AssertionError, GameError, chess.IllegalMoveError)),
    ):
        compare_many(game, 5_000, seed=1)


#: Position, moves, and the expected reason for the end.
DRAW_COUNTS: list[tuple[str, str, str | None]] = [
    # Mate with the 150th ply wins; any other 150th ply draws.
    ("7k/8/6K1/8/8/8/8/R7 w - - 149 100", "a1a8", "checkmate"),
    (
        "7k/8/6K1/8/8/8/8/R7 w - - 149 100",
        "a1a7",
        "75 moves by each side without a capture or a pawn move",
    ),
    (
        "7k/8/5K2/8/8/8/8/R7 w - - 149 100",
        "a1a8",
        "75 moves by each side without a capture or a pawn move",
    ),
    # Castling was possible at first, so the fifth occurrence takes one more round.
    (CASTLES, 4 * "h1g1 h8g8 g1h1 g8h8 ", None),
    (CASTLES, 4 * "h1g1 h8g8 g1h1 g8h8 " + "h1g1 h8g8", "the same position 5 times"),
    # En passant was possible at first, so that occurrence does not count either.
    ("4k3/8/8/8/4pP2/8/8/R3K3 b - f3 0 1", 4 * "e8d8 e1d1 d8e8 d1e1 ", None),
    ("4k3/8/8/8/5P2/8/8/R3K3 b - - 0 1", 4 * "e8d8 e1d1 d8e8 d1e1 ", "the same position 5 times"),
]


def check_outcome(game: Game, text: str, moves: str, expected: str | None) -> None:
    """Asserts that a match ends after these moves for the expected reason, or not at all."""
    position = after(game.position(text), *moves.split())
    outcome = position.outcome()
    assert (outcome.reason if outcome else None) == expected


@pytest.mark.parametrize(("text", "moves", "expected"), DRAW_COUNTS)
def test_draw_counts(text: str, moves: str, expected: str | None) -> None:
    """The 75-move rule and the fifth occurrence draw at exactly their ply, except with mate."""
    check_outcome(load_game("chess"), text, moves, expected)


# --- further perft suites, which are not part of the repository


def suite_cases() -> Iterator[tuple[str, int, int]]:
    """Yields the cases of the files chess*.epd in the folder that PLYROOM_SUITES names."""
    folder = os.environ.get("PLYROOM_SUITES")
    if not folder:
        pytest.skip("PLYROOM_SUITES names no folder with perft suites")
    files = sorted(Path(folder).glob("chess*.epd"))
    assert files, f"there is no chess*.epd in {folder}"
    for file in files:
        yield from perft_cases(file)


def test_perft_suite(searcher_of: Callable[[str], Searcher]) -> None:
    """The compiled rules give the suite's counts of up to 5 million."""
    check_perft(searcher_of("chess"), (case for case in suite_cases() if case[2] <= MAX_NODES))


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_perft_suite_with_large_counts(searcher_of: Callable[[str], Searcher]) -> None:
    """The compiled rules give the suite's larger counts."""
    check_perft(searcher_of("chess"), (case for case in suite_cases() if case[2] > MAX_NODES))


# --- position texts and moves


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "six fields"),
        (START + " ", "six fields"),
        (START.replace(" w ", "  w "), "six fields"),
        ("8/8/8/8/8/8/8 w - - 0 1", "eight ranks"),
        ("4k3/8/8/8/8/8/8/4K4 w - - 0 1", "rank 1 has 9 squares"),
        ("4k2/8/8/8/8/8/8/4K3 w - - 0 1", "rank 8 has 7 squares"),
        ("4k3/44/8/8/8/8/8/4K3 w - - 0 1", "rank 7"),
        ("4k3/8/8/8/8/8/8/4X3 w - - 0 1", "rank 1"),
        ("8/8/8/8/8/8/8/4K3 w - - 0 1", "Black has exactly one king, not 0"),
        ("4k3/8/8/8/8/8/8/K3K3 w - - 0 1", "White has exactly one king, not 2"),
        ("P3k3/8/8/8/8/8/8/4K3 w - - 0 1", "first or last rank"),
        ("4k3/8/8/8/8/8/8/p3K3 w - - 0 1", "first or last rank"),
        ("4k3/8/8/8/8/P7/PPPPPPPP/4K3 w - - 0 1", "White has more pieces"),
        ("4k3/8/8/8/8/QQ6/PPPPPPPP/4K3 w - - 0 1", "White has more pieces"),
        ("4k3/nnnnnnnn/nnn5/8/8/8/8/4K3 w - - 0 1", "Black has more pieces"),
        (START.replace(" w ", " W "), "w or b"),
        ("4k3/8/8/8/8/8/8/R3K3 w K - 0 1", "K needs a king on e1 and a rook on h1"),
        ("r3k3/8/8/8/8/8/8/R4K2 w Q - 0 1", "Q needs"),
        ("4k2R/8/8/8/8/8/8/4K3 w k - 0 1", "k needs"),
        (START.replace("KQkq", "QKkq"), "in this order"),
        (START.replace("KQkq", "KK"), "in this order"),
        (START.replace("KQkq", ""), "in this order"),
        (START.replace(" - 0", " e6 0"), "no pawn can just have passed e6"),
        (START.replace(" - 0", " e3 0"), "on rank 6"),
        ("4k3/4p3/8/4pP2/8/8/8/4K3 w - e6 0 1", "no pawn can just have passed e6"),
        ("4k3/8/4n3/4pP2/8/8/8/4K3 w - e6 0 1", "no pawn can just have passed e6"),
        (START.replace(" - 0", " i6 0"), "on rank 6"),
        (START.replace(" 0 1", " 151 1"), "halfmove clock is 0 to 150"),
        (START.replace(" 0 1", " 00 1"), "halfmove clock"),
        (START.replace(" 0 1", " -1 1"), "halfmove clock"),
        (START.replace(" 0 1", " 0 0"), "the move number is 1"),
        (START.replace(" 0 1", " 0 1000000"), "the move number"),
        (START.replace(" 0 1", " 0 ٣"), "the move number"),
        ("4k3/8/8/8/8/8/8/K3R3 w - - 0 1", "not to move is in check"),
        ("8/8/8/8/8/8/4k3/4K3 w - - 0 1", "not to move is in check"),
    ],
)
def test_impossible_positions(text: str, expected: str) -> None:
    """An impossible FEN is refused with a message that says what was expected."""
    with pytest.raises(PositionError, match=expected):
        position_of(text)


def test_the_en_passant_square_is_kept_only_for_a_legal_capture() -> None:
    """A FEN may have an en passant square after any double step.

    The position has it only if the capture is legal.
    """
    assert (
        position_of("4k3/8/8/8/4P3/8/8/4K3 b - e3 0 1").text() == "4k3/8/8/8/4P3/8/8/4K3 b - - 0 1"
    )
    pinned = "8/8/8/8/k3Pp1R/8/8/4K3 b - e3 0 1"
    assert position_of(pinned).text() == pinned.replace("e3", "-")
    free = "8/8/8/8/k3Pp2/8/8/4K2R b K e3 0 1"
    assert position_of(free).text() == free
    assert after(position_of("4k3/8/8/8/5p2/8/4P3/4K3 w - - 0 1"), "e2e4").text().split()[3] == "e3"


def test_the_position_with_the_most_moves() -> None:
    """The known position with the most moves has 218."""
    position = position_of("R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1")
    assert len(position.moves()) == 218


@pytest.mark.parametrize(
    ("text", "written", "token"),
    [
        (CASTLES, "O-O", "e1g1"),
        (CASTLES, "0-0-0", "e1c1"),
        (CASTLES, "O-O+", "e1g1"),
        (CASTLES, "Kg1", None),
        (CASTLES, "Rxh8", "h1h8"),
        (CASTLES, "Rh8+", "h1h8"),
        (CASTLES, "Ra1-b1", "a1b1"),
        (PROMOTIONS, "bxc8=Q", "b7c8q"),
        (PROMOTIONS, "bc8N", "b7c8n"),
        (PROMOTIONS, "b7xa8=R", "b7a8r"),
        (PROMOTIONS, "b8", None),
        (PROMOTIONS, "b7b8q", "b7b8q"),
        (START, "e4", "e2e4"),
        (START, "e5", None),
        (START, "Nf3", "g1f3"),
        (START, "Ngf3", "g1f3"),
        (START, "N1f3", "g1f3"),
        (START, "Nd4", None),
        (START, "O-O", None),
        ("4k3/8/8/8/8/8/4K3/R6R w - - 0 1", "O-O", None),
    ],
)
def test_parsed_notations(text: str, written: str, token: str | None) -> None:
    """Coordinates and SAN are parsed, with or without x, + and #; a wrong move is illegal."""
    position = position_of(text)
    if token is None:
        with pytest.raises(IllegalMove):
            position.parse_move(written)
    else:
        assert position.format_move(position.parse_move(written)) == token


@pytest.mark.parametrize(
    "text", ["e9", "e2e4e5", "Nf3!", "nf3", "Zf3", "O-O-O-O", "e8=K", "e7e8k", "--", "٣", "Rd1"]
)
def test_malformed_moves(text: str) -> None:
    """A text that is not a move or fits several moves is malformed."""
    with pytest.raises(MalformedMove, match="written like"):
        position_of("4k3/8/8/8/8/8/4K3/R6R w - - 0 1").parse_move(text)


# --- search, views


def test_a_match_of_the_ai_with_itself(searcher_of: Callable[[str], Searcher]) -> None:
    """Level 1 plays a whole match to an outcome that python-chess confirms."""
    game, searcher = load_game("chess"), searcher_of("chess")
    position, board = game.start(), chess.Board()
    while position.outcome() is None:
        moves = tuple(move.uci() for move in board.move_stack)
        job = Job(game.id, game.digest, {}, START, moves, "room", level=1, seed=len(moves))
        move = driver.answer(job, searcher, lambda: Table(14), Control()).move
        board.push(board.parse_uci(move))
        position = after(position, move)
    compare_position(position, board)


def test_check_and_mate_are_shown() -> None:
    """The view marks the king in check and names check, mate and stalemate in its text."""
    view = after(load_game("chess").start(), "e4", "f6", "Qh5").view()
    assert view.text == "Black is in check"
    assert view.marks == {"last": ("d1", "h5"), "check": ("e8",)}
    assert view.played == "Qh5+"
    mate = after(load_game("chess").start(), "f3", "e5", "g4", "Qh4#")
    assert mate.outcome() == Outcome(1, "checkmate")
    assert (mate.view().text, mate.view().turn) == ("Black wins by checkmate", None)
    assert mate.view().marks["check"] == ("e1",)
    stalemate = position_of("7k/5Q2/8/8/8/8/8/K7 b - - 0 1")
    assert stalemate.outcome() == Outcome(None, "stalemate")
    assert stalemate.view().text == "Draw by stalemate"
    insufficient = position_of("7k/8/8/8/8/8/8/KN6 b - - 0 1")
    assert insufficient.view().text == "Draw: not enough pieces to mate"


def test_clicks() -> None:
    """Castling shows the rook, a promotion is a choice, and en passant shows its victim."""
    castling = {click.id: click for click in position_of(CASTLES).move_views()}
    assert castling["e1g1"].path == ("e1", "g1")
    assert castling["e1g1"].affects == ("h1", "f1")
    assert castling["e1c1"].affects == ("a1", "d1")
    promotions = [
        click for click in position_of(PROMOTIONS).move_views() if click.path == ("b7", "b8")
    ]
    assert [click.choice for click in promotions] == ["queen", "rook", "bishop", "knight"]
    assert promotions[3].ghost == ("b8", "N")
    en_passant = {
        click.id: click for click in position_of("8/8/8/8/k3Pp2/8/8/4K3 b - e3 0 1").move_views()
    }
    assert en_passant["f4e3"].affects == ("e4",)
    assert en_passant["f4e3"].ghost == ("e3", "p")


def test_draw_claims_have_a_reason() -> None:
    """After 50 moves each, or at the third occurrence, the player to move may claim a draw."""
    rooks = after(position_of("4k3/8/8/8/8/8/8/R3K3 w - - 98 60"), "a1a2")
    assert rooks.claim() is None
    assert after(rooks, "e8e7").claim() == "fifty moves without a capture or a pawn move"
    twice = after(load_game("chess").start(), "Nf3", "Nf6", "Ng1", "Ng8", "Nf3", "Nf6", "Ng1")
    assert twice.claim() is None
    assert after(twice, "Ng8").claim() == "the same position 3 times"
